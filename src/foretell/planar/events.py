"""Events of robots that drive, judged from the true state after each action. `tasks.events` defines them."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Bools, Floats, Ints

__all__ = ["TravelEvents"]

NEAR, STUCK_S = 0.05, 8.0
"""A base is stuck that stays within so many metres of a point for so many seconds, while it collides."""
MOVED = 0.1
"""A base that never gets so far from its start never moved, m."""


class TravelEvents:
    """Counts the events of all slots; `tick` in s."""

    def __init__(self, slots: int, tick: float):
        self._long = round(STUCK_S / tick)
        self._home, self._anchor = np.zeros((slots, 2)), np.zeros((slots, 2))
        self._far = np.zeros(slots)
        self._since, self._hits, self._stuck = (np.zeros(slots, dtype=np.int64) for _ in range(3))
        self._reported = np.zeros(slots, dtype=bool)

    def start(self, slots: Ints, pose: Floats) -> None:
        """Episodes begin at poses (n, 3)."""
        self._home[slots] = self._anchor[slots] = pose[:, :2]
        self._far[slots] = 0.0
        for count in (self._since, self._hits, self._stuck, self._reported):
            count[slots] = 0

    def command(self, slots: Ints, ahead: Bools, hits: Bools) -> None:
        """Actions begin that tell bases to go ahead (n,), and that collide (n,)."""
        self._hits[slots] += ahead & hits

    def look(self, slots: Ints, pose: Floats, ticks: Ints) -> None:
        """After an action, at ticks (n,) of the episodes."""
        place = pose[:, :2]
        self._far[slots] = np.maximum(self._far[slots], _length(place - self._home[slots]))
        away = _length(place - self._anchor[slots]) >= NEAR
        moved = slots[away]
        self._anchor[moved], self._since[moved], self._hits[moved] = place[away], ticks[away], 0
        self._reported[moved] = False
        stuck = (ticks - self._since[slots] >= self._long) & (self._hits[slots] >= 2) & ~self._reported[slots]
        self._stuck[slots] += stuck
        self._reported[slots] |= stuck

    def counts(self, slot: int, collisions: int) -> dict[str, float]:
        """Event -> how often it happened."""
        counts = {"hit_wall": collisions, "stuck": int(self._stuck[slot]), "never_moved": int(self._far[slot] <= MOVED)}
        return {name: float(count) for name, count in counts.items() if count}


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(vectors[:, 0] ** 2 + vectors[:, 1] ** 2))
