"""Masses and inertias of links as published, and of links that are fixed to each other as one body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats

__all__ = ["Inertial", "fused"]


@dataclass(frozen=True)
class Inertial:
    """Of one link, in the link's own frame."""

    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]
    """About the centre of mass: xx, yy, zz, xy, xz, yz."""

    @property
    def matrix(self) -> Floats:
        """(3, 3) inertia about the centre of mass."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def fused(parts: Iterable[tuple[Inertial, tuple[float, float, float]]]) -> Inertial:
    """Links at offsets in one frame, all turned alike, as one."""
    placed = [(part, np.add(part.com, offset)) for part, offset in parts]
    mass = sum(part.mass for part, _ in placed)
    com = sum((part.mass * at for part, at in placed), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for part, at in placed:
        d = at - com
        total += part.matrix + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    x, y, z = com.tolist()
    i, j = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    xx, yy, zz, xy, xz, yz = total[i, j].tolist()
    return Inertial(mass, (x, y, z), (xx, yy, zz, xy, xz, yz))
