"""Running a study: plan it, open what it names, and fill its run folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from foretell.clock import Realtime
from foretell.episodes.provenance import provenance
from foretell.episodes.selection import read_selection
from foretell.errors import UsageError, suggest
from foretell.registry import names
from foretell.rollout import Outcome
from foretell.rollout.able import require_terminal
from foretell.sim.viewer import require_screen
from foretell.study.blind import Conduct, check_resumed
from foretell.study.blind import unblind as reveal
from foretell.study.config import PolicyEntry, Study, load_study
from foretell.study.difference import settle
from foretell.study.drawn import Drawn, draw
from foretell.study.engine import Engine, make_engine
from foretell.study.fill import fill, stopper
from foretell.study.jobs import asked_of, batches_of
from foretell.study.latencies import Settler
from foretell.study.patience import uncollected
from foretell.study.plan import JobGroup, Planned, check_size, left_out, make_task, plan, testset_of
from foretell.study.select import record, select
from foretell.study.session import Opened
from foretell.study.share import share_of
from foretell.study.status import Progress, Run
from foretell.study.store import Store
from foretell.tasks.frame import frame
from foretell.world_file import FITTED, asks_person, attended, films_itself, kind_of, slots_of, world_class

__all__ = ["Progress", "Run", "engine_for", "run", "with_names"]

SLOTS = 32
"""Episodes side by side in each worker: enough to drown Python's share, few enough to end together."""


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
    unblind: bool = False,
    engine: str | Engine | None = None,
    shard: str | None = None,
    pull: bool = False,
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
    memory. `unblind` runs nothing: it shows the names of a blind study before all its trials are in, and the provenance
    keeps who did so and after how many trials.

    `shard` runs one share of the study, such as `3/64`, into a folder of its own in the run folder, on any machine that
    sees it; `/64` takes the number from the task of a Slurm array. `pull` runs batches of it as long as some are left,
    beside any number of processes that do the same. `merge` then brings the rows together.
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
    run_folder = Path(out) if out is not None else Path("runs") / study.name
    if unblind:
        return reveal(study, run_folder)
    share = share_of(run_folder, study, shard=shard, pull=pull, limit=limit)
    path = share.folder
    asks = "the world needs a person at the terminal" if asks_person(study.world) else ""
    runs_in = engine_for(study, engine, workers, here="a policy is a Python object" if policies else asks)
    if asks:
        require_terminal(kind_of(study.world))
    count = (os.cpu_count() or 1) if workers is None else workers
    if attended(study.world):
        slots, count = 1, min(count, 1)  # there is one table, and one person
    study, slots = _filmed(study), slots_of(study.world, slots)
    check_size(study, large)
    check_resumed(study, path, add=add, retire=retire)
    written, studies, keep = settle(study, path, add=add, retire=retire)
    # Made before the plan, so that a worker starts meanwhile. A process that measures latencies starts after it.
    with closing(make_engine(runs_in, workers=count, slots=slots, policy_timeout=study.policy_timeout)) as crew:
        conduct = Conduct(study, path)
        drawn = draw(study, path, notify)
        check_size(study, large, drawn.clean)
        check_factors(study, drawn)
        settler = Settler(study, path, notify)
        with uncollected():
            episodes = plan(study, drawn.clean, settler, drawn.perturbed, notify)
            episodes = conduct.in_order(episodes)
        groups = dict.fromkeys(group for group, _ in groupby(episodes, attrgetter("group")))
        asked = {group: asked_of(study, group, policies, watch) for group in groups}
        opened = {group: crew.inspect({**opening, "hush": conduct.hush}) for group, opening in asked.items()}
        _tell_first(opened, notify)
        with Store(path) as store:
            store.write_latencies(settler.fresh)
            store.write_study(written.to_yaml())
            keep_scenarios(store, drawn)
            if (made := testset_of(study)) and made.header:
                store.write_testset(made.path.read_bytes())
            keep_selection(store, study)
            about = {"study": study.name, "design": drawn.design, "studies": studies}
            about = {**about, **_about(study, written, opened), **provenance()}
            asked = {group: {**opening, "hush": conduct.prints(store)} for group, opening in asked.items()}
            try:
                look = stopper(store)

                def execute(chosen: dict[str, Planned]) -> Iterator[tuple[str, Outcome]]:
                    return crew.run(batches_of(chosen, opened, asked, store.path), look)

                with conduct.recorded(store, about) as notes:
                    done = fill(
                        study,
                        store,
                        episodes=episodes,
                        opened=opened,
                        execute=share.over(execute),
                        look=look,
                        limit=limit,
                        progress=progress,
                        notify=notify,
                        keep=keep,
                        share=share,
                        mask=conduct.mask,
                    )
                stated = dict.fromkeys(note for group in opened.values() for note in group.notes)
                return replace(done, notes=(*left_out(study), *stated, *done.notes, *notes, *share.notes()))
            finally:
                crew.close()
                for part in (store.path / "videos").glob("*.part.mp4"):  # of episodes that were cut off
                    part.unlink(missing_ok=True)


