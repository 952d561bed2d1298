"""The values of θ that are tried: fields of a world file, each with a range or with choices.

A point is a mapping of fields to values. The empty point is the world as it is.
"""

from __future__ import annotations

import copy
import itertools
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.study.plan import make_task
from foretell.tune.config import Values
from foretell.world_file import FITTED, WorldFile, attended, file_of, kind_of, world_class

__all__ = ["Point", "SearchSpace", "Tunable"]

Point = Mapping[str, Any]
MOST = 10_000
"""Cells of a grid."""
FIXED = ("name", "kind", "about", *FITTED, "physics")
"""Fields of a world file that are no θ."""


@dataclass(frozen=True, kw_only=True)
class Tunable:
    """One number or choice."""

    name: str
    """Path into the world file, such as theta.kp_scale."""
    kind: Literal["float", "int", "choice"]
    values: Values
    start: Any
    """As the world has it; None where it says nothing."""

    def levels(self) -> list[Any]:
        """Values of a grid."""
        v = self.values
        if self.kind == "choice":
            return list(v.choices)
        assert v.low is not None and v.high is not None
        space = np.geomspace if v.log else np.linspace
        return list(dict.fromkeys(self.at(share) for share in np.linspace(0, 1, v.steps))) if self.kind == "int" else [
            *map(float, space(v.low, v.high, v.steps).round(12))
        ]  # fmt: skip

    def at(self, share: float) -> float | int:
        """The value at a share of the range, from 0 to 1."""
        low, high = self.values.low, self.values.high
        assert low is not None and high is not None
        value = low * (high / low) ** share if self.values.log else low + share * (high - low)
        value = min(max(value, low), high)
        return round(value) if self.kind == "int" else float(value)

    def share(self, value: float) -> float:
        """The inverse of `at`, within 0 and 1."""
        low, high = self.values.low, self.values.high
        assert low is not None and high is not None
        value = min(max(value, low), high)
        return math.log(value / low) / math.log(high / low) if self.values.log else (value - low) / (high - low)

    def at_end(self, value: Any) -> bool:
        """Whether a value is an end of the range."""
        return self.kind != "choice" and value in (self.values.low, self.values.high)


