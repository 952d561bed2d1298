"""Walls: what a robot bumps into and what its rays end on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foretell.arrays import Floats, Ints

__all__ = ["PIECE", "Walls"]

PIECE = 0.25
"""Metres of the longest piece of wall that damage drops."""


@dataclass(frozen=True, eq=False)
class Walls:
    """Upright rectangles that a robot bumps into and rays end on."""

    segments: Floats
    """(s, 4) x0 y0 x1 y1, m"""
    heights: Floats
    """(s,) from the floor up, m"""
    owners: Ints
    """(s,) number of the obstacle; -1 for the outer wall"""

    @cached_property
    def lengths(self) -> Floats:
        """(s,) m"""
        return np.asarray(np.hypot(*(self.segments[:, 2:] - self.segments[:, :2]).T))

    def cut(self, longest: float = PIECE) -> Walls:
        """The same walls in pieces of at most so many metres."""
        counts = np.maximum(1, np.ceil(self.lengths / longest - 1e-9)).astype(int)
        which = np.repeat(np.arange(len(counts)), counts)
        step = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        start, along = self.segments[which, :2], (self.segments[:, 2:] - self.segments[:, :2])[which]
        low, high = (step / counts[which])[:, None], ((step + 1) / counts[which])[:, None]
        pieces = np.concatenate([start + low * along, start + high * along], axis=1)
        return Walls(pieces, self.heights[which], self.owners[which])
