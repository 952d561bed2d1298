"""Furniture of apartments: which pieces a kind of room has, and where they can stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from foretell.arrays import Floats
from foretell.rooms.floor import need_shapely
from foretell.rooms.lab import box

__all__ = ["CLEAR", "Chamber", "Furnishing", "furnish"]

CLEAR = 0.25
"""Metres. A disc of this radius still gets from every door to every other: more than a LoCoBot's 0.175."""
NOOK = 0.3
"""Square metres of free floor that may be cut off: behind a door, between two pieces."""
TRIES = 12
"""Places that are tried for each piece."""
OFF = 0.02
"""Metres between a piece and the wall, or another piece."""


class Chamber(NamedTuple):
    """The rectangle of a room within an apartment, m."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def size(self) -> tuple[float, float]:
        return self.x1 - self.x0, self.y1 - self.y0

    @property
    def area(self) -> float:
        return self.size[0] * self.size[1]


class Furnishing(NamedTuple):
    """A piece of furniture as it is seen from above."""

    size: tuple[float, float, float]
    """m: along the wall, away from it, and up"""
    stands: Literal["wall", "middle", "round"] = "wall"
    """At a wall, anywhere, or anywhere and round"""
    colour: str = "#b9a68a"


SOFA, ARMCHAIR = Furnishing((2.0, 0.9, 0.8), colour="#8fa3b8"), Furnishing((0.85, 0.85, 0.8), "middle", "#8fa3b8")
LOW_TABLE, SHELF = Furnishing((0.9, 0.9, 0.42), "round"), Furnishing((1.0, 0.32, 1.9), colour="#a58a66")
SIDEBOARD, PLANT = Furnishing((1.6, 0.45, 0.75)), Furnishing((0.4, 0.4, 1.2), "round", "#8fb08c")
BED, WARDROBE = Furnishing((1.6, 2.05, 0.5), colour="#c7b8cc"), Furnishing((1.5, 0.6, 2.0), colour="#a58a66")
NIGHTSTAND, DESK = Furnishing((0.45, 0.4, 0.5)), Furnishing((1.4, 0.7, 0.74))
CHAIR, TABLE = Furnishing((0.45, 0.45, 0.85), "middle", "#9c8f7d"), Furnishing((1.5, 0.85, 0.74), "middle")
COUNTER, FRIDGE = Furnishing((2.2, 0.6, 0.9), colour="#b4bcc2"), Furnishing((0.6, 0.65, 1.8), colour="#d5dade")
TUB, BASIN = Furnishing((1.6, 0.7, 0.55), colour="#cfe0e6"), Furnishing((0.6, 0.45, 0.85), colour="#cfe0e6")
TOILET, CRATE = Furnishing((0.4, 0.6, 0.8), colour="#cfe0e6"), Furnishing((0.5, 0.5, 0.5), "middle", "#c9a66b")
OF = {
    "living": (SOFA, LOW_TABLE, SIDEBOARD, ARMCHAIR, SHELF, PLANT, TABLE, CHAIR, CHAIR, ARMCHAIR, PLANT),
    "bedroom": (BED, WARDROBE, NIGHTSTAND, SHELF, CHAIR, PLANT),
    "kitchen": (COUNTER, FRIDGE, TABLE, CHAIR, CHAIR, SHELF),
    "study": (DESK, CHAIR, SHELF, SHELF, ARMCHAIR, PLANT),
    "bathroom": (TUB, BASIN, TOILET),
    "room": (SHELF, CRATE, DESK, CHAIR, CRATE),
}
"""First word of a room's name -> what stands there, the most needful first."""
CROWDED = 0.8
"""Pieces per square metre, at most."""


def furnish(
    cells: Sequence[Chamber], names: Sequence[str], floor: Any, entries: Sequence[Floats], rng: np.random.Generator
) -> list[tuple[Furnishing, Floats]]:
    """Pieces and the corners (k, 2) of each. `floor`: what walls leave, a shape of shapely; `entries`: (4, 2) each, the
    floor before doors. A piece stands on no entry, and leaves a way from every door to every other."""
    shapely = need_shapely()
    before = [shapely.Polygon(corners) for corners in entries]
    free, taken = floor, shapely.union_all(before)
    placed = list[tuple[Furnishing, Floats]]()
    for cell, name in zip(cells, names, strict=True):
        pieces = OF[name.split()[0]]
        for piece in pieces[: max(2, round(CROWDED * cell.area * rng.uniform(0.5, 1.0)))]:
            for _ in range(TRIES):
                corners = _place(piece, cell, rng)
                shape = shapely.Polygon(corners)
                if shape.intersects(taken) or not floor.covers(shape):
                    continue
                left = free.difference(shape)
                if joined(left, before):
                    placed.append((piece, corners))
                    free, taken = left, taken.union(shape.buffer(OFF, join_style="mitre"))
                    break
    return placed


def joined(free: Any, entries: Sequence[Any]) -> bool:
    """Whether a disc of radius CLEAR gets from every entry to every other, and everywhere but into nooks."""
    shapely = need_shapely()
    parts = [part for part in shapely.get_parts(free.buffer(-CLEAR, quad_segs=4)) if part.area > NOOK]
    return len(parts) == 1 and all(parts[0].covers(entry.centroid) for entry in entries)


def _place(piece: Furnishing, cell: Chamber, rng: np.random.Generator) -> Floats:
    """A place that may be taken: (k, 2)."""
    length, depth, _ = piece.size
    (wide, deep), side, share = cell.size, int(rng.integers(4)), rng.uniform(size=2)
    turn = rng.uniform(-math.pi, math.pi) if rng.uniform() < 0.5 else 0.5 * math.pi * side
    if piece.stands != "wall":
        around = 0.35 + max(length, depth) / 2
        x = cell.x0 + around + share[0] * max(0.0, wide - 2 * around)
        y = cell.y0 + around + share[1] * max(0.0, deep - 2 * around)
        if piece.stands == "middle":
            return _whole(box(x, y, length, depth, turn))
        angles = np.linspace(0, 2 * math.pi, 12, endpoint=False)
        return _whole(np.array([x, y]) + length / 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    along, off = length / 2 + OFF, depth / 2 + OFF
    level = side % 2 == 0  # along the lower or the upper wall
    span = (wide if level else deep) - 2 * along
    at = along + share[0] * max(0.0, span)
    if level:
        x, y = cell.x0 + at, cell.y0 + off if side == 0 else cell.y1 - off
        return _whole(box(x, y, length, depth))
    x, y = cell.x0 + off if side == 1 else cell.x1 - off, cell.y0 + at
    return _whole(box(x, y, depth, length))


def _whole(corners: Floats) -> Floats:
    """In whole millimetres."""
    return np.asarray(np.round(corners, 3))
