"""Polygons as (k, 2) arrays of corners, in metres: area, whether two sides cross, whether points lie inside."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Bools, Floats

__all__ = ["area", "crossing", "inside", "sides"]

BLOCK = 2_000_000
"""Pairs that are compared at a time: bounds memory."""


def area(corners: Floats) -> float:
    """Square metres of a polygon (k, 2); positive where its corners go counter-clockwise."""
    x, y = (corners - corners[0]).T  # near the origin: a map may lie far from it
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def sides(corners: Floats) -> Floats:
    """(k, 4) x0 y0 x1 y1 of each side of a polygon (k, 2)."""
    return np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)


def crossing(corners: Floats) -> Floats | None:
    """(2,) the corner from which a side starts that crosses or touches one that is not its neighbour; None where none
    does. Sides that go back over their neighbour count too."""
    k = len(corners)
    lines = sides(corners)
    starts, along = lines[:, :2], lines[:, 2:] - lines[:, :2]
    following = np.roll(along, -1, axis=0)
    back = (np.abs(_cross(along, following)) <= 1e-12) & (np.sum(along * following, axis=1) < 0)
    if back.any():
        return np.array(corners[np.argmax(back)])
    rows = max(1, BLOCK // k)
    for first in range(0, k, rows):
        some = np.arange(first, min(k, first + rows))[:, None]
        other = np.arange(k)[None, :]
        apart = (other > some + 1) & ~((some == 0) & (other == k - 1))
        touch = apart & _touch(starts[some], starts[some] + along[some], starts[other], starts[other] + along[other])
        if touch.any():
            return np.array(corners[first + np.argmax(touch.any(axis=1))])
    return None


def inside(points: Floats, corners: Floats) -> Bools:
    """(n,) whether points (n, 2) lie inside a polygon (k, 2). Points on its edge may be either."""
    (x0, y0, x1, y1), result = sides(corners).T, np.zeros(len(points), dtype=bool)
    rows = max(1, BLOCK // len(corners))
    for first in range(0, len(points), rows):
        x, y = points[first : first + rows, :1], points[first : first + rows, 1:]
        straddles = (y0 > y) != (y1 > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = x < x0 + (y - y0) * (x1 - x0) / (y1 - y0)
        result[first : first + rows] = np.count_nonzero(straddles & left, axis=1) % 2 == 1
    return result


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _touch(a: Floats, b: Floats, c: Floats, d: Floats) -> Bools:
    """Whether the segments a-b and c-d have a point in common."""
    c_side, d_side = _cross(b - a, c - a), _cross(b - a, d - a)
    a_side, b_side = _cross(d - c, a - c), _cross(d - c, b - c)
    split = (c_side * d_side <= 0) & (a_side * b_side <= 0)
    boxes = (np.minimum(a, b) <= np.maximum(c, d)).all(axis=-1) & (np.minimum(c, d) <= np.maximum(a, b)).all(axis=-1)
    return np.asarray(split & boxes)
