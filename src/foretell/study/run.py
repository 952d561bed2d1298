"""Running a study: plan it, skip what is done, run the rest, keep every row the moment it is finished."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.clock import Realtime
from foretell.counting import counted
from foretell.episode import Episode, keys
from foretell.episodes.columns import spread
from foretell.episodes.planned import CELL, PLAN, SPARED
from foretell.episodes.provenance import provenance
from foretell.episodes.tally import Tally
from foretell.errors import UsageError, suggest
from foretell.factors.arms import severity_of
from foretell.notebook import Displayed
from foretell.registry import names
from foretell.rollout import Job, Outcome
from foretell.rollout.able import require_terminal
from foretell.sim.viewer import require_screen
from foretell.study import films
from foretell.study.config import PolicyEntry, Study, load_study
from foretell.study.difference import settle
from foretell.study.drawn import Drawn, draw
from foretell.study.engine import Batch, Engine, make_engine
from foretell.study.latencies import Settler
from foretell.study.patience import Patience, uncollected
from foretell.study.plan import Group, Planned, check_size, left_out, make_task, plan, testset_of
from foretell.study.rounds import Execute, Rounds
from foretell.study.session import Opened
from foretell.study.store import Store
from foretell.tasks.frame import frame
from foretell.terminal import brief
from foretell.world_file import asks_person, attended, kind_of, params_of

__all__ = ["Progress", "Run", "row_of", "run", "with_names"]

SLOTS = 32
"""Episodes side by side in each worker: enough to drown Python's share, few enough to end together."""
SAID = 300
"""Characters of an error that a note shows; the row has more, and the file of its traceback all."""
TRACES = 10
"""Tracebacks that a call keeps of each policy and task: a policy that raises every time mostly says the same."""
WORDS = 4000
"""Characters that a row keeps of an error or a reason."""
LOOK = 0.2
"""Wall seconds between two looks whether somebody asks the study to stop."""


@dataclass(kw_only=True)
class Progress:
    """Where a running study stands; handed to `progress` after each episode."""

    planned: int
    done: int
    """Including those of earlier calls."""
    ran: int
    """In this call."""
    solved: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)
    """The figures so far, cell by cell, with those of earlier calls."""
    study: str = ""
    until: bool = False
    """Whether cells stop by a rule: `planned` is then the largest number."""
    alone: bool = False
    """Whether the run folder has no plan but this study's: `foretell show` then counts what the tally counts."""


@dataclass(frozen=True, kw_only=True)
class Run(Displayed):
    """What a call of `run` did."""

    path: Path
    planned: int
    ran: int
    skipped: int
    """Already there from earlier calls."""
    left: int
    """Not run, because of `limit`. With `until` at most so many: cells may stop before."""
    until: bool = False
    """Whether cells stop by a rule."""
    spared: int = 0
    """Not needed, because their cells stopped by `until`."""
    notes: tuple[str, ...] = ()
    """Plain sentences on what went wrong, and where."""
    failing: tuple[str, ...] = ()
    """Policies of which every episode so far ended in an error."""

    def text(self) -> str:
        """What was done, and where the results are."""
        earlier = f", {counted(self.skipped, 'was', 'were')} there already" if self.skipped else ""
        left = f", {'at most ' * self.until}{self.left} left by --limit" if self.left else ""
        spared = f", {self.spared} spared by `until`" if self.spared else ""
        notes = [f"note: {note}" for note in self.notes]
        done = f"{counted(self.ran, 'episode')} run{earlier}{left}{spared}"
        return "\n".join([*notes, f"{done}; everything is in {self.path}"])


