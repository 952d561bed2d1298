"""The run folders that a report is about, read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.answers.inputs import PROTOCOL
from foretell.document import load_yaml
from foretell.episodes.blind import mask_of
from foretell.episodes.cells import Cell, cells_of, still_to_come
from foretell.episodes.columns import grouped, spread
from foretell.episodes.names import Name, names_of
from foretell.episodes.planned import CELL, is_retired, plan_table
from foretell.episodes.provenance import read_provenance
from foretell.episodes.read import read_columns
from foretell.episodes.reality import is_real, stands_in
from foretell.errors import UsageError

__all__ = ["OneRun", "Runs", "place"]

COLUMNS = (
    "episode", "study", "world", "world_hash", "world_params", "controller", "task", "task_version", "task_hash",
    "policy", "policy_hash", "policy_options", "scenario", "parent", "base", "trial", "arm", "severity", "clock",
    "success_any", "success_end", "success", "success_rule", "score", "stages", "metrics", "steps", "sim_s", "end",
    "blame", "error", "failure_reason", "events", "judge", "real", "stands_in", "video", "wall_started", "wall_s",
)  # fmt: skip
"""What a report reads of a row."""
Kinds = Mapping[str, tuple[type, ...]]
STUDY: Kinds = {"name": (str,), "tasks": (list,), "policies": (dict, list), "scenarios": (dict,)}
PROVENANCE: Kinds = {"study": (str,), "machine": (dict,), "versions": (dict,), "command": (list,), "imported": (dict,)}
"""Kinds of what a report reads of `study.yaml` and `provenance.json`."""


@dataclass(frozen=True, kw_only=True)
class OneRun:
    """A run folder: its episodes, its study and where they came from."""

    path: Path
    name: str
    """The folder's name; unlike that of every other run of the report."""
    table: pa.Table
    study: dict[str, Any]
    """`study.yaml` as resolved; empty where there is none."""
    provenance: dict[str, Any]

    def counts(self, *columns: str) -> list[dict[str, Any]]:
        """The combinations of values that these columns have, by first row, each with the `count` of its rows."""
        group, names = grouped([self.table[c] for c in columns])
        numbers = np.bincount(group, minlength=len(names)).tolist()
        return [{**dict(zip(columns, n, strict=True)), "count": c} for n, c in zip(names, numbers, strict=True)]

    def values(self, column: str) -> list[Any]:
        """The values that a column has, by first row."""
        return [row[column] for row in self.counts(column)]

    @cached_property
    def cells(self) -> tuple[np.ndarray, list[Cell]]:
        """Row -> an index into the cells."""
        return cells_of(self.table)

    @cached_property
    def clocks(self) -> pa.ChunkedArray:
        """The clock's name, row by row."""
        group, known = self.cells
        return spread([name.clock for name in names_of(known)], group)

    @cached_property
    def protocols(self) -> tuple[np.ndarray, list[dict[str, Any]]]:
        """Row -> an index into the second, which has judge, task and the columns of `PROTOCOL`."""
        columns = ("judge", "task", *PROTOCOL)
        group, names = grouped([self.table[c] for c in columns])
        return group, [dict(zip(columns, name, strict=True)) for name in names]

    @cached_property
    def plan(self) -> pa.Table:
        """What was planned, in order."""
        return plan_table(self.path)

    @cached_property
    def active(self) -> pa.Table:
        """What of it was not given up."""
        return self.plan.filter(pa.array(~is_retired(self.plan)))

    @cached_property
    def to_come(self) -> pa.Table:
        """What of it is still to come."""
        return self.plan.filter(pa.array(still_to_come(self.plan, self.table["episode"])))

    @cached_property
    def masked(self) -> bool:
        """Whether its policies go by codes."""
        return mask_of(self.path, self.provenance) is not None

    @cached_property
    def worlds(self) -> set[str]:
        return set(self.values("world"))

    @cached_property
    def real(self) -> bool:
        """Whether its episodes stand for reality: a robot's, imported trials or those of a stand-in."""
        person = self.values("judge") == ["person"]
        worlds = [
            is_real(row["world"], row["real"], person) or stands_in(row["world"], row["stands_in"])
            for row in self.counts("world", "real", "stands_in")
        ]
        return bool(worlds) and all(worlds)

    @cached_property
    def stands_in(self) -> bool:
        """Whether some of its episodes are of a simulated world that plays reality."""
        return any(stands_in(row["world"], row["stands_in"]) for row in self.counts("world", "stands_in"))


