"""Test sets: the standard protocol as one file of scenarios, with a certificate that each cell can be solved.

A cell is a task under an arm. Its scenarios are those of the clean control under that arm, so every perturbed episode
has its partner. A study runs the file (`scenarios: {file: F}`); `foretell leaderboard` judges the runs.
"""

# ruff: noqa: PT028 - `testset` is the verb's name, and no test
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from foretell.counting import counted
from foretell.episodes.read import read
from foretell.errors import ForetellError, UsageError
from foretell.factors import factor
from foretell.factors.arms import COMPOUND, FOURTEEN, Arm, expand, parse
from foretell.notebook import Displayed
from foretell.registry import names
from foretell.scenario import Scenario
from foretell.study.plan import make_task
from foretell.study.run import Progress, run
from foretell.study.scenario_file import Certificate, Header, Protocol, identify, read_scenario_file
from foretell.tasks.task import Task
from foretell.testset.certificate import certificate, read_testset, write_testset

__all__ = ["ARMS", "EPISODES", "REQUIRED", "SEED", "TestSet", "testset"]

ARMS = ("colosseum:each", "colosseum:all")
"""THE COLOSSEUM's factors one by one and together; the clean control always comes first."""
EPISODES = 25
SEED = 50_000
"""Far from the seeds that studies take by themselves, which policies are developed on."""
REQUIRED = 0.9
"""Success rate of the scripted expert that certifies a cell."""
Line = tuple[str, Scenario]


