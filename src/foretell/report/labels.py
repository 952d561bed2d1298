"""Labels: where the names of points are written, so that none covers another and each is seen to be its point's.

A chart's height is known where it is made, its width is not: names move up and down only, and are held to be as wide as
they are on the narrowest page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["LETTER", "ChartLabel", "apart", "around", "beside"]

LETTER = 6.4
"""Pixels, about, of a letter on the page."""
LINE = 16.0
"""Pixels from one name to the next below."""
NARROWEST = 250.0
"""Pixels of a plot on a phone."""
ALIKE = 0.012
"""Points as near as this are drawn as one."""
LETTERS = 16
"""At most, of a name that stands for several points; the others are counted."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, right, bottom, top."""


@dataclass(frozen=True)
class ChartLabel:
    """A name, or several of points that are drawn as one."""

    names: tuple[str, ...]
    point: Point
    at: float
    """How high it is written, in the units of the axis."""
    left: bool
    """Whether it ends at the point, rather than begin there."""

    @property
    def text(self) -> str:
        first, *more = self.names
        while more and len(first) + len(more[0]) + 2 <= LETTERS:
            first += f", {more.pop(0)}"
        short = first if len(first) <= LETTERS else f"{first[: LETTERS - 1]}…"
        return f"{short}, +{len(more)}" if more else first


def apart(values: Sequence[float], least: float) -> list[float]:
    """Ascending values in [0, 1], moved as little as will do (squares of moves) to be `least` apart, or as far as
    there is room: a crowd spreads around its middle."""
    if len(values) < 2:
        return list(values)
    least = min(least, 1.0 / (len(values) - 1))
    crowds: list[tuple[float, int]] = []  # mean and number of what stays together once `least` is taken off each
    for i, value in enumerate(values):
        mean, size = value - i * least, 1
        while crowds and crowds[-1][0] > mean:
            other, more = crowds.pop()
            mean, size = (mean * size + other * more) / (size + more), size + more
        crowds.append((mean, size))
    top = 1.0 - least * (len(values) - 1)
    places = [min(max(mean, 0.0), top) for mean, size in crowds for _ in range(size)]
    return [value + i * least for i, value in enumerate(places)]


def around(points: Sequence[Point], least: float) -> list[Point]:
    """Points on one half of a circle around (0, 0), moved along it to be `least` apart in height, as `apart` does. None
    gets nearer to the other half than it was, or than a tenth."""
    order = sorted(range(len(points)), key=lambda i: points[i][1])
    r = max((math.hypot(x, y) for x, y in points), default=1.0)
    heights = apart([(points[i][1] + r) / (2 * r) for i in order], least / (2 * r))
    places = {}
    for i, height in zip(order, heights, strict=True):
        y = (2 * height - 1) * r
        x = max(math.sqrt(max(r * r - y * y, 0.0)), min(0.1, abs(points[i][0])))
        places[i] = (math.copysign(x, points[i][0]), y)
    return [places[i] for i in range(len(points))]


def beside(points: Sequence[tuple[str, Point]], height: float) -> list[ChartLabel]:
    """A label for every point of [0, 1] x [0, 1] in a plot of so many pixels: on the side where there is more room, a
    little above or below, and farther off where something else is."""
    alike: list[tuple[Point, list[str]]] = []
    for name, (x, y) in points:
        near = (names for (a, b), names in alike if max(abs(x - a), abs(y - b)) <= ALIKE)
        spot = next(near, None)
        if spot is None:
            alike.append(((x, y), [name]))
        else:
            spot.append(name)
    line, dot = LINE / height, 5.0
    taken: list[Box] = [
        (x - dot / NARROWEST, x + dot / NARROWEST, y - dot / height, y + dot / height) for (x, y), _ in alike
    ]
    labels = []
    for (x, y), names in sorted(alike, key=lambda point: (-point[0][1], -point[0][0])):
        label = ChartLabel(tuple(names), (x, y), y, left=x > 0.5)
        wide = (len(label.text) * LETTER + 14) / NARROWEST
        ends = (x - wide, x - 0.01) if label.left else (x + 0.01, x + wide)
        steps = (sign * (0.65 + 0.25 * n) * line for n in range(40) for sign in (1, -1))
        places = [y + step for step in steps if line / 2 <= y + step <= 1 - line / 2]
        boxes = [(*ends, at - line / 2, at + line / 2) for at in places]
        free = (box for box in boxes if not any(_meet(box, other) for other in taken))
        box = next(free, boxes[0])
        taken.append(box)
        labels.append(ChartLabel(label.names, label.point, (box[2] + box[3]) / 2, label.left))
    return labels


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