@dataclass(frozen=True)
class Runs:
    """All runs of one report."""

    each: Sequence[OneRun]

    @classmethod
    def open(cls, paths: Sequence[Path | str]) -> Runs:
        """Raises UsageError for a folder that is no run, and for the same one twice."""
        opened: list[OneRun] = []
        seen: set[Path] = set()
        for path in map(Path, paths):
            if path.resolve() in seen:
                raise UsageError(f"run {str(path)!r} is given twice")
            seen.add(path.resolve())
            name = path.resolve().name
            while name in {run.name for run in opened}:
                name += "'"
            about = _shaped(read_provenance(path), PROVENANCE)
            if (mask := mask_of(path, about)) is not None and isinstance(about.get("until"), dict):
                about["until"] = mask.until(about["until"])
            opened.append(
                OneRun(path=path, name=name, table=read_columns(path, COLUMNS), study=_study(path), provenance=about)
            )
        if not opened:
            raise UsageError("give at least one run folder")
        return cls(opened)

    @cached_property
    def policies(self) -> list[str]:
        """Policies that ran, in the order of the studies. Policies of imported trials come after."""
        listed = [name for run in self.each for name in run.study.get("policies") or ()]
        return _listed(listed, [name for run in self.each for name in run.values("policy")])

    @cached_property
    def tasks(self) -> list[str]:
        """Tasks that ran, in the order of `policies`."""
        entries = [entry for run in self.each for entry in run.study.get("tasks") or ()]
        listed = [entry.get("use") if isinstance(entry, dict) else entry for entry in entries]
        return _listed(listed, [name for run in self.each for name in run.values("task")])

    @cached_property
    def protocols(self) -> dict[tuple[str, str], dict[str, set[str]]]:
        """Task and column of `PROTOCOL` -> its values -> runs that have them. What a person judged has its own rules,
        and is left out."""
        values: dict[tuple[str, str], dict[str, set[str]]] = {}
        for run in self.each:
            for row in run.protocols[1]:
                for column in PROTOCOL if row["judge"] != "person" else ():
                    values.setdefault((row["task"], column), {}).setdefault(str(row[column]), set()).add(run.name)
        return values

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of all runs."""
        return [cell for run in self.each for cell in run.cells[1]]

    def names(self, run: OneRun) -> list[Name]:
        """The names of a run's cells."""
        return names_of(run.cells[1], self.cells)

    def named(self, run: OneRun) -> pa.Table:
        """The run's rows, with world, task, policy and clock by the names of the page: two versions are never one."""
        group, _ = run.cells
        names = self.names(run)
        columns = {
            "world": spread([name.world for name in names], group),
            "task": self.tasks_of(run),
            "policy": spread([name.policy for name in names], group),
            "clock": run.clocks,
        }
        table = run.table
        for column, values in columns.items():
            table = table.set_column(table.column_names.index(column), column, values)
        return table

    @cached_property
    def world_of(self) -> dict[tuple[str, str], str]:
        """World and hash of its parameters -> its name in all tables."""
        named = zip(self.cells, names_of(self.cells), strict=True)
        return {(cell.world, cell.world_hash): name.world for cell, name in named}

    @cached_property
    def task_of(self) -> dict[tuple[str, str, str, str], str]:
        """Task, version, hash of its file, and controller -> its name in all tables."""
        named = zip(self.cells, names_of(self.cells), strict=True)
        return {(cell.task, cell.task_version, cell.task_hash, cell.controller): name.task for cell, name in named}

    def tasks_of(self, run: OneRun) -> pa.ChunkedArray:
        """The task, row by row. One that ran by several protocols is several: its name has the hash of its version,
        and in brackets what else is its own."""
        return spread([name for _, name in self._named(run)], run.protocols[0])

    def _named(self, run: OneRun) -> list[tuple[str, str]]:
        """The task's name under each of the run's protocols: as all tables have it, and as the page has it."""
        named = []
        for row in run.protocols[1]:
            cell = Cell.of(row)
            name = self.task_of[cell.task, cell.task_version, cell.task_hash, cell.controller]
            own = [
                f"{PROTOCOL[column]} {row[column]}"
                for column in PROTOCOL
                if column not in CELL and row["judge"] != "person" and len(self.protocols[row["task"], column]) > 1
            ]
            named.append((name, f"{name} ({', '.join(own)})" if own else name))
        return named

    def task_names(self, run: OneRun) -> dict[str, str]:
        """Name of a task in all tables -> what the page calls the run's rows of it, where that is one name."""
        called: dict[str, set[str]] = defaultdict(set)
        for task, name in self._named(run):
            called[task].add(name)
        return {task: min(names) if len(names) == 1 else task for task, names in called.items()}

    @property
    def real(self) -> list[OneRun]:
        return [run for run in self.each if run.real]

    @property
    def sim(self) -> list[OneRun]:
        return [run for run in self.each if not run.real]


def place(name: str, names: Sequence[str]) -> int:
    """Where a study lists a policy or a task. A hash or a protocol in its name does not matter."""
    short = name.partition(" (")[0]
    forms = (name, name.rpartition("#")[0], short, short.rpartition("#")[0])
    return next((names.index(form) for form in forms if form in names), len(names))


def _shaped(contents: Any, kinds: Kinds) -> dict[str, Any]:
    """Without what is not of the kind that it should be: a run folder may be damaged, or come from someone else."""
    if not isinstance(contents, dict):
        return {}
    return {key: value for key, value in contents.items() if isinstance(value, kinds.get(str(key), object))}


def _listed(first: Sequence[Any], others: Sequence[str]) -> list[str]:
    there = dict.fromkeys(others)
    return [*(name for name in dict.fromkeys(map(str, first)) if name in there), *(n for n in there if n not in first)]


def _study(run: Path) -> dict[str, Any]:
    try:
        contents = load_yaml(run / "study.yaml", follow=False)
    except UsageError:
        return {}
    mask = mask_of(run)
    return _shaped(contents if mask is None or not isinstance(contents, dict) else mask.study(contents), STUDY)
