"""The common ground of a leaderboard: the test set that every policy has run, cell by cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import pyarrow as pa

from foretell.counting import counted
from foretell.episodes.columns import grouped
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.registry import names
from foretell.study.scenario_file import Certificate, Header, identify
from foretell.testset.certificate import read_testset

__all__ = ["CLEAN", "Ground", "TaskArm", "common_ground", "factor_of"]

CLEAN = "none"
TaskArm = tuple[str, str]
"""A cell of a test set: task and arm."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A test set as it is judged by. `columns` pairs episodes: place i of every cell of a task is the same scenario."""

    source: str
    """The run or file it was read from."""
    id: str
    versions: dict[str, int]
    """Task -> its version."""
    columns: dict[TaskArm, tuple[str, ...]]
    """Cell -> scenario ids."""
    header: Header | None = None

    @property
    def n(self) -> int:
        """Scenarios of each cell."""
        return len(next(iter(self.columns.values())))

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(task for task, _ in self.columns))

    @property
    def arms(self) -> list[str]:
        """The clean control, single factors in the catalogue's order, then arms of several."""
        known = names("factors")
        listed = dict.fromkeys(arm for _, arm in self.columns)
        return sorted(listed, key=lambda arm: (arm != CLEAN, known.index(f) if (f := factor_of(arm)) else len(known)))

    @cached_property
    def certificates(self) -> dict[TaskArm, Certificate]:
        return {(c.task, c.arm): c for c in self.header.certificates} if self.header else {}

    def counts(self, cell: TaskArm) -> bool:
        """Whether a cell may be charged to a policy: it is certified, or nothing is known of any."""
        certificates = self.certificates
        return not certificates or (cell in certificates and certificates[cell].certified)

    def of(self, arm: str) -> list[str]:
        """Tasks on which an arm counts."""
        return [task for task in self.tasks if (task, arm) in self.columns and self.counts((task, arm))]

    def spared(self, arm: str) -> list[str]:
        """Tasks on which an arm is run and shown, but not charged."""
        counted = self.of(arm)
        return [task for task in self.tasks if (task, arm) in self.columns and task not in counted]

    def label(self) -> str:
        """The test set in a few words, for messages."""
        name = f"{self.header.name!r}, " if self.header else ""
        return (
            f"test set {name}id {self.id} ({', '.join(self.tasks)}; {counted(len(self.arms), 'arm')}; "
            f"{counted(self.n, 'episode')})"
        )


def factor_of(arm: str) -> str | None:
    """The one factor of an arm; None for the control and for several together."""
    name = arm.partition("@")[0].partition("[")[0].partition("{")[0]
    return name if "+" not in arm and name in _factors() else None


@cache
def _factors() -> frozenset[str]:
    return frozenset(names("factors"))  # looks through every installed package


def common_ground(runs: list[tuple[Path, pa.Table]], testset: Path | None) -> Ground:
    """What all runs (folder and rows) stand on. Raises UsageError where they do not stand on the same."""
    grounds = [_of_file(testset)] if testset is not None else []
    for path, rows in runs:
        own = path / "testset.jsonl"
        grounds.append(_of_file(own, str(path)) if own.is_file() else _of_rows(path, rows))
    first = grounds[0]
    for other in grounds[1:]:
        if other.id != first.id:
            raise UsageError(
                "policies can be ranked on one test set only, and these are two:\n"
                f"  {first.source} is {first.label()}\n  {other.source} is {other.label()}"
            )
    if testset is not None:
        return first
    certified = [g for g in grounds if g.certificates]
    for other in certified[1:]:
        if other.certificates != certified[0].certificates:
            raise UsageError(
                f"{certified[0].source} and {other.source} ran the same scenarios, but of files that are certified "
                "differently: choose one with --testset"
            )
    return replace(certified[0], source=first.source) if certified else first


def _of_file(path: Path, source: str | None = None) -> Ground:
    file, header = read_testset(path)
    lines = ((s.task, arm, s.base, s.id) for arm, s in file.lines)
    source = source or str(path)
    return Ground(
        source=source, id=header.id, versions=dict(header.tasks), columns=_columns(lines, source), header=header
    )


def _of_rows(run: Path, rows: pa.Table) -> Ground:
    """What a run without a test set file has in effect run: the arms and scenarios of its rows."""
    at = {s.id: i for i, s in enumerate(read_scenarios(run))}
    versions: dict[str, int] = {}
    lines = {}
    for task, version, arm, base, own in grouped(
        [rows[c] for c in ("task", "task_version", "arm", "base", "scenario")]
    )[1]:
        if versions.setdefault(task, version) != version:
            raise UsageError(f"{run} has episodes of two versions of task {task!r}: run the study again")
        lines[task, arm, base, own] = at.get(own, len(at))
    ordered = sorted(lines, key=lambda line: lines[line])
    return Ground(
        source=str(run),
        id=identify(versions, ((t, a, s) for t, a, _, s in ordered)),
        versions=versions,
        columns=_columns(ordered, str(run)),
    )


def _columns(lines: Iterable[tuple[str, str, str, str]], source: str) -> dict[TaskArm, tuple[str, ...]]:
    """(task, arm, base, scenario id) -> the ids of each cell, in the order of the clean control's."""
    cells: dict[TaskArm, dict[str, str]] = defaultdict(dict)
    for task, arm, base, scenario in lines:
        if cells[task, arm].setdefault(base, scenario) != scenario:
            raise UsageError(f"{source}: arm {arm!r} of task {task!r} has scenario {base} under two sets of values")
    columns: dict[TaskArm, tuple[str, ...]] = {}
    tasks = dict.fromkeys(task for task, _ in cells)
    arms = dict.fromkeys([CLEAN, *(arm for _, arm in cells)])
    for task in tasks:
        clean = cells.get((task, CLEAN))
        if clean is None:
            raise UsageError(
                f"{source} has no episodes of task {task!r} under the arm none, its clean control: add `none` to `arms`"
            )
        for arm in (arm for arm in arms if (task, arm) in cells):
            if cells[task, arm].keys() != clean.keys():
                raise UsageError(
                    f"{source}: arm {arm!r} of task {task!r} has "
                    f"{counted(len(cells[task, arm]), 'scenario')}, its clean control "
                    f"{len(clean)}, and they do not pair: run the study to its end"
                )
            columns[task, arm] = tuple(cells[task, arm][base] for base in clean)
    sizes = {task: len(columns[task, CLEAN]) for task in tasks}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{task} {n}" for task, n in sizes.items())
        raise UsageError(
            f"{source} has different numbers of scenarios ({counts}): a test set has as many of every task"
        )
    return columns
