"""What a robot measured at a moment, in our units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Bytes, Floats

__all__ = ["Reading"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One observation."""

    at: float
    """`time.monotonic()` when it had come."""
    channels: Floats
    """(k,) the numbers that are commanded: joints in rad or m, grippers as the share that they are open; of a base,
    its pose x, y, heading."""
    frames: Mapping[str, Bytes] = field(default_factory=dict)
    """Camera -> (height, width, 3)."""
    bump: float = 0.0
    lidar: Floats = field(default_factory=lambda: np.zeros(0))
    raw: Mapping[str, float] = field(default_factory=dict)
    """Key -> number of what the file holds without mapping it."""
