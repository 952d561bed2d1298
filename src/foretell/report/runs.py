"""The run folders that a report is about, read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from foretell.answers.inputs import PROTOCOL
from foretell.clock import label
from foretell.document import load_yaml
from foretell.errors import UsageError
from foretell.study.provenance import read_provenance
from foretell.study.store import read, read_plan

__all__ = ["OneRun", "Runs"]

STUDY = {"name": (str,), "tasks": (list,), "policies": (dict, list), "scenarios": (dict,)}
PROVENANCE = {"study": (str,), "machine": (dict,), "versions": (dict,), "command": (list,), "imported": (dict,)}
"""Kinds of what a report reads of `study.yaml` and `provenance.json`."""
REAL = ("standin", "robot", "real")
"""Worlds that stand for reality."""


@dataclass(frozen=True)
class OneRun:
    """A run folder: its episodes, its study and where they came from."""

    path: Path
    name: str
    """The folder's name; unlike that of every other run of the report."""
    table: pa.Table
    study: dict[str, Any]
    """`study.yaml` as resolved; empty where there is none."""
    provenance: dict[str, Any]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return self.table.to_pylist()

    @cached_property
    def clocks(self) -> list[str]:
        """The clock's short name, row by row."""
        texts = self.table["clock"].to_pylist()
        names = {text: label(text) for text in set(texts)}
        return [names[text] for text in texts]

    @cached_property
    def protocols(self) -> list[tuple[str, ...]]:
        """Judge, task and the columns of `PROTOCOL`, row by row."""
        columns = (map(str, self.table[c].to_pylist()) for c in ("judge", "task", *PROTOCOL))
        return list(zip(*columns, strict=True))

    @cached_property
    def plan(self) -> list[dict[str, str]]:
        """What was planned, in order."""
        return read_plan(self.path)

    @property
    def worlds(self) -> set[str]:
        return set(self.table["world"].to_pylist())

    @property
    def real(self) -> bool:
        """Whether its episodes stand for reality: a robot's, imported trials or the stand-in's."""
        judges = set(self.table["judge"].to_pylist())
        return bool(self.worlds) and (self.worlds <= set(REAL) or judges == {"person"})


@dataclass(frozen=True)
class Runs:
    """All runs of one report."""

    each: Sequence[OneRun]

    @classmethod
    def open(cls, paths: Sequence[Path | str]) -> Runs:
        """Raises UsageError for a folder that is no run, and for the same one twice."""
        found, seen = [], set()
        for path in map(Path, paths):
            if path.resolve() in seen:
                raise UsageError(f"run {str(path)!r} is given twice")
            seen.add(path.resolve())
            name = path.resolve().name
            while name in {run.name for run in found}:
                name += "'"
            about = _shaped(read_provenance(path), PROVENANCE)
            found.append(OneRun(path, name, read(path), _study(path), about))
        if not found:
            raise UsageError("give at least one run folder")
        return cls(found)

    @cached_property
    def policies(self) -> list[str]:
        """Those that ran, as the studies list them; those not listed, as imported trials are, come after."""
        listed = [name for run in self.each for name in run.study.get("policies") or ()]
        return _listed(listed, [name for run in self.each for name in run.table["policy"].to_pylist()])

    @cached_property
    def tasks(self) -> list[str]:
        """As `policies`."""
        entries = [entry for run in self.each for entry in run.study.get("tasks") or ()]
        listed = [entry.get("use") if isinstance(entry, dict) else entry for entry in entries]
        return _listed(listed, [name for run in self.each for name in run.table["task"].to_pylist()])

    @cached_property
    def protocols(self) -> dict[tuple[str, str], dict[str, set[str]]]:
        """Task and column of `PROTOCOL` -> its values -> runs that have them. What a person judged has its own rules,
        and is left out."""
        found: dict[tuple[str, str], dict[str, set[str]]] = {}
        for run in self.each:
            for judge, task, *values in set(run.protocols):
                for column, value in zip(PROTOCOL, values, strict=True):
                    if judge != "person":
                        found.setdefault((task, column), {}).setdefault(value, set()).add(run.name)
        return found

    def tasks_of(self, run: OneRun) -> list[str]:
        """The task, row by row. One that ran by several protocols is several: each is named with what is its own."""
        known = {}
        for row in set(run.protocols):
            judge, task, *values = row
            own = [
                f"{PROTOCOL[column]} {value}"
                for column, value in zip(PROTOCOL, values, strict=True)
                if judge != "person" and len(self.protocols[task, column]) > 1
            ]
            known[row] = f"{task} ({', '.join(own)})" if own else task
        return [known[row] for row in run.protocols]

    def task_names(self, run: OneRun) -> dict[str, str]:
        """Task -> what the run's rows of it are called, where that is one name."""
        found: dict[str, set[str]] = defaultdict(set)
        for task, name in zip(run.table["task"].to_pylist(), self.tasks_of(run), strict=True):
            found[task].add(name)
        return {task: min(names) if len(names) == 1 else task for task, names in found.items()}

    @property
    def real(self) -> list[OneRun]:
        return [run for run in self.each if run.real]

    @property
    def sim(self) -> list[OneRun]:
        return [run for run in self.each if not run.real]


def _shaped(found: Any, kinds: dict[str, tuple[type, ...]]) -> dict[str, Any]:
    """Without what is not of the kind that it should be: a run folder may be damaged, or come from someone else."""
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, kinds.get(str(key), object))}


def _listed(first: Sequence[Any], found: Sequence[str]) -> list[str]:
    there = dict.fromkeys(found)
    return [*(name for name in dict.fromkeys(map(str, first)) if name in there), *(n for n in there if n not in first)]


def _study(run: Path) -> dict[str, Any]:
    try:
        found = load_yaml(run / "study.yaml", follow=False)
    except UsageError:
        return {}
    return _shaped(found, STUDY)