def run(
    study: Study | dict[str, Any] | str | Path,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    slots: int = SLOTS,
    limit: int | None = None,
    pair_with: str | Path | None = None,
    policies: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
    notify: Callable[[str], None] = lambda text: None,
    watch: bool = False,
    large: bool = False,
    add: bool = False,
    retire: bool = False,
    engine: str | Engine | None = None,
) -> Run:
    """Run a study into a run folder (default `runs/<name>`). Call it again to resume.

    If the folder holds another study, the run is refused and the error lists the fields that differ. `add` runs this
    study in addition to the other one. `retire` replaces the other study: its finished episodes stay, and the others
    are dropped.

    `engine` runs the episodes: `processes`, or `here` (in this process); None takes the engine of the study. An
    engine that the caller made (`make_engine`) stays open, for the next study. `workers` is the number of processes
    (default: one per core); 0 means the engine `here`. `policies` adds policy objects or classes from Python. These
    run in this process, and so does a world that needs a person at the terminal. `pair_with` takes the scenarios of
    another run. `notify` is called with a message about slow steps before the first episode. `watch` shows
    `realtime` episodes in MuJoCo's viewer. `large` allows more than a million episodes. Their plan takes much
    memory.
    """
    study = load_study(with_names(study, policies) if policies and isinstance(study, dict) else study)
    if policies:
        study = study.model_copy(update={"policies": {**study.policies, **_named(policies)}})
    if pair_with is not None:
        study = study.paired(pair_with)
    if slots < 1 or (workers is not None and workers < 0) or (limit is not None and limit < 1):
        raise UsageError(f"slots ({slots}) and limit ({limit}) must be at least 1, workers ({workers}) at least 0")
    if watch:
        require_screen()
        if not any(isinstance(c, Realtime) for c in study.clocks):
            raise UsageError("watch: works only with the clock `realtime`, and the study does not use it")
    asks = "the world needs a person at the terminal" if asks_person(study.world) else ""
    runs_in = _engine(study, engine, workers, here="a policy is a Python object" if policies else asks)
    if asks:
        require_terminal(kind_of(study.world))
    count = (os.cpu_count() or 1) if workers is None else workers
    if attended(study.world):
        slots, count = 1, min(count, 1)  # there is one table, and one person
    check_size(study, large)
    path = Path(out) if out is not None else Path("runs") / study.name
    written, studies, keep = settle(study, path, add=add, retire=retire)
    # Made before the plan, so that a worker starts meanwhile. A process that measures latencies starts after it.
    with closing(make_engine(runs_in, workers=count, slots=slots, policy_timeout=study.policy_timeout)) as crew:
        drawn = draw(study, path, notify)
        check_size(study, large, drawn.clean)
        settler = Settler(study, path, notify)
        with uncollected():
            episodes = plan(study, drawn.clean, settler, drawn.perturbed, notify)
        groups = dict.fromkeys(group for group, _ in groupby(episodes, attrgetter("group")))
        asked = {group: asked_of(study, group, policies, watch) for group in groups}
        opened = {group: crew.inspect(arguments) for group, arguments in asked.items()}
        with Store(path) as store:
            store.write_latencies(settler.fresh)
            store.write_study(written.to_yaml())
            keep_scenarios(store, drawn)
            if (made := testset_of(study)) and made.header:
                store.write_testset(made.path.read_bytes())
            about = {"study": study.name, "design": drawn.design, "studies": studies}
            store.write_provenance({**about, **_about(study, written, opened), **provenance()})
            try:
                look = _stopper(store)

                def execute(chosen: dict[str, Planned]) -> Iterator[tuple[str, Outcome]]:
                    return crew.run(_batches(chosen, opened, asked, store.path), look)

                done = _fill(study, store, episodes, opened, execute, look, limit, progress, notify, keep)
                return replace(done, notes=(*left_out(study), *done.notes))
            finally:
                crew.close()
                for part in (store.path / "videos").glob("*.part.mp4"):  # of episodes that were cut off
                    part.unlink(missing_ok=True)


def _about(study: Study, written: Study, opened: dict[Group, Opened]) -> dict[str, Any]:
    """What provenance has of a study, as it was opened. written: the study in the run folder."""
    about: dict[str, Any] = {}
    about["frames"] = {task.name: frame(task) for task in map(make_task, (t.use for t in written.tasks))}
    if seen := sorted({one for group in opened.values() for one in group.params.get("fitted_to", ())}):
        about["fitted_to"] = seen
    if (made := testset_of(study)) and made.header:
        about["testset"] = made.header.id
    if study.until is not None:
        about["until"] = study.until.model_dump(mode="json", exclude_none=True)
    return about


