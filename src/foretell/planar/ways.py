"""Shortest ways of all slots: how far the goal still is along the floor, and where to go next."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import UsageError
from foretell.robots.locobot import LoCoBot
from foretell.rooms import DistanceField, Room, ways_of

__all__ = ["Ways"]

BERTH = 0.03
"""m that a route keeps from walls, besides the robot's radius, where there is room for it."""


@lru_cache(maxsize=512)
def _field(room: Room, radius: float, goal: tuple[float, float]) -> DistanceField:
    return ways_of(room, radius).field(goal)


class Ways:
    """One goal for each slot. Distances are those of the room's map, whatever a world believes of its walls."""

    def __init__(self, slots: int):
        self._room: list[Room | None] = [None] * slots
        self._goal: list[tuple[float, float]] = [(0.0, 0.0)] * slots

    def start(self, slot: int, room: Room, goal: Floats) -> None:
        self._room[slot], self._goal[slot] = room, (float(goal[0]), float(goal[1]))

    def remaining(self, slot: int, pose: Floats) -> float:
        """m along the floor to the goal, as the scenario's shortest way counts them."""
        return float(self._to(slot, LoCoBot.RADIUS)(pose[None, :2])[0])

    def ahead(self, slots: Ints, pose: Floats) -> Floats:
        """(n, 3) rad to the left and m to the next corner of a route from poses (n, 3), and m along it to the goal."""
        return np.array([self._next(slot, at) for slot, at in zip(slots.tolist(), pose, strict=True)])

    def _next(self, slot: int, pose: Floats) -> tuple[float, float, float]:
        path, far = np.empty((0, 2)), 0.0
        for berth in (BERTH, 0.5 * BERTH, 0.0):
            try:
                path = self._to(slot, LoCoBot.RADIUS + berth).path(pose[:2])
            except UsageError:  # a robot so wide fits nowhere
                continue
            if len(path):
                break
        if len(path) < 2:
            path = np.array([pose[:2], self._goal[slot]])
        far = float(np.hypot(*np.diff(path, axis=0).T).sum())
        steps = np.hypot(*(path - pose[:2]).T)
        there = path[min(int(np.argmax(steps > 0.1)) or len(path) - 1, len(path) - 1)]
        dx, dy = there - pose[:2]
        bearing = np.arctan2(dy, dx) - pose[2]
        return float(np.arctan2(np.sin(bearing), np.cos(bearing))), float(np.hypot(dx, dy)), far

    def _to(self, slot: int, radius: float) -> DistanceField:
        room = self._room[slot]
        assert room is not None, "the slot has no episode"
        return _field(room, radius, self._goal[slot])