@dataclass(frozen=True)
class TestSet(Displayed):
    """A test set on disk."""

    __test__ = False  # for pytest, whose tests begin with Test

    path: Path
    header: Header
    cells: int
    notes: tuple[str, ...] = ()

    @property
    def certified(self) -> int:
        """Cells that a policy may be charged with."""
        return sum(c.certified for c in self.header.certificates)

    @property
    def failed(self) -> list[Certificate]:
        """Cells that the expert does not solve often enough."""
        return [c for c in self.header.certificates if not c.certified]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form: the header, and where it is."""
        about = {"path": str(self.path), "cells": self.cells, "certified": self.certified}
        return {**about, **self.header.model_dump(mode="json"), "notes": list(self.notes)}

    def text(self) -> str:
        """What it is, and how the expert did in each cell."""
        from foretell.answers.words import table

        head, protocol = self.header, self.header.protocol
        parts = [
            f"test set {head.name}, id {head.id}: {', '.join(head.tasks)}",
            f"arms {', '.join(map(str, protocol.arms))}; {counted(protocol.episodes, 'episode')} in each "
            f"of {counted(self.cells, 'cell')}, "
            f"seeds {protocol.seed} to {protocol.seed + protocol.episodes - 1}, paired",
        ]
        for task, why in head.left_out.items():
            parts.append(f"{task} is without {', '.join(why)}")
        if protocol.required is None:
            parts.append("not certified: no headline score can be given")
        else:
            parts.append(
                f"certified: {self.certified} of {counted(self.cells, 'cell')}, in which the scripted expert "
                f"succeeds in at least {protocol.required:.0%} of the episodes"
            )
            tasks = list(head.tasks)
            of = {(c.task, c.arm): c for c in head.certificates}
            rows = [
                [arm, *(_in_words(of.get((task, arm))) for task in tasks)]
                for arm in dict.fromkeys(c.arm for c in head.certificates)
            ]
            parts.append(table(["arm", *(f"expert on {task}" for task in tasks)], rows))
        return "\n".join([*parts, *(f"note: {note}" for note in self.notes)])


def _in_words(cell: Certificate | None) -> str:
    if cell is None:
        return "-"
    ends = f"{cell.successes}/{cell.n} ({100 * cell.low:.0f} to {100 * cell.high:.0f}%)"
    return ends if cell.certified else f"not certified {ends}"


def testset(
    action: Literal["build", "show"],
    names: Sequence[str] | str | Path = (),
    *,
    out: str | Path | None = None,
    arms: Sequence[Any] = ARMS,
    severity: float | Sequence[float] = (1.0,),
    episodes: int = EPISODES,
    seed: int = SEED,
    required: float = REQUIRED,
    certify: bool = True,
    workers: int | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
    notify: Callable[[str], None] = lambda text: None,
) -> TestSet:
    """Build a test set of tasks into the file `out`, or show the test set in a file.

    To build: `names` are tasks (default: all tasks with a scripted expert). `arms` are written as in a study, each at
    every `severity`. The expert runs every cell into a run folder next to the file, and certifies the cells that it
    solves at the rate `required`. Call it again to resume. Without `certify` there are no certificates, and policies
    get no headline score.
    """
    listed = [str(names)] if isinstance(names, (str, Path)) else [str(name) for name in names]
    if action == "show":
        if len(listed) != 1:
            raise UsageError(f"testset show takes one file, and was given {len(listed)}")
        return _shown(Path(listed[0]))
    if action != "build":
        raise UsageError(f"testset {action!r} is not known; it is build or show")
    if out is None:
        raise UsageError("testset build: out is missing: the file to write, such as lift.jsonl")
    if episodes < 1 or seed < 0:
        raise UsageError(f"episodes ({episodes}) must be at least 1, seed ({seed}) at least 0")
    if not 0 < required <= 1:
        raise UsageError(f"required is {required}, it must be above 0 and at most 1: the expert's success rate")
    path = Path(out)
    tasks = _tasks(listed)
    wanted = _arms(arms, [severity] if isinstance(severity, int | float) else severity)
    for arm in wanted:
        if not any(expand([arm], task) for task in tasks.values()):
            raise UsageError("arms: " + "; ".join(str(arm.applies(task)) for task in tasks.values()))
    lines = [line for task in tasks.values() for line in _lines(task, wanted, episodes, seed)]
    versions = {task.name: task.version for task in tasks.values()}
    header = Header(
        name=path.stem,
        id=identify(versions, ((s.task, arm, s.id) for arm, s in lines)),
        tasks=versions,
        protocol=Protocol(arms=tuple(arm.written for arm in wanted), episodes=episodes, seed=seed),
        left_out={t.name: why for t in tasks.values() if (why := _without(t, wanted))},
        made_with=_versions(),
    )
    before = _same(path, header, required if certify else None)
    if not certify:
        if before is None:
            write_testset(path, header, lines)
        kept = before is not None and bool(before.certificates)
        return _shown(path, (f"{path} was certified before and is not changed",) if kept else ())
    work = path.with_name(f"{path.stem}.expert")
    draft = work / "testset.jsonl"
    work.mkdir(parents=True, exist_ok=True)
    write_testset(draft, header, lines)
    study = {"name": "expert", "tasks": list(tasks), "policies": ["expert"], "scenarios": {"file": str(draft)}}
    study["record"] = {"video": "none"}
    done = run(study, out=work, workers=workers, progress=progress, notify=notify, add=True)
    certificates = _certified(work, header, lines, required)
    stated = header.protocol.model_copy(update={"required": required})
    write_testset(path, header.model_copy(update={"certificates": tuple(certificates), "protocol": stated}), lines)
    notes = [*done.notes, f"the expert's episodes are in {work}"]
    if before and before.certificates and before.certificates != tuple(certificates):
        notes.append(
            "the certificates differ from the old ones: the expert, or the machine or versions it ran on, changed"
        )
    return _shown(path, tuple(notes))


def _tasks(given: Iterable[str]) -> dict[str, Task]:
    wanted = list(dict.fromkeys(given))
    tasks = {}
    for use in wanted or names("tasks"):
        task = make_task(use)
        try:
            task.expert()
        except NotImplementedError:
            if wanted:
                raise UsageError(
                    f"task {use!r} has no scripted expert, so it cannot be certified: give it one (`Task.expert`)"
                ) from None
        else:
            tasks[use] = task
    known: dict[str, str] = {}
    for use, task in tasks.items():
        if known.setdefault(task.name, use) != use:
            raise UsageError(f"{known[task.name]!r} and {use!r} are both named {task.name!r}: rename one")
    return tasks


def _arms(arms: Sequence[Any], severities: Sequence[float]) -> list[Arm]:
    """Arms at every severity, the clean control first."""
    if not severities or any(not s > 0 for s in severities):
        raise UsageError(
            f"severity {list(severities)} must be numbers above 0: 0 is the clean control, which is always there"
        )
    wanted = [parse("none")]
    for arm in map(parse, arms):
        if not arm.uses:
            continue
        plain = isinstance(arm.written, (str, int)) and "@" not in str(arm.written)
        for severity in severities if plain else (1.0,):
            wanted.append(arm if severity == 1 else _at(arm, severity))
    return wanted


def _at(arm: Arm, severity: float) -> Arm:
    at = parse({"use": arm.name, "severity": severity})
    return replace(at, written=at.name)


def _lines(task: Task, arms: list[Arm], episodes: int, seed: int) -> list[Line]:
    """Arm by arm, the scenarios of a task; what does not apply to it is left out."""
    clean = [task.scenario(seed + i) for i in range(episodes)]
    return [(arm.name, arm.on(scenario, task)) for arm in expand(arms, task) for scenario in clean]


def _without(task: Task, arms: list[Arm]) -> dict[str, str]:
    """Factors of the protocol that do not apply to a task, and why."""
    sets = {"each": names("factors"), "all": names("factors"), "colosseum:each": FOURTEEN, "colosseum:all": FOURTEEN}
    uses = [use.factor for arm in arms for use in arm.uses]
    factors = dict.fromkeys(name for use in uses for name in {**sets, **COMPOUND}.get(use, (use,)))
    return {name: why.why for name in factors if (why := factor(name).applies(task))}


def _versions() -> dict[str, str]:
    import mujoco

    from foretell import __version__

    return {"foretell": __version__, "mujoco": mujoco.__version__}


def _same(path: Path, header: Header, required: float | None) -> Header | None:
    """The header of the file that is there, if one is. A test set that others may have run is never written over by
    another, nor its certificates by those of another rate."""
    if not path.exists():
        return None
    there = read_scenario_file(path).header
    if there is None or there.id != header.id:
        what = f"test set {there.id}" if there else "a file of scenarios"
        raise UsageError(f"out: {path} already exists, {what}, and this would be {header.id}: give another name")
    stated = there.protocol.required
    if required is not None and stated is not None and stated != required:
        raise UsageError(
            f"out: {path} already exists, certified at a rate of {stated:g}, not {required:g}: give another name"
        )
    return there


def _certified(work: Path, header: Header, lines: list[Line], required: float) -> list[Certificate]:
    """How the expert did. An episode that the world could not carry through is not solved."""
    cells: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for arm, scenario in lines:
        cells[scenario.task, arm][scenario.id] = False
    columns = ["task", "task_version", "arm", "scenario", "success", "blame", "wall_started"]
    rows = sorted(read(work).select(columns).to_pylist(), key=lambda row: row["wall_started"])
    lost = 0
    for row in rows:  # an expert that was changed meanwhile has later rows too, which count
        cell = cells.get((row["task"], row["arm"]), {})
        if row["scenario"] in cell and row["task_version"] == header.tasks[row["task"]]:
            cell[row["scenario"]] = bool(row["success"])
            lost += row["blame"] == "machine"
    if lost:
        raise ForetellError(
            f"certificate: {counted(lost, 'episode was', 'episodes were')} lost by the machine; run the "
            f"same command again"
        )
    return [
        certificate(task, arm, sum(solved.values()), len(solved), required) for (task, arm), solved in cells.items()
    ]


def _shown(path: Path, notes: tuple[str, ...] = ()) -> TestSet:
    file, header = read_testset(path)
    return TestSet(path, header, len({(scenario.task, arm) for arm, scenario in file.lines}), notes)