def asked_of(
    study: Study, group: Group, policies: Mapping[str, Any] | None = None, watch: bool = False
) -> dict[str, Any]:
    """What an engine opens for a group, as `Batch.open` has it."""
    return {
        "task": group.task.use,
        "controller": group.task.controller,
        "time_limit": group.task.time_limit,
        "world": study.world,
        "clock": group.clock,
        "policies": {name: (policies or {}).get(name, study.policies[name]) for name in group.policies},
        "video": study.record.video not in (0, "few"),
        "steps": study.record.steps != 0,
        "patience": study.policy_timeout,
        "view": watch,
    }


def _engine(study: Study, asked: str | Engine | None, workers: int | None, here: str) -> str | Engine:
    """The engine, or its name. `here`: why only this process will do, or empty."""
    if asked is not None and not isinstance(asked, str):
        return asked
    asked = asked or study.engine
    if asked is not None and asked not in names("engines"):
        raise UsageError(f"engine: {asked!r:.80} is not known; {suggest(asked, names('engines'))}")
    if asked not in (None, "here") and (here or workers == 0):
        why = here or "workers is 0"
        raise UsageError(f"engine: {asked!r} cannot run this study, because {why}: leave `engine` out, or use `here`")
    return asked or ("here" if here or workers == 0 else "processes")


def keep_scenarios(store: Store, drawn: Drawn) -> None:
    """Into the run folder, unless they are there."""
    if drawn.recalled and store.has_scenarios(drawn.names):
        return
    store.write_scenarios(s for group in drawn.clean.values() for s in group)
    store.write_scenarios(s for arms in drawn.perturbed.values() for group in arms.values() for s in group)
    if drawn.inputs is not None:
        store.write_drawn(drawn.table())


def with_names(study: dict[str, Any], policies: Mapping[str, Any]) -> dict[str, Any]:
    """A study that names policy objects given from Python beside its own."""
    given = study.get("policies") or {}
    given = {str(v): v for v in given} if isinstance(given, list) else given
    return {**study, "policies": {**given, **_named(policies)}}


def _named(policies: Mapping[str, Any]) -> dict[str, PolicyEntry]:
    return {name: PolicyEntry(use=f"object:{name}") for name in policies}


