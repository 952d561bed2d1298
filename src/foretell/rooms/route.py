"""Routes: where a robot starts in a room and where it is to go, drawn as Habitat draws its episodes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.errors import UsageError
from foretell.rooms.geodesic import ways_of
from foretell.rooms.room import Room

__all__ = ["Route", "draw_route", "route_between"]

NEAREST, FARTHEST = 1.0, 30.0
"""Metres of the shortest way."""
ISLAND = 1.5
"""Metres that the island of a start reaches at least."""
STRAIGHT = 1.1
"""Ways that are less than this times the straight line are kept seldom."""
TRIES = 2000


class Route(NamedTuple):
    """From a pose to a point."""

    start: tuple[float, float, float]
    """x, y (m), yaw (rad)"""
    goal: tuple[float, float]
    """x, y (m)"""
    length: float
    """Metres of the shortest way."""


def draw_route(room: Room, radius: float, rng: np.random.Generator) -> Route:
    """A route that passes Habitat's filters: the way is 1 to 30 m long, its island is no nook, and a way that is less
    than 1.1 times the straight line is kept with probability 20 (ratio - 0.98)^2."""
    ways = ways_of(room, radius)
    floor = ways.floor
    for _ in range(TRIES):
        goal, start = floor.sample(2, rng)
        keep, yaw = rng.uniform(), rng.uniform(-math.pi, math.pi)
        straight = float(np.hypot(*(goal - start)))
        number = int(floor.island(goal[None])[0])
        if not 0 < straight <= FARTHEST or floor.reach[number] < ISLAND:
            continue
        length = float(ways.distance(start[None], goal[None])[0])
        ratio = length / straight
        if NEAREST <= length <= FARTHEST and (ratio >= STRAIGHT or keep <= 20 * (ratio - 0.98) ** 2):
            x, y = start.tolist()
            return Route((x, y, yaw), (float(goal[0]), float(goal[1])), length)
    raise UsageError(
        f"room {room.name!r:.100}: of {TRIES} routes none is {NEAREST:g} to {FARTHEST:g} m long and passes the filters "
        f"for a robot of radius {radius:g} m: the room is too small or too empty"
    )


def route_between(room: Room, radius: float, start: str, goal: str) -> Route:
    """The route from a spot of a room to another. Raises UsageError where no way leads."""
    for field, name in (("start", start), ("goal", goal)):
        if name not in room.spots:
            known = ", ".join(room.spots) or "none"
            raise UsageError(f"{field}: {name!r:.100} is no spot of room {room.name!r:.100}; known: {known}")
    ways = ways_of(room, radius)
    ways.check_spots(start, goal)
    x, y, _ = room.spots[goal]
    length = float(ways.distance(np.array([room.spots[start][:2]]), np.array([[x, y]]))[0])
    return Route(room.spots[start], (x, y), length)
