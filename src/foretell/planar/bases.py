"""Bases under way: each slot's motion, of which the present pose follows at any tick, however time was cut."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.planar.motion import KNOTS

__all__ = ["Bases"]


class Bases:
    """The motions of all slots. A motion goes through points at shares of its time, and then rests at the last."""

    def __init__(self, slots: int):
        self._points, self._times = np.zeros((slots, KNOTS, 2)), np.ones((slots, KNOTS))
        self._yaw, self._turn = np.zeros(slots), np.zeros(slots)
        self._ticks, self._elapsed = np.ones(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)
        self._touches = np.full(slots, np.inf)  # share of the motion's time at which it collides
        self.touched = np.zeros(slots, dtype=bool)
        """(slots,) whether the present motion has collided"""
        self.collisions = np.zeros(slots, dtype=np.int64)
        """(slots,) since the start"""
        self._before = np.zeros(slots)  # m travelled before the present motion

    def start(self, slots: Ints, pose: Floats) -> None:
        """Stand at poses (n, 3)."""
        self._points[slots], self._times[slots] = pose[:, None, :2], 1.0
        self._yaw[slots], self._turn[slots] = pose[:, 2], 0.0
        self._ticks[slots], self._elapsed[slots] = 1, 1
        self._touches[slots], self.touched[slots] = np.inf, False
        self.collisions[slots], self._before[slots] = 0, 0.0

    def begin(
        self, slots: Ints, pose: Floats, *, points: Floats, times: Floats, turn: Floats, ticks: Ints, touches: Floats
    ) -> None:
        """New motions from the poses (n, 3) where the bases are: through points (n, KNOTS, 2) at shares (n, KNOTS) of
        `ticks` (n,), turning by (n,) rad. They collide at shares (n,) of the time; inf: they do not."""
        self._before[slots] = self.travelled(slots, pose)
        self._points[slots], self._times[slots] = points, times
        self._yaw[slots], self._turn[slots] = pose[:, 2], turn
        self._ticks[slots], self._elapsed[slots] = np.maximum(ticks, 1), 0
        self._touches[slots], self.touched[slots] = touches, False

    def advance(self, slots: Ints, ticks: Ints) -> None:
        """Let (n,) ticks pass."""
        self._elapsed[slots] += ticks
        now = ~self.touched[slots] & (self._share(slots) >= self._touches[slots])
        self.touched[slots] |= now
        self.collisions[slots] += now

    def pose(self, slots: Ints) -> Floats:
        """(n, 3) x, y, heading"""
        share = self._share(slots)
        times, points = self._times[slots], self._points[slots]
        leg = np.minimum((times[:, 1:] <= share[:, None]).sum(axis=1), KNOTS - 2)
        row = np.arange(len(slots))
        begin, end = times[row, leg], times[row, leg + 1]
        part = np.where(end > begin, (share - begin) / np.where(end > begin, end - begin, 1.0), 1.0)
        first, last = points[row, leg], points[row, leg + 1]
        place = first + np.clip(part, 0.0, 1.0)[:, None] * (last - first)
        place = np.where((share >= 1.0)[:, None], points[:, -1], place)
        return np.concatenate([place, (self._yaw[slots] + share * self._turn[slots])[:, None]], axis=1)

    def travelled(self, slots: Ints, pose: Floats | None = None) -> Floats:
        """(n,) m: the sum of straight lines between the ends of motions, up to now. `pose` (n, 3) where it is known."""
        gone = (self.pose(slots) if pose is None else pose)[:, :2] - self._points[slots, 0]
        return np.asarray(self._before[slots] + np.sqrt(gone[:, 0] ** 2 + gone[:, 1] ** 2))

    def put(self, slot: int, pose: Floats, *, collisions: int, travelled: float, touched: bool) -> None:
        """Stand at a pose (3,) with what happened before."""
        at = np.array([slot])
        self.start(at, pose[None])
        self.collisions[at], self._before[at], self.touched[at] = collisions, travelled, touched

    def _share(self, slots: Ints) -> Floats:
        return np.asarray(np.minimum(self._elapsed[slots] / self._ticks[slots], 1.0))