def _fill(
    study: Study,
    store: Store,
    episodes: list[Planned],
    opened: dict[Group, Opened],
    execute: Execute,
    look: Callable[[], None],
    limit: int | None,
    progress: Callable[[Progress], None],
    notify: Callable[[str], None],
    keep: bool,
) -> Run:
    _distinct(opened)
    began, earlier = time.monotonic(), store.earlier()
    with uncollected():
        named = name_all(episodes, opened, notify)
        rounds = Rounds(study.until, named, store.done, earlier)
    skipped = rounds.ended
    planned = _planned(named, opened, rounds)
    retired = store.write_plan(planned, keep=keep)
    tally = Tally(planned, time.time(), earlier)
    tally.spare(rounds.spared)
    alone = store.planned == len(planned)
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
        store.write_plan(_planned(named, opened, rounds), keep=keep)
        state.planned = rounds.planned
        progress(state)

    for name, outcome in rounds.run(execute, limit, spare):
        row = row_of(study, name, named[name], opened[named[name].group], outcome)
        if row.video is None and named[name].video:
            steps = _keeps_steps(replace(named[name], video=False), opened[named[name].group])
            films.unfilm(store.path, _video(name, named[name], row.task), name, steps)
        store.append([row])
        state.tally.add(vars(row))
        state.done, state.ran = state.done + 1, state.ran + 1
        label = f"{row.task} {row.policy}"
        if row.success is not None:
            state.judged[label] += 1
            state.solved[label] += row.success
        if row.blame is not None:
            said = f"episode {row.episode}"
            if outcome.trace is not None and traces[label] < TRACES:  # before the error, which may be long and cut
                traces[label] += 1
                said += f" (traceback in {store.write_error(name, outcome.trace)})"
            said += f": {brief(str(row.error), width=SAID)}"
            troubles.setdefault(f"policy {row.policy!r} on {row.task}, blame {row.blame}", []).append(said)
        if "out_of_range_actions" in row.metrics:
            troubles.setdefault(f"policy {row.policy!r} on {row.task}: actions out of range were clipped", []).append(
                f"episode {row.episode}, {counted(int(row.metrics['out_of_range_actions']), 'action')}"
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
    if not left and (state.ran or study.record.video != "few"):  # who resumes what is done waits for no film
        notes += films.film(
            study.record,
            store.path,
            {name: e for name, e in named.items() if opened[e.group].draws or study.record.video != "few"},
            lambda name: _video(name, named[name], named[name].scenario.task),
            execute,
            notify,
            time.monotonic() - began,
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
        notes=(*store.problems, *notes),
        failing=failing,
    )


def _distinct(opened: dict[Group, Opened]) -> None:
    """Two tasks of one name could not be told apart in tables."""
    uses: dict[tuple[str, str], str] = {}
    for group, found in opened.items():
        other = uses.setdefault((found.task, found.controller), group.task.use)
        if other != group.task.use:
            raise UsageError(
                f"tasks: {other!r} and {group.task.use!r} are both {found.task!r}, version {found.task_version}; "
                "give one of them another `name`"
            )


def _planned(named: dict[str, Planned], opened: dict[Group, Opened], rounds: Rounds) -> pa.Table:
    """Every episode to be, as `Store.write_plan` takes it."""
    cells: dict[tuple[int, str, str], int] = {}
    columns: list[dict[str, Any]] = []
    index: list[int] = []
    units: list[str] = []
    names, rules = list(named), rounds.rules()
    for alike in _by_cell(named.values()):
        cell = (id(alike[0].group), alike[0].policy, alike[0].arm)
        if cell not in cells:
            cells[cell] = len(columns)
            columns.append({**_columns(alike[0], opened[alike[0].group]), "until": rules.get(names[len(index)], "")})
            columns[-1]["task_version"] = str(opened[alike[0].group].task_version)
        index += [cells[cell]] * len(alike)
        pairs = alike[0].scenarios.units
        units += [pairs[episode.index] for episode in alike]
    shared = pa.Table.from_pylist(columns, schema=pa.schema([PLAN.field(c) for c in (*CELL, "until")]))
    shared = shared.take(pa.array(index, pa.int64()))
    spared = np.array([name in rounds.spared for name in names], dtype=np.int64)
    shared = shared.append_column("retired", spread(["", SPARED], spared))
    shared = shared.append_column("unit", pa.array(units, pa.string()))
    return shared.append_column("episode", pa.array(names, pa.string()))


def _by_cell(episodes: Iterable[Planned]) -> Iterator[list[Planned]]:
    """Episodes of one group, policy, arm and set of scenarios, as they follow each other: a plan goes cell by cell."""
    alike: list[Planned] = []
    first = None
    for episode in episodes:
        if first is not None and (
            episode.scenarios is first.scenarios
            and episode.group is first.group
            and episode.policy == first.policy
            and episode.arm == first.arm
        ):
            alike.append(episode)
            continue
        if alike:
            yield alike
        first, alike = episode, [episode]
    if alike:
        yield alike


def _stopper(store: Store) -> Callable[[], None]:
    """To be called often: raises KeyboardInterrupt, as Ctrl-C does, once somebody asks the study to stop."""
    looked = 0.0

    def look() -> None:
        nonlocal looked
        if (now := time.monotonic()) - looked > LOOK:
            looked = now
            if store.stop_asked():
                raise KeyboardInterrupt

    return look


def name_all(
    episodes: list[Planned], opened: dict[Group, Opened], notify: Callable[[str], None] = lambda text: None
) -> dict[str, Planned]:
    """Key -> episode, in the order of the plan."""
    named: dict[str, Planned] = {}
    patience = Patience(notify)
    for alike in _by_cell(episodes):
        name, ids = _namer(alike[0], opened[alike[0].group]), alike[0].scenarios.names
        for start in range(0, len(alike), 1000):
            patience(f"naming episodes: {len(named):,} of {len(episodes):,}")
            named.update((name(ids[e.index], e.trial), e) for e in alike[start : start + 1000])
    return named


def _namer(episode: Planned, opened: Opened) -> Callable[[str, int], str]:
    return keys(
        world_hash=opened.world_hash,
        task=f"{opened.task}/{opened.controller}",
        task_version=opened.task_version,
        policy=episode.policy,
        policy_hash=opened.policies[episode.policy]["hash"],
        policy_options=opened.policies[episode.policy]["options"],
        arm=episode.arm,
        clock=episode.group.clock.to_dict(),
        task_hash=opened.task_hash,
    )


def row_of(study: Study, name: str, episode: Planned, opened: Opened, outcome: Outcome) -> Episode:
    """The row of an episode that has ended."""
    scenario = episode.scenario
    shown = outcome.end != "error" and not (study.record.video == "failures" and outcome.success)
    video = _video(name, episode, opened.task) if episode.video and shown else None
    return Episode(
        episode=name,
        study=study.name,
        real=opened.real,
        stands_in=opened.stands_in,
        world_params=json.dumps(params_of(opened.params, scenario), sort_keys=True),
        robot=opened.robot,
        task_version=opened.task_version,
        scenario=scenario.id,
        parent=scenario.parent,
        base=scenario.base,
        trial=episode.trial,
        factors=json.dumps(dict(scenario.factors), sort_keys=True),
        severity=severity_of(episode.arm),
        success_rule=opened.success_rule,
        video=str(video) if video else None,
        **_columns(episode, opened),
        **{**vars(outcome), "error": _cut(outcome.error), "failure_reason": _cut(outcome.failure_reason)},
    )


def _cut(text: str | None) -> str | None:
    """What a policy says of its error may be as long as it likes, and a row is read with all others."""
    return text if text is None or len(text) <= WORDS else f"{text[:WORDS]}... ({len(text):,} characters)"


def _columns(episode: Planned, opened: Opened) -> dict[str, Any]:
    """The columns `CELL`, known before it runs."""
    return {
        "world": opened.world,
        "world_hash": opened.world_hash,
        "task": opened.task,
        "task_hash": opened.task_hash,
        "controller": opened.controller,
        "policy": episode.policy,
        "policy_hash": opened.policies[episode.policy]["hash"],
        "policy_options": json.dumps(opened.policies[episode.policy]["options"], sort_keys=True),
        "clock": json.dumps(episode.group.clock.to_dict(), sort_keys=True),
        "arm": episode.arm,
    }


def _video(name: str, episode: Planned, task: str) -> Path:
    """Path of an episode's video within its run folder; names that a file system may not like are smoothed."""
    words = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{task}-{episode.policy}")[:80]
    return Path("videos") / f"{words}-{name}.mp4"


def _events(name: str) -> Path:
    return Path("events") / f"{name}.parquet"


def _keeps_steps(episode: Planned, opened: Opened) -> bool:
    """What is filmed has them beside the film; what is real cannot run again."""
    return episode.steps or episode.video or opened.real


def _batches(
    chosen: dict[str, Planned],
    opened: dict[Group, Opened],
    asked: dict[Group, dict[str, Any]],
    folder: Path,
) -> list[Batch]:
    """The episodes to run, group by group."""
    batches: dict[Group, Batch] = {}
    for name, episode in chosen.items():
        group = episode.group
        if group not in batches:
            batches[group] = Batch(asked[group], opened[group], deque(), isinstance(group.clock, Realtime))
        batches[group].jobs.append(
            Job(
                policy=episode.policy,
                scenario=episode.scenario,
                trial=episode.trial,
                key=name,
                video=folder / _video(name, episode, episode.scenario.task) if episode.video else None,
                events=folder / _events(name) if episode.events else None,
                steps=folder / films.steps(name) if _keeps_steps(episode, opened[group]) else None,
            )
        )
    return list(batches.values())