class SearchSpace:
    """The parameters, and the world that each point of them makes."""

    def __init__(self, world: Any, entries: Mapping[str, Values], tasks: Iterable[str] = ()):
        """world: the `world` of a study. tasks: those of the study, whose robots may have numbers of their own."""
        if attended(world):
            raise UsageError(
                f"world: {kind_of(world)!r:.100} is reality, which has no θ to tune; name a simulated world"
            )
        file = file_of(world)
        if file is None:
            raise UsageError(f"world: {kind_of(world)!r:.100} has no file (its class has no `File`), so it has no θ")
        where, colon, name = kind_of(world).rpartition(":")
        self.file = file
        self.kind = f"{Path(where).resolve() if where.endswith('.py') else where}{colon}{name}"
        self._folder = Path(str(world.get("folder", "."))) if isinstance(world, Mapping) else Path(str(world)).parent
        self._contents = self._written(file)
        whole = file.model_dump(mode="json")
        robots = {mount.robot for task in tasks for mount in getattr(make_task(task), "robots", {}).values()}
        self.parameters = tuple(self._parameter(name, values, whole, robots) for name, values in entries.items())
        if twice := [p.name for p in self.parameters if [q.name for q in self.parameters].count(p.name) > 1]:
            raise UsageError(f"tune: space: {twice[0]} is listed twice")

    def _written(self, file: WorldFile) -> dict[str, Any]:
        """A world as a mapping that any study can hold, wherever it runs."""
        contents = file.model_dump(mode="json", exclude_defaults=True, exclude={"about"})
        if "transforms" in contents:
            contents["transforms"] = _anchored(contents["transforms"], self._folder)
        return {**contents, "name": file.name, "kind": self.kind}

    def _parameter(self, name: str, values: Values, whole: Mapping[str, Any], robots: set[str]) -> Tunable:
        parts = name.split(".")
        if parts[0] not in whole and "theta" in whole:
            parts = ["theta", *parts]
        path = ".".join(parts)
        if parts[0] in FIXED:
            raise UsageError(f"tune: space: {path} is no θ; name a field of theta, such as {_some(whole)}")
        if parts[:2] == ["theta", "robots"] and len(parts) > 2 and robots and parts[2] not in robots:
            raise UsageError(
                f"tune: space: {path}: the study has no robot {parts[2]!r:.80}; {suggest(parts[2], robots)}"
            )
        start = _get(whole, parts)
        kind: Literal["float", "int", "choice"] = "float"
        if values.choices or isinstance(start, bool | str):
            kind = "choice"
        elif isinstance(start, int):
            kind = "int"
        if kind == "choice" and not values.choices:
            raise UsageError(f"tune: space: {path} is {start!r:.80}, which has no range: give a list of choices")
        made = Tunable(name=path, kind=kind, values=values, start=start)
        if kind == "int" and not all(float(end or 0).is_integer() for end in (values.low, values.high)):
            raise UsageError(f"tune: space: {path} is a whole number; its range is {values.low:g} to {values.high:g}")
        for value in made.values.choices or (made.at(0.0), made.at(1.0)):
            try:
                self.world({path: value})
            except UsageError as error:
                raise UsageError(f"tune: space: {str(error).removeprefix('world: ')}") from None
        return made

    def world(self, point: Point) -> WorldFile:
        """The world file of a point. Raises UsageError where the world does not take its values."""
        contents = copy.deepcopy(self._contents)
        for name, value in point.items():
            _set(contents, name.split("."), value)
        made: WorldFile = world_class(self.kind).File.load(contents)
        return made

    def contents(self, point: Point) -> dict[str, Any]:
        """The world of a point, as a study names it. Equal worlds have equal contents."""
        return self._written(self.world(point))

    def grid(self) -> list[Point]:
        """Every combination."""
        levels = [parameter.levels() for parameter in self.parameters]
        if (cells := math.prod(map(len, levels))) > MOST:
            raise UsageError(
                f"tune: way: the grid has {cells:,} cells, more than {MOST:,}: lower `steps`, or search with way tpe"
            )
        names = [parameter.name for parameter in self.parameters]
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*levels)]


def _some(whole: Mapping[str, Any]) -> str:
    theta = whole.get("theta")
    known = [f"theta.{name}" for name in theta] if isinstance(theta, Mapping) else [n for n in whole if n not in FIXED]
    return ", ".join(known[:3]) or "none, because this world has no θ"


def _get(contents: Any, parts: list[str]) -> Any:
    for part in parts:
        if isinstance(contents, Mapping):
            contents = contents.get(part)
        elif isinstance(contents, list | tuple) and part.isdecimal() and int(part) < len(contents):
            contents = contents[int(part)]
        else:
            return None
    return contents


def _set(contents: dict[str, Any], parts: list[str], value: Any) -> None:
    place: Any = contents
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if isinstance(place, list):
            if not part.isdecimal() or int(part) >= len(place):
                raise UsageError(f"{'.'.join(parts)}: there is no entry {part}; the world has {len(place)}, from 0 on")
            key: Any = int(part)
        elif isinstance(place, dict):
            key = part
            if not last:
                place.setdefault(part, {})
        else:
            raise UsageError(f"{'.'.join(parts)}: {parts[i - 1]} has no fields")
        if last:
            place[key] = value
        else:
            place = place[key]


def _anchored(value: Any, folder: Path) -> Any:
    """With files beside the world file named by their absolute paths."""
    if isinstance(value, dict):
        return {key: _anchored(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_anchored(item, folder) for item in value]
    there = isinstance(value, str) and os.path.isfile(folder / value)
    return str((folder / value).resolve()) if there else value
