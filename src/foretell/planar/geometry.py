"""The walls that a world believes in, room by room, side by side for all slots."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from foretell.arrays import Floats, Ints
from foretell.planar.params import PlanarFile
from foretell.rooms import Room, Walls
from foretell.seeding import generator

__all__ = ["Geometry", "room_of", "walls_of"]

AWAY = 1e6
"""m: where walls stand that a room does not have."""


@lru_cache(maxsize=256)
def room_of(name: str) -> Room:
    """`Room.named`, made once. A file is read once, too."""
    return Room.named(name)


def walls_of(room: Room, file: PlanarFile) -> Walls:
    """The walls of a room as a world has them: some are missing, and obstacles may stand beside their places."""
    walls = room.damaged(file.theta.damage) if file.theta.damage > 0 else room.walls
    if file.physics.walls == 0:
        return walls
    uniform = generator(room.digest, 0, "walls").uniform(1e-9, 1 - 1e-9, (len(room.obstacles), 2))
    shift = np.concatenate([file.physics.walls / np.sqrt(2) * ndtri(uniform), np.zeros((1, 2))])  # owner -1 stays
    return Walls(walls.segments + np.tile(shift[walls.owners], 2), walls.heights, walls.owners)


class Geometry:
    """Walls of all slots, as arrays with a leading slot axis. Short ones are filled up with walls far away."""

    def __init__(self, slots: int, file: PlanarFile):
        self._file, self._kept = file, dict[str, Walls]()
        self.segments, self.heights = np.full((slots, 0, 4), AWAY), np.zeros((slots, 0))

    def start(self, slot: int, room: Room) -> None:
        """A slot has an episode in a room."""
        if room.digest not in self._kept:
            self._kept[room.digest] = walls_of(room, self._file)
        walls = self._kept[room.digest]
        count = len(walls.segments)
        if count > self.segments.shape[1]:
            more = count - self.segments.shape[1]
            self.segments = np.pad(self.segments, ((0, 0), (0, more), (0, 0)), constant_values=AWAY)
            self.heights = np.pad(self.heights, ((0, 0), (0, more)))
        self.segments[slot, :count], self.segments[slot, count:] = walls.segments, AWAY
        self.heights[slot, :count], self.heights[slot, count:] = walls.heights, 0.0

    def of(self, slots: Ints) -> tuple[Floats, Floats]:
        """(n, s, 4) walls and (n, s) heights of some slots."""
        return self.segments[slots], self.heights[slots]
