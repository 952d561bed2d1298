"""Filling a run folder: run the episodes that it lacks, and keep every row the moment its episode has ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from foretell.counting import counted
from foretell.episodes.blind import Mask
from foretell.episodes.tally import Tally
from foretell.study import films
from foretell.study.config import Study
from foretell.study.jobs import keeps_steps, video_of
from foretell.study.patience import uncollected
from foretell.study.plan import JobGroup, Planned
from foretell.study.rounds import Execute, Rounds
from foretell.study.rows import check_distinct, name_all, plan_table, row_of
from foretell.study.session import Opened
from foretell.study.share import Share
from foretell.study.status import Progress, Run
from foretell.study.store import Store
from foretell.terminal import brief

__all__ = ["fill", "stopper"]

SHOWN = 300
"""Characters of an error that a note shows; the row has more, and the file of its traceback all."""
TRACES = 10
"""Tracebacks that a call keeps of each policy and task: a policy that raises every time mostly says the same."""
LOOK = 0.2
"""Wall seconds between two looks whether somebody asks the study to stop."""


def fill(
    study: Study,
    store: Store,
    *,
    episodes: list[Planned],
    opened: dict[JobGroup, Opened],
    execute: Execute,
    look: Callable[[], None],
    limit: int | None,
    progress: Callable[[Progress], None],
    notify: Callable[[str], None],
    keep: bool,
    share: Share,
    mask: Mask | None = None,
) -> Run:
    """Run what the folder lacks. share: what of the study is to be in it. mask: hides the policies in what is shown;
    rows are kept as they are."""
    check_distinct(opened)
    began, earlier = time.monotonic(), store.earlier()
    with uncollected():
        named = share.take(study, name_all(episodes, opened, notify), opened)
        attends = any(group.real for group in opened)
        rounds = Rounds(until=study.until, named=named, done=store.done, rows=earlier, one_task=attends)
    skipped = rounds.ended
    planned = plan_table(named, opened, rounds)
    retired = store.write_plan(planned, keep=keep)
    hide = mask.table if mask is not None else lambda table: table
    tally = Tally(hide(planned), time.time(), None if earlier is None else hide(earlier))
    tally.spare(rounds.spared)
    alone = store.planned == len(planned) and mask is None  # names may be shown at the end
    state = Progress(
        planned=rounds.planned,
        done=skipped,
        ran=0,
        tally=tally,
        study=study.name,
        until=study.until is not None,
        alone=alone,
    )
    progress(state)
    troubles: dict[str, list[str]] = {}
    traces: Counter[str] = Counter()

    def spare(spared: list[str]) -> None:
        tally.spare(spared)
        store.write_plan(plan_table(named, opened, rounds), keep=keep)
        state.planned = rounds.planned
        progress(state)

    for name, outcome in rounds.run(execute, limit, spare):
        row = row_of(study, name, named[name], opened[named[name].group], outcome)
        if row.video is None and named[name].video:
            steps = keeps_steps(replace(named[name], video=False), opened[named[name].group])
            films.unfilm(store.path, video_of(name, named[name], row.task), name, steps)
        store.append([row])
        row = row if mask is None else replace(row, **mask.row(vars(row)))
        state.tally.add(vars(row))
        state.done, state.ran = state.done + 1, state.ran + 1
        label = f"{row.task} {row.policy}"
        if row.success is not None:
            state.judged[label] += 1
            state.solved[label] += row.success
        if row.blame is not None:
            trouble = f"episode {row.episode}"
            if outcome.trace is not None and traces[label] < TRACES:  # before the error, which may be long and cut
                traces[label] += 1
                trouble += f" (traceback in {store.write_error(name, outcome.trace)})"
            trouble += f": {brief(str(row.error), width=SHOWN)}"
            troubles.setdefault(f"policy {row.policy!r} on {row.task}, blame {row.blame}", []).append(trouble)
        if "out_of_range_actions" in outcome.metrics:
            troubles.setdefault(f"policy {row.policy!r} on {row.task}: actions out of range were clipped", []).append(
                f"episode {row.episode}, {counted(int(outcome.metrics['out_of_range_actions']), 'action')}"
            )
        progress(state)
        if state.done < state.planned and state.ran != limit:
            look()
    left = rounds.planned - rounds.ended
    notes = [f"{what}: {counted(len(where), 'episode')}, first {where[0]}" for what, where in troubles.items()]
    if retired:
        notes.append(
            f"{counted(retired, 'episode')} of an earlier plan will not be run any more: foretell show "
            f"marks them retired"
        )
    few = study.record.video == "few"
    if not left and not (few and not (state.ran and share.alone)):  # who resumes what is done waits for no film
        notes += films.film(
            study.record,
            store.path,
            named={name: e for name, e in named.items() if opened[e.group].draws or not few},
            place=lambda name: video_of(name, named[name], named[name].scenario.task),
            again=execute,
            notify=notify,
            spent=time.monotonic() - began,
        )
    failing = tuple(state.tally.failing())
    return Run(
        path=store.path,
        planned=rounds.planned,
        until=study.until is not None,
        spared=len(rounds.spared),
        ran=state.ran,
        skipped=skipped,
        left=left,
        pulled=share.pulls,
        notes=(*store.problems, *notes),
        failing=failing,
    )


def stopper(store: Store) -> Callable[[], None]:
    """To be called often: raises KeyboardInterrupt, as Ctrl-C does, once somebody asks the study to stop."""
    looked = 0.0

    def look() -> None:
        nonlocal looked
        if (now := time.monotonic()) - looked > LOOK:
            looked = now
            if store.stop_asked():
                raise KeyboardInterrupt

    return look