def check_factors(study: Study, drawn: Drawn) -> None:
    """Raises UsageError for factors of which the world's class says that it cannot apply them (`unfit`)."""
    if (unfit := getattr(world_class(study.world), "unfit", None)) is None:
        return
    under = [first for arms in drawn.perturbed.values() for group in arms.values() for first in islice(group, 1)]
    given = [scenario for group in drawn.clean.values() for scenario in group if scenario.factors]
    for name in dict.fromkeys(name for scenario in (*under, *given) for name in scenario.factors):
        if why := unfit(name):
            raise UsageError(f"arms: world {kind_of(study.world)!r:.100} cannot apply {name}: {why}")


def _tell_first(opened: dict[JobGroup, Opened], notify: Callable[[str], None]) -> None:
    """Say what reality does before anything moves."""
    for note in dict.fromkeys(note for group in opened.values() if group.real for note in group.notes):
        notify(note)


def _about(study: Study, written: Study, opened: dict[JobGroup, Opened]) -> dict[str, Any]:
    """What provenance has of a study, as it was opened. written: the study in the run folder."""
    about: dict[str, Any] = {}
    about["frames"] = {task.name: frame(task) for task in map(make_task, (t.use for t in written.tasks))}
    for field in FITTED:
        if seen := sorted({name for group in opened.values() for name in group.params.get(field, ())}):
            about[field] = seen
    if (made := testset_of(study)) and made.header:
        about["testset"] = made.header.id
    if study.until is not None:
        about["until"] = study.until.model_dump(mode="json", exclude_none=True)
    return about


def engine_for(study: Study, asked: str | Engine | None, workers: int | None, here: str) -> str | Engine:
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


def keep_selection(store: Store, study: Study) -> None:
    """The chances of scenarios that were chosen, into the run folder. Raises UsageError where other scenarios were
    chosen when the study began: the simulated run has changed, and coins are flipped once."""
    chosen = study.scenarios.select
    if chosen is None:
        return
    names = [make_task(entry.use).name for entry in study.tasks]
    drawn = {name: select(chosen, name, study.policies, study.scenarios.count)[0] for name in names}
    before = read_selection(store.path)
    if before and {name: mine.to_dict() for name, mine in before.items()} != {n: m.to_dict() for n, m in drawn.items()}:
        raise UsageError(
            f"scenarios: select: from: {chosen.source} has other episodes than when this study began, and would choose "
            "other scenarios: restore it, or give this study another folder (--out)"
        )
    store.write_selection(record(chosen, drawn))


def with_names(study: dict[str, Any], policies: Mapping[str, Any]) -> dict[str, Any]:
    """A study that names policy objects given from Python beside its own."""
    given = study.get("policies") or {}
    given = {str(v): v for v in given} if isinstance(given, list) else given
    return {**study, "policies": {**given, **_named(policies)}}


def _filmed(study: Study) -> Study:
    """A study whose world keeps films of every trial asks for no others, so that the same file runs on any world."""
    if not films_itself(study.world):
        return study
    return study.model_copy(update={"record": study.record.model_copy(update={"video": 0})})


def _named(policies: Mapping[str, Any]) -> dict[str, PolicyEntry]:
    return {name: PolicyEntry(use=f"object:{name}") for name in policies}
