"""The lab: 6.5 x 10 m with tall cardboard boxes, in three degrees of difficulty.

The room of "Sim2Real Predictivity" (Kadian et al., 2020) has these measures, such boxes, and five waypoints that the
robot visits in turn, from A to E and back to A. Where the boxes stood is not published, so these places are our own.
Each room has the boxes of the easier one, and more; the waypoints are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foretell.arrays import Floats
from foretell.rooms.room import Room

__all__ = ["LEGS", "box", "lab_easy", "lab_hard", "lab_medium"]

LENGTH, WIDTH = 10.0, 6.5
"""m"""
SPOTS = {
    "A": (0.9, 0.9, 1.57),
    "B": (5.1, 5.7, 0.0),
    "C": (9.1, 1.0, 1.57),
    "D": (8.6, 5.6, 3.14),
    "E": (1.0, 5.4, 0.0),
}
LEGS = (("A", "B"), ("B", "C"), ("C", "D"), ("D", "E"), ("E", "A"))
"""From spot to spot."""
CARDBOARD = "#c9a66b"
Box = tuple[float, float, float, float, float, float]
"""x and y of the middle, length, width (m), yaw (degrees), height (m)."""
EASY: tuple[Box, ...] = (
    (2.9, 3.0, 1.2, 0.6, 30, 1.2),
    (6.9, 3.5, 1.4, 0.6, -40, 1.2),
    (9.0, 3.2, 1.0, 0.6, 0, 1.0),
    (1.0, 3.2, 0.8, 0.6, 10, 1.0),
    (6.8, 5.7, 0.6, 0.8, 0, 1.2),
)
MEDIUM: tuple[Box, ...] = (
    (4.6, 4.2, 1.2, 0.5, 0, 1.2),
    (3.0, 5.4, 0.5, 1.2, 0, 1.2),
    (4.8, 1.8, 0.6, 1.4, 15, 1.0),
    (7.4, 1.5, 0.5, 1.2, -10, 1.2),
    (8.1, 4.5, 1.0, 0.5, 20, 1.0),
    (1.9, 1.9, 0.7, 0.5, -25, 1.0),
)
HARD: tuple[Box, ...] = (
    (6.1, 5.0, 0.5, 1.5, 0, 1.2),
    (4.3, 5.5, 0.4, 2.0, 0, 1.2),
    (3.6, 1.0, 0.5, 2.0, 0, 1.2),
    (8.4, 2.15, 1.2, 0.5, 0, 1.2),
    (9.75, 2.6, 0.5, 0.4, 0, 1.0),
    (1.6, 4.4, 1.2, 0.4, 0, 1.0),
    (0.3, 3.9, 0.6, 0.4, 0, 1.0),
    (6.2, 0.8, 0.6, 0.6, 45, 1.0),
)


def lab_easy() -> Room:
    """The lab of 6.5 x 10 m with 5 boxes, waypoints A to E."""
    return _lab("lab_easy", EASY)


def lab_medium() -> Room:
    """The lab of 6.5 x 10 m with 11 boxes, waypoints A to E."""
    return _lab("lab_medium", EASY + MEDIUM)


def lab_hard() -> Room:
    """The lab of 6.5 x 10 m with 19 boxes, waypoints A to E."""
    return _lab("lab_hard", EASY + MEDIUM + HARD)


def _lab(name: str, boxes: Sequence[Box]) -> Room:
    return Room(
        name=name,
        outline=np.array([[0.0, 0.0], [LENGTH, 0.0], [LENGTH, WIDTH], [0.0, WIDTH]]),
        obstacles=tuple(box(x, y, length, width, math.radians(turn)) for x, y, length, width, turn, _ in boxes),
        heights=tuple(height for *_, height in boxes),
        wall_height=2.8,
        colours=(CARDBOARD,) * len(boxes),
        spots=SPOTS,
    )


def box(x: float, y: float, length: float, width: float, yaw: float = 0.0) -> Floats:
    """(4, 2) a rectangle with its middle at x, y; its length lies along `yaw` (radians)."""
    half = np.array([[-length, -width], [length, -width], [length, width], [-length, width]]) / 2
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.asarray(np.round(half @ np.array([[cos, sin], [-sin, cos]]) + (x, y), 6))
