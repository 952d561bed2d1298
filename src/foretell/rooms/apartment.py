"""Furnished apartments, each drawn from a seed: `apartment:7`.

A rectangle is split into rooms by walls. Doors join the rooms, as many as it takes and a few more. Furniture then goes
where it belongs, piece by piece. A piece stays only where it leaves a way of half a metre to every room.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.rooms.floor import Floor, need_shapely, shape_of
from foretell.rooms.furniture import CLEAR, Chamber, furnish
from foretell.rooms.lab import box
from foretell.rooms.room import Room
from foretell.seeding import generator

__all__ = ["apartment"]

WALL = 0.1
"""Metres of an inner wall."""
HIGH = 2.5
"""Metres of every wall."""
GREY = "#8d9199"
LEAST = 2.6
"""Metres of the shorter side of a room."""
DOOR = (0.8, 1.0)
"""Metres from the narrowest to the widest."""
JAMB = 0.15
"""Metres from a door to the next corner, at least."""
SWING = 0.6
"""Metres before a door where nothing stands."""


@dataclass(frozen=True)
class _Partition:
    """A wall between rooms: upright at x = `at`, or level at y = `at`, from `low` to `high` along it."""

    upright: bool
    at: float
    low: float
    high: float

    def block(self, low: float, high: float, thick: float = WALL) -> Floats:
        middle, long = (low + high) / 2, high - low
        return box(self.at, middle, thick, long) if self.upright else box(middle, self.at, long, thick)


@lru_cache(maxsize=64)
def apartment(seed: str = "0") -> Room:
    """An apartment of several furnished rooms; apartment:SEED is another one."""
    if not seed.isdecimal() or len(seed) > 15:
        raise UsageError(f"rooms: apartment:{seed:.40} should be apartment:SEED, with a whole number from 0 on")
    name = f"apartment:{int(seed)}"
    rng = generator(name, 0, "walls")
    wide, deep = round(rng.uniform(8.0, 13.0), 2), round(rng.uniform(6.5, 9.5), 2)
    cells, partitions = _split(Chamber(0.0, 0.0, wide, deep), rng)
    doors = _doors(cells, partitions, rng)
    blocks = [block for i, wall in enumerate(partitions) for block in _pieces(wall, [d for w, d in doors if w == i])]
    entries = [partitions[wall].block(*door, thick=WALL + 2 * SWING) for wall, door in doors]
    empty = Room(name=name, outline=box(wide / 2, deep / 2, wide, deep), obstacles=tuple(blocks))
    names = _names(cells)
    pieces = furnish(cells, names, shape_of(empty), entries, generator(name, 0, "furniture"))
    full = replace(
        empty,
        obstacles=(*blocks, *(corners for _, corners in pieces)),
        heights=(HIGH,) * len(blocks) + tuple(piece.size[2] for piece, _ in pieces),
        wall_height=HIGH,
        colours=(GREY,) * len(blocks) + tuple(piece.colour for piece, _ in pieces),
    )
    floor = Floor(full, CLEAR)
    if not all(
        _within(floor, cell) for cell in cells
    ):  # a way may be narrower by a hair than furnishing takes it to be
        floor = Floor(full, 0.9 * CLEAR)
    return replace(full, spots=_spots(cells, names, floor, generator(name, 0, "spots")))


def _split(cell: Chamber, rng: np.random.Generator) -> tuple[list[Chamber], list[_Partition]]:
    """Rooms and the walls between them: a room is split along its longer side while both halves are large enough."""
    wide, deep = cell.size
    upright = wide >= deep
    long = wide if upright else deep
    if long < 2 * LEAST + WALL or (cell.area < 24 and rng.uniform() < 0.35):
        return [cell], []
    start = cell.x0 if upright else cell.y0
    at = round(start + rng.uniform(LEAST + WALL / 2, long - LEAST - WALL / 2), 2)
    before, after = at - WALL / 2, at + WALL / 2
    if upright:
        wall = _Partition(True, at, cell.y0, cell.y1)
        halves = Chamber(cell.x0, cell.y0, before, cell.y1), Chamber(after, cell.y0, cell.x1, cell.y1)
    else:
        wall = _Partition(False, at, cell.x0, cell.x1)
        halves = Chamber(cell.x0, cell.y0, cell.x1, before), Chamber(cell.x0, after, cell.x1, cell.y1)
    (first, walls), (second, more) = (_split(half, rng) for half in halves)
    return [*first, *second], [wall, *walls, *more]


def _doors(
    cells: list[Chamber], partitions: list[_Partition], rng: np.random.Generator
) -> list[tuple[int, tuple[float, float]]]:
    """The wall of each door, and from where to where along it. Every room can be reached, some by two doors."""
    shared = []
    for number, wall in enumerate(partitions):
        for a, left in enumerate(cells):
            for b, right in enumerate(cells):
                if span := _between(wall, left, right):
                    shared.append((a, b, number, span))
    joined = list(range(len(cells)))
    doors = list[tuple[int, tuple[float, float]]]()
    for i in rng.permutation(len(shared)):
        a, b, number, (low, high) = shared[i]
        width = rng.uniform(*DOOR)
        start = rng.uniform(low + JAMB, max(low + JAMB, high - JAMB - width))
        if joined[a] == joined[b] and rng.uniform() > 0.3:
            continue
        joined = [joined[a] if group == joined[b] else group for group in joined]
        doors.append((number, (round(start, 2), round(start + width, 2))))
    return doors


def _between(wall: _Partition, low_side: Chamber, high_side: Chamber) -> tuple[float, float] | None:
    """From where to where along a wall two rooms on its sides share it, if that is wide enough for a door."""
    half = WALL / 2
    if wall.upright:
        touch = abs(low_side.x1 + half - wall.at) < 1e-6 and abs(high_side.x0 - half - wall.at) < 1e-6
        low, high = max(low_side.y0, high_side.y0), min(low_side.y1, high_side.y1)
    else:
        touch = abs(low_side.y1 + half - wall.at) < 1e-6 and abs(high_side.y0 - half - wall.at) < 1e-6
        low, high = max(low_side.x0, high_side.x0), min(low_side.x1, high_side.x1)
    low, high = max(low, wall.low), min(high, wall.high)
    return (low, high) if touch and high - low >= DOOR[1] + 2 * JAMB else None


def _pieces(wall: _Partition, doors: list[tuple[float, float]]) -> list[Floats]:
    """What is left of a wall beside its doors."""
    ends = [wall.low, *(end for door in sorted(doors) for end in door), wall.high]
    return [wall.block(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if high - low > 0.01]


def _names(cells: list[Chamber]) -> list[str]:
    """What each room is: the largest is to live in, the smallest to wash in."""
    order = sorted(range(len(cells)), key=lambda i: (-cells[i].area, i))
    kinds = ["living room", *["bedroom", "kitchen", "bedroom 2", "study", "bedroom 3"][: max(0, len(cells) - 2)]]
    kinds = [*kinds, *(f"room {i}" for i in range(len(kinds) + 1, len(cells)))]
    names = dict(zip(order, [*kinds, "bathroom"] if len(cells) > 1 else kinds, strict=True))
    return [names[i] for i in range(len(cells))]


def _spots(
    cells: list[Chamber], names: list[str], floor: Floor, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """In each room the point that is farthest from everything in it, where a robot gets to from the other rooms."""
    shapely = need_shapely()
    spots = {}
    for i in sorted(range(len(cells)), key=lambda i: (-cells[i].area, i)):
        widest = max(_within(floor, cells[i]), key=lambda part: part.area)
        circle = shapely.maximum_inscribed_circle(widest, tolerance=0.02)
        x, y = circle.coords[0]
        spots[names[i]] = (round(x, 3), round(y, 3), round(rng.uniform(-math.pi, math.pi), 3))
    return spots


def _within(floor: Floor, cell: Chamber) -> list[Any]:
    """Parts of a room that a robot gets to from the other rooms."""
    shapely = need_shapely()
    parts = shapely.get_parts(floor.islands[0].intersection(shapely.box(*cell)))
    return [part for part in parts if part.area > 0]
