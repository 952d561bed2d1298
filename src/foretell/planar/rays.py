"""Rays among walls, for many slots at once: a flat lidar, and the nearest thing in each column of a depth image."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats

__all__ = ["columns", "distances"]

BLOCK = 130_000
"""Pairs of a ray and a wall that are computed at a time: what fits into the cache of a core is quicker."""


def columns(count: int, view: float) -> Floats:
    """(count,) rad: angles of the pixels of a row, from left to right, of a flat picture `view` rad wide."""
    spread = np.tan(view / 2) * (1.0 - (2.0 * np.arange(count) + 1.0) / count)
    return np.asarray(np.arctan(spread))


def distances(
    pose: Floats, angles: Floats, walls: Floats, hidden: Floats, furthest: float, flat: bool = False
) -> Floats:
    """(n, rays) m from poses (n, 3: x, y, heading) along rays at angles (rays,) to the heading, among walls (n, s, 4).

    hidden: (n, s) a wall nearer than this cannot be seen: it is below the picture. A wall that no ray sees has inf.
    With `flat` it is the distance along the heading, as in a depth image. Where there is nothing, it is `furthest`."""
    n, rays = len(pose), len(angles)
    result = np.empty((n, rays))
    some = max(1, BLOCK // max(1, rays * walls.shape[1]))
    for at in range(0, n, some):
        rows = slice(at, at + some)
        result[rows] = _distances(pose[rows], angles, walls[rows], hidden[rows], furthest, flat)
    return result


def _distances(pose: Floats, angles: Floats, walls: Floats, hidden: Floats, furthest: float, flat: bool) -> Floats:
    if not walls.shape[1]:
        return np.full((len(pose), len(angles)), furthest)
    turned = pose[:, 2:] + angles
    # of a motion per metre of what is measured: along the ray, or along the heading
    scale = 1.0 / np.cos(angles) if flat else np.ones_like(angles)
    dx, dy = ((scale * f(turned)).astype(np.float32)[:, :, None] for f in (np.cos, np.sin))
    ax, ay = ((walls[:, :, i] - pose[:, i : i + 1]).astype(np.float32) for i in (0, 1))
    ex, ey = ((walls[:, :, i + 2] - walls[:, :, i]).astype(np.float32) for i in (0, 1))
    area = (ax * ey - ay * ex)[:, None]
    ax, ay, ex, ey = ax[:, None], ay[:, None], ex[:, None], ey[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # in place: fresh memory is slow
        far = dx * ey
        far -= dy * ex
        np.divide(np.float32(1.0), far, out=far)
        where = ax * dy
        where -= ay * dx
        where *= far
        far *= area
        where -= np.float32(0.5)
        np.abs(where, out=where)
        meets = where <= np.float32(0.5)
        meets &= far > 0
    np.putmask(far, ~meets, np.float32(np.inf))
    if hidden.any():
        far[far < hidden.astype(np.float32)[:, None]] = np.inf
    return np.asarray(np.minimum(far.min(axis=2), np.float32(furthest)), dtype=np.float64)
