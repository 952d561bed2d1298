"""What was drawn when a study was planned, kept in its run folder, so that resuming it draws nothing again.

    drawn.parquet: inputs, task, arm, scenario, unit

Drawing takes 0.1 ms a scenario, which adds up where there are many. The file has their names only. It counts if it was
made from the same inputs: what the study says of tasks, arms and scenarios, every source file of foretell, and the
versions that draws depend on. A sample is drawn anew besides. Tasks, robots and factors of one's own can depend on
anything, so with these everything is drawn anew. So is every scenario that has an episode to run: the file never tells
what is run, only what need not be.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

from foretell.digest import digest
from foretell.episodes.columns import cells, grouped, listed
from foretell.episodes.parts import DamagedError, read_table
from foretell.errors import ForetellError
from foretell.factors import arms, factor
from foretell.fingerprint.source import own_classes
from foretell.objects import ASSETS
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.study.config import Study
from foretell.study.patience import Patience
from foretell.study.plan import Perturbed, make_task, perturb_scenarios, resolve_scenarios
from foretell.study.scenarios import Scenarios

__all__ = ["FILE", "Drawn", "draw"]

FILE = "drawn.parquet"
MANY = 2000
"""Scenarios under all arms from which on the names are kept: fewer are drawn as fast as the file is checked."""
SOURCES = Path(__file__).resolve().parents[1]
"""The folder of all of foretell's source files."""
SAMPLE = 32
"""Scenarios of each task and arm that are drawn anew to check the file."""
_TEXT = pa.string()
SCHEMA = pa.schema({"inputs": _TEXT, "task": _TEXT, "arm": _TEXT, "scenario": _TEXT, "unit": _TEXT})
_FEW = ("inputs", "task", "arm")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The scenarios of a study."""

    clean: dict[str, Scenarios]
    """Task entry -> its scenarios without arms."""
    perturbed: Perturbed
    design: str
    recalled: bool
    """Whether the names are those of the file."""
    inputs: str | None
    """Names what they were drawn from; None where it is not kept."""

    @property
    def names(self) -> Iterator[str]:
        for _, _, under in self._parts():
            yield from under.names

    def table(self) -> pa.Table:
        """What `FILE` is to hold."""
        tables = [SCHEMA.empty_table()]
        for use, arm, under in self._parts():
            # most are their own unit, and a name is there once
            units = [None if unit == name else unit for unit, name in zip(under.units, under.names, strict=True)]
            few = [pa.array([text] * len(under), _TEXT) for text in (self.inputs, use, arm)]
            tables.append(pa.table([*few, pa.array(list(under.names), _TEXT), pa.array(units, _TEXT)], schema=SCHEMA))
        return pa.concat_tables(tables).combine_chunks()

    def _parts(self) -> Iterator[tuple[str, str, Scenarios]]:
        return ((use, arm, under) for use, by_arm in self.perturbed.items() for arm, under in by_arm.items())


def draw(study: Study, run: Path, notify: Callable[[str], None] = lambda text: None) -> Drawn:
    """The scenarios of a study under its arms, all of them named: from the run folder if that has them, else anew."""
    clean, design = resolve_scenarios(study)
    perturbed = perturb_scenarios(study, clean)
    many = sum(len(under) for by_arm in perturbed.values() for under in by_arm.values()) >= MANY
    inputs = _inputs(study) if many else None
    recalled = _recall(run / FILE, inputs, perturbed) if inputs is not None else None
    if recalled is not None:
        return Drawn(clean=clean, perturbed=recalled, design=design, recalled=True, inputs=inputs)
    patience = Patience(notify)
    for use, by_arm in perturbed.items():
        for arm, under in by_arm.items():
            for scenario in patience.over(under, f"drawing scenarios of {use}, arm {arm}"):
                _ = scenario.id
    return Drawn(clean=clean, perturbed=perturbed, design=design, recalled=False, inputs=inputs)


def _recall(path: Path, inputs: str, fresh: Perturbed) -> Perturbed | None:
    """The scenarios by the names in the file; None where the file is of something else, or damaged."""
    try:
        table = read_table(path, encode=_FEW)
        texts = listed(table["scenario"]), cells(table["unit"])
        group, keys = grouped([table[column] for column in _FEW])
    except (OSError, DamagedError, ForetellError, KeyError, ValueError, pa.ArrowException):
        return None
    if keys != [(inputs, use, arm) for use, by_arm in fresh.items() for arm in by_arm]:
        return None
    names, units = (np.array(column, dtype=object) for column in texts)
    units = np.where(units == None, names, units)  # noqa: E711 - cell by cell
    recalled: Perturbed = {use: {} for use in fresh}
    for number, (_, use, arm) in enumerate(keys):
        mine, under = group == number, fresh[use][arm]
        kept = names[mine].tolist()
        if len(kept) != len(under) or not all(kept[i] == under[i].id for i in _sample(len(under))):
            return None
        recalled[use][arm] = Scenarios(
            len(under), make=_checked(under, kept), names=kept, units=units[mine].tolist(), clean=under.clean
        )
    return recalled


def _checked(under: Scenarios, names: list[str]) -> Callable[[int], Scenario]:
    def make(index: int) -> Scenario:
        if under[index].id != names[index]:
            raise ForetellError(f"scenario {names[index]} differs from the one drawn now: delete {FILE} and run again")
        return under[index]

    return make


def _sample(count: int) -> list[int]:
    """The first, the last, and some between."""
    return sorted(set(np.linspace(0, count - 1, min(SAMPLE, count)).astype(int).tolist()))


def _inputs(study: Study) -> str | None:
    """Names all that decides what a study draws; None where that cannot be told."""
    source = study.scenarios
    if (source.file, source.like, source.objects, source.select) != (None, None, None, None):
        return None
    tasks = {entry.use: make_task(entry.use) for entry in study.tasks}
    robots = [resolve("robots", mount.robot) for task in tasks.values() for mount in task.robots.values()]
    used = [factor(u.factor) for task in tasks.values() for arm in arms.expand(study.arms, task) for u in arm.uses]
    things = [*tasks.values(), *robots, *used]
    if any(own_classes(thing if isinstance(thing, type) else type(thing)) for thing in things):
        return None
    fields = study.model_dump(mode="json", include={"scenarios", "arms", "until"})
    named = [[use, task.name, task.version] for use, task in tasks.items()]
    assets = [[asset.name, asset.mass, asset.rest] for asset in ASSETS.values()]
    versions = [platform.python_version(), platform.machine(), *map(version, ("numpy", "pydantic"))]
    return digest([_code(), fields, named, assets, versions]) if _code() else None


@cache
def _code() -> str:
    """SHA-256 of foretell's source files; empty where they cannot be read."""
    whole, files = hashlib.sha256(), sorted(SOURCES.rglob("*.py"))
    for file in files:
        text = file.read_bytes()
        whole.update(f"{file.relative_to(SOURCES)} {len(text)}\0".encode() + text)
    return whole.hexdigest() if files else ""
