"""A room: where a mobile robot drives, as polygons seen from above. Pure data, in metres and radians."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.digest import digest
from foretell.document import load_json
from foretell.errors import UsageError
from foretell.files import SMALL, read_file
from foretell.registry import names, resolve
from foretell.rooms.polygon import area, crossing, inside, sides
from foretell.rooms.walls import Walls
from foretell.seeding import generator

__all__ = ["Room"]

FORMAT = "foretell-room-1"
TALLEST = 20.0
"""Metres. Higher is a wrong unit."""
WIDEST = 1000.0
"""Metres. Wider is a wrong unit."""
MOST_CORNERS = 20_000
FIELDS = ("name", "outline", "obstacles", "heights", "wall_height", "colours", "spots")


@dataclass(frozen=True, kw_only=True, eq=False)
class Room:
    """A floor with walls around it and obstacles on it."""

    name: str
    outline: Floats
    """(n, 2) the inside of the outer walls, counter-clockwise"""
    obstacles: tuple[Floats, ...] = ()
    """(k, 2) each, counter-clockwise: furniture, and inner walls with their thickness. They may overlap."""
    heights: tuple[float, ...] = ()
    """Of each obstacle, m"""
    wall_height: float = 2.5
    """Of the outer wall, m"""
    colours: tuple[str, ...] = ()
    """Of each obstacle, as "#rrggbb"; empty: the same for all"""
    spots: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Name -> x, y, yaw (0 looks along x, counter-clockwise), in the order in which they are visited"""
    file: str = ""
    """The file that it was read from, as it was named; empty for a room that comes with a package, or was made here"""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or len(self.name) > 200:
            raise UsageError(f"room: name should be a few words (given: {self.name!r:.100})")
        self._set("outline", self._polygon("outline", self.outline))
        obstacles = self._items("obstacles", self.obstacles)
        self._set("obstacles", tuple(self._polygon(f"obstacles[{i}]", each) for i, each in enumerate(obstacles)))
        if (corners := len(self.outline) + sum(map(len, self.obstacles))) > MOST_CORNERS:
            raise self.wrong("obstacles", f"the room should have at most {MOST_CORNERS} corners", corners)
        heights = self._items("heights", self.heights) or [1.0] * len(self.obstacles)
        if len(heights) != len(self.obstacles):
            raise self.wrong("heights", f"there should be {len(self.obstacles)}, one per obstacle", len(heights))
        self._set("heights", tuple(self._height(f"heights[{i}]", height) for i, height in enumerate(heights)))
        self._set("wall_height", self._height("wall_height", self.wall_height))
        self._set("colours", tuple(self._items("colours", self.colours)))
        if self.colours and len(self.colours) != len(self.obstacles):
            raise self.wrong("colours", f"there should be {len(self.obstacles)}, one per obstacle", len(self.colours))
        for i, colour in enumerate(self.colours):
            if not _is_colour(colour):
                raise self.wrong(f"colours[{i}]", 'should look like "#8899aa"', colour)
        self._check_obstacles()
        self._check_spots()

    @classmethod
    def named(cls, name: str) -> Room:
        """The room of a name: a built-in or a plug-in's (`lab_easy`, `apartment:7`), or a file (`kitchen.json`). With
        its digest (`kitchen.json@0123456789abcdef`) a file that was changed is refused."""
        file, at, wanted = name.rpartition("@")
        if name.endswith(".json") or (at and file.endswith(".json")):
            room = cls.load(file if at and file.endswith(".json") else name)
            if at and wanted != room.digest:
                raise UsageError(
                    f"room: {file} was changed: its digest is {room.digest} now, and {wanted:.40} is asked for. Run a "
                    "new study in it, or put the old file back"
                )
            return room
        kind, _, argument = name.partition(":")
        known = kind in names("rooms")
        make = resolve("rooms", kind if known else name)
        room = make(argument) if known and argument else make()
        if not isinstance(room, Room):
            raise UsageError(f"rooms: {name!r:.200} makes a {type(room).__name__}, it should make a Room")
        return room

    @classmethod
    def load(cls, path: str | Path) -> Room:
        """The room of a JSON file, as `save` and `foretell import-room` write it."""
        try:
            values = load_json(read_file(path, SMALL, follow=True))
        except OSError as error:
            raise UsageError(f"room: {path} cannot be read: {error.strerror or error}") from None
        except ValueError as error:
            raise UsageError(f"room: {path} is not a room: it is not valid JSON: {error}") from None
        try:
            room = cls.from_dict(values)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
        room._set("file", str(path))
        return room

    @classmethod
    def from_dict(cls, values: Any) -> Room:
        """The room of what `to_dict` gave."""
        if not isinstance(values, Mapping):
            raise UsageError(f"room: should be a mapping with name and outline (given: {values!r:.100})")
        if values.get("format", FORMAT) != FORMAT:
            raise UsageError(f"room: format should be {FORMAT!r} (given: {values['format']!r:.100})")
        for missing in (key for key in ("name", "outline") if key not in values):
            raise UsageError(f"room: {missing} is missing (given: {', '.join(map(str, values)) or 'nothing':.200})")
        for extra in (key for key in values if key not in (*FIELDS, "format")):
            raise UsageError(f"room: {extra!r:.100} is no field of a room; known: {', '.join(FIELDS)}")
        return cls(**{key: value for key, value in values.items() if key != "format"})

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {"format": FORMAT, "name": self.name, **self._geometry(), "spots": _lists(self.spots)}

    def save(self, path: str | Path) -> None:
        """Write the room to a JSON file."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    @cached_property
    def digest(self) -> str:
        """Names what a robot meets and sees: everything but the room's name and its spots."""
        return digest(self._geometry())

    @property
    def asset(self) -> str:
        """What a scenario calls it: its name, or file and digest, so that a changed file is another room."""
        return f"{self.file}@{self.digest}" if self.file else self.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Room):
            return NotImplemented
        return (self.name, self.digest, self.spots) == (other.name, other.digest, other.spots)

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    @cached_property
    def walls(self) -> Walls:
        """Every side of the outline and of every obstacle."""
        rings = [self.outline, *self.obstacles]
        counts = [len(ring) for ring in rings]
        return Walls(
            np.concatenate([sides(ring) for ring in rings]),
            np.repeat([self.wall_height, *self.heights], counts),
            np.repeat(np.arange(-1, len(rings) - 1), counts),
        )

    @property
    def segments(self) -> Floats:
        """(s, 4) x0 y0 x1 y1 of every wall, m"""
        return self.walls.segments

    @property
    def segment_heights(self) -> Floats:
        """(s,) m"""
        return self.walls.heights

    def damaged(self, share: float, seed: int = 0) -> Walls:
        """The walls as a poor reconstruction has them: in pieces of at most 0.25 m, of which `share` (of the length)
        are missing. With one seed, what is missing at a share is missing at every larger one too."""
        if not (math.isfinite(share) and 0 <= share <= 1):
            raise UsageError(f"damage: the share of walls that are missing should be from 0 to 1 (given: {share})")
        whole = self.walls.cut()
        order = generator(self.digest, seed, "damage").permutation(len(whole.segments))
        missing = np.cumsum(whole.lengths[order]) - whole.lengths[order] / 2 < share * whole.lengths.sum()
        kept = np.sort(order[~missing])
        return Walls(whole.segments[kept], whole.heights[kept], whole.owners[kept])

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """x from, y from, x to, y to of the outline, m"""
        (x0, y0), (x1, y1) = self.outline.min(axis=0).tolist(), self.outline.max(axis=0).tolist()
        return x0, y0, x1, y1

    def open(self, points: Floats) -> Bools:
        """(n,) whether points (n, 2) lie on the floor, outside of every obstacle."""
        points = np.asarray(points, dtype=float).reshape(-1, 2)
        result = inside(points, self.outline)
        for obstacle in self.obstacles:
            result &= ~inside(points, obstacle)
        return result

    def wrong(self, field: str, expected: str, given: Any) -> UsageError:
        """An error about a field of this room."""
        return UsageError(f"room {self.name!r:.100}: {field}: {expected} (given: {given!r:.100})")

    def _geometry(self) -> dict[str, Any]:
        return {
            "outline": self.outline.tolist(),
            "obstacles": [obstacle.tolist() for obstacle in self.obstacles],
            "heights": list(self.heights),
            "wall_height": self.wall_height,
            "colours": list(self.colours),
        }

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _items(self, name: str, value: Any) -> list[Any]:
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence | np.ndarray):
            raise self.wrong(name, "should be a list", value)
        return list(value)

    def _polygon(self, name: str, value: Any) -> Floats:
        try:
            corners = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise self.wrong(name, "should be a list of corners [x, y], in metres", value) from None
        if corners.ndim != 2 or corners.shape[1:] != (2,) or len(corners) < 3:
            raise self.wrong(name, "should be three corners [x, y] or more, in metres", value)
        if not np.isfinite(corners).all():
            raise self.wrong(name, "should be finite numbers", corners[~np.isfinite(corners).all(axis=1)][0].tolist())
        if len(corners) > MOST_CORNERS:
            raise self.wrong(name, f"should have at most {MOST_CORNERS} corners", len(corners))
        if (size := float(np.ptp(corners, axis=0).max())) > WIDEST:
            raise self.wrong(name, f"should be at most {WIDEST:g} m wide, in metres", size)
        corners = corners[(corners != np.roll(corners, 1, axis=0)).any(axis=1)]
        if len(corners) < 3 or np.linalg.svd(corners - corners.mean(axis=0), compute_uv=False)[-1] < 1e-6:
            raise self.wrong(name, "encloses nothing", value)
        if (at := crossing(corners)) is not None:
            raise self.wrong(name, "crosses or touches itself, at the side from this corner on", at.tolist())
        corners = np.ascontiguousarray(corners if area(corners) > 0 else corners[::-1])
        corners.flags.writeable = False
        return corners

    def _height(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value <= TALLEST:
            raise self.wrong(name, f"should be above 0 and at most {TALLEST:g} m", value)
        return float(value)

    def _check_obstacles(self) -> None:
        x0, y0, x1, y1 = self.bounds
        for i, corners in enumerate(self.obstacles):
            (low_x, low_y), (high_x, high_y) = corners.min(axis=0), corners.max(axis=0)
            apart = low_x >= x1 or high_x <= x0 or low_y >= y1 or high_y <= y0
            # an obstacle may reach into the outer wall, so its corners and the middles of its sides are asked for
            points = np.concatenate([corners, (corners + np.roll(corners, 1, axis=0)) / 2, corners.mean(axis=0)[None]])
            if apart or not (inside(points, self.outline).any() or inside(self.outline, corners).any()):
                raise self.wrong(f"obstacles[{i}]", "lies outside of the outline", corners.tolist())

    def _check_spots(self) -> None:
        if not isinstance(self.spots, Mapping):
            raise self.wrong("spots", "should be a mapping from names to [x, y, yaw]", self.spots)
        spots = dict[str, tuple[float, float, float]]()
        for name, value in self.spots.items():
            try:
                x, y, yaw = (float(v) for v in value)
            except (TypeError, ValueError):
                raise self.wrong(f"spots.{name}", "should be [x, y, yaw], in metres and radians", value) from None
            if not all(map(math.isfinite, (x, y, yaw))):
                raise self.wrong(f"spots.{name}", "should be finite numbers", value)
            if not inside(np.array([[x, y]]), self.outline)[0]:
                raise self.wrong(f"spots.{name}", "lies outside of the outline", [x, y])
            for i, obstacle in enumerate(self.obstacles):
                if inside(np.array([[x, y]]), obstacle)[0]:
                    raise self.wrong(f"spots.{name}", f"lies inside obstacles[{i}]", [x, y])
            spots[str(name)] = (x, y, yaw)
        self._set("spots", spots)


def _is_colour(value: Any) -> bool:
    digits = set("0123456789abcdefABCDEF")
    return isinstance(value, str) and len(value) == 7 and value[0] == "#" and set(value[1:]) <= digits


def _lists(spots: Mapping[str, tuple[float, float, float]]) -> dict[str, list[float]]:
    return {name: list(spot) for name, spot in spots.items()}
