"""Lofts: convex shapes given by a few cross-sections, for things that are neither box nor cylinder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.arrays import Floats

__all__ = ["Section", "loft"]

Section = tuple[float, tuple[float, float], tuple[float, float]]
"""x, range of y, range of z of a section across the x axis, m."""


def loft(sections: Sequence[Section], points: int = 8, turn: float = 0.0) -> Floats:
    """(k, 3) vertices of a loft: for each section a polygon of `points` corners, whose sides touch its ranges. The
    lowest side is level, so that the shape can lie on it, or turned about the x axis by `turn`, rad."""
    angle = (np.arange(points) + 0.5) * 2 * np.pi / points - np.pi / 2 + turn
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) / np.cos(np.pi / points)
    rings = []
    for x, y, z in sections:
        half = np.array([y[1] - y[0], z[1] - z[0]]) / 2
        middle = np.array([y[0] + y[1], z[0] + z[1]]) / 2
        rings.append(np.column_stack([np.full(points, x), middle + half * ring]))
    return np.concatenate(rings)
