"""A disc that moves among walls, for many slots at once: where it stops, or how it slides along.

A disc of some radius touches a wall where its middle is that far from it: the walls are grown by the radius, and the
middle is a point among them.
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Bools, Floats

__all__ = ["KNOTS", "collides", "travel"]

KNOTS = 5
"""Points of a way: its start, up to three walls that it slides along, its end."""
GRAZE = 1e-9
"""A motion that comes closer to a wall by less is along it, m."""
SHORTER = 1e-5
"""Habitat's: a motion collided where walls take more than this from the square of its length, m²."""


def travel(start: Floats, move: Floats, walls: Floats, radius: float, sliding: bool) -> tuple[Floats, Floats]:
    """Ways of discs that start at (n, 2) and want to move by (n, 2), among walls (n, s, 4).

    Returns points (n, KNOTS, 2) and the shares (n, KNOTS) of the motion's time at which they are passed. Without
    `sliding` a disc stays where it first touches. With it, what is left of the motion goes on along the wall, as a
    navigation mesh has it: the end is the point of the wall next to where the disc wanted to go."""
    n = len(start)
    points, times = np.repeat(start[:, None], KNOTS, axis=1), np.ones((n, KNOTS))
    times[:, 0] = 0.0
    here, left, at = start.copy(), move.copy(), np.zeros(n)
    before = np.zeros((n, 2))
    for knot in range(1, KNOTS):
        share, normal = _contact(here, left, walls, radius)
        here = here + share[:, None] * left
        at = at + share * (1.0 - at)
        points[:, knot:], times[:, knot] = here[:, None], at
        if not sliding:
            break
        left = (1.0 - share)[:, None] * left
        into = _dot(left, normal)
        left = left - np.minimum(into, 0.0)[:, None] * normal
        cornered = _dot(left, before) < -GRAZE  # along this wall it would run into the one before
        left = np.where((cornered | (share >= 1.0))[:, None], 0.0, left)
        before = normal
        if not left.any():
            break
    times[:, -1] = 1.0
    return points, np.maximum.accumulate(times, axis=1)


def collides(start: Floats, wanted: Floats, end: Floats) -> Bools:
    """(n,) whether motions from (n, 2) that wanted to end at (n, 2) and ended at (n, 2) collided, as Habitat has it."""
    asked, went = wanted - start, end - start
    return np.asarray(_dot(went, went) + SHORTER < _dot(asked, asked))


def _contact(start: Floats, move: Floats, walls: Floats, radius: float) -> tuple[Floats, Floats]:
    """(n,) share of a motion before the first touch, 1 without any; (n, 2) from the wall towards the disc there."""
    n = len(start)
    if not walls.shape[1]:
        return np.ones(n), np.zeros((n, 2))
    x, y = start[:, :1], start[:, 1:]
    u, v = move[:, :1], move[:, 1:]
    ax, ay, bx, by = (walls[:, :, i] for i in range(4))
    length = np.sqrt((bx - ax) ** 2 + (by - ay) ** 2)
    safe = np.where(length > 0, length, 1.0)
    ex, ey = (bx - ax) / safe, (by - ay) / safe
    # the two long sides of a grown wall
    off, rate = ex * (y - ay) - ey * (x - ax), ex * v - ey * u
    side = np.where(off < 0, -1.0, 1.0)
    closing = side * rate < -GRAZE
    share = np.where(closing, (np.abs(off) - radius) / np.where(closing, np.abs(rate), 1.0), np.inf)
    share = np.maximum(share, 0.0)
    with np.errstate(invalid="ignore"):  # inf times 0, of those that never come near
        along = ex * (x + share * u - ax) + ey * (y + share * v - ay)
    best = np.where(closing & (along >= 0) & (along <= length), share, np.inf)
    nx, ny = -ey * side, ex * side
    # the round ends
    speed = u * u + v * v
    for cx, cy in ((ax, ay), (bx, by)):
        mx, my = x - cx, y - cy
        near = mx * mx + my * my - radius * radius
        toward = mx * u + my * v
        inside = toward * toward - speed * near
        touches = (toward < -GRAZE * radius) & (inside > 0)
        root = np.sqrt(np.where(touches, inside, 0.0))
        when = np.where(touches, np.maximum((-toward - root) / np.where(speed > 0, speed, 1.0), 0.0), np.inf)
        sooner = when < best
        best = np.where(sooner, when, best)
        with np.errstate(invalid="ignore"):
            px, py = mx + when * u, my + when * v
        gap = np.sqrt(px * px + py * py)
        gap = np.where(sooner & (gap > 0), gap, 1.0)
        nx, ny = np.where(sooner, px / gap, nx), np.where(sooner, py / gap, ny)
    first = np.argmin(best, axis=1)[:, None]
    share = np.take_along_axis(best, first, axis=1)[:, 0]
    hit = share < 1.0
    normal = np.concatenate([np.take_along_axis(nx, first, 1), np.take_along_axis(ny, first, 1)], axis=1)
    return np.where(hit, share, 1.0), np.where(hit[:, None], normal, 0.0)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1])
