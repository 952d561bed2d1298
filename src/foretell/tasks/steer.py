"""Steering of a base by its actions: turn towards a direction that has room, go ahead, stop on arrival.

Scripts share this: they differ in the direction that they want, and in how they know of walls.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Bools, Floats, Ints
from foretell.policy import Chunk
from foretell.robots.base import STEP, StepsOf10, StepsOf30, Velocity
from foretell.robots.locobot import LoCoBot
from foretell.spec import ActionSpec

__all__ = ["NEEDED", "clear", "headings", "pick", "steer", "turn_angle", "wrapped"]

NEEDED = STEP + 0.03
"""m of room that a step asks for."""
BESIDE = LoCoBot.RADIUS + 0.01
"""m to both sides that a step asks for."""


def wrapped(angle: Floats) -> Floats:
    """Angles within half a turn."""
    return np.asarray(np.arctan2(np.sin(angle), np.cos(angle)))


def turn_angle(action: ActionSpec) -> float:
    """rad of one turn, by the controller that takes the actions."""
    return StepsOf10.ANGLE if action.name == "steps_10" else StepsOf30.ANGLE


def headings(angle: float) -> Floats:
    """(k,) rad to the left: what a base may turn to by turns of `angle`, the first straight ahead."""
    return np.asarray(angle * np.arange(round(2 * math.pi / angle)))


def clear(ranges: Floats, angle: float, angles: Floats | None = None) -> Floats:
    """(n, k) m that a base can go in each of `headings`, by rays (n, rays) at angles (rays,) to the left: all around,
    where there are none."""
    cos, sin = _directions(angle, ranges.shape[1]) if angles is None else _turned(angle, angles)
    short = ranges.astype(np.float32)[:, None]
    along, across = short * cos, short * sin
    inside = np.float32(BESIDE**2) - across * across
    reach = along - np.sqrt(np.maximum(inside, np.float32(0.0)))
    reach[(inside <= 0) | (along <= 0)] = np.inf
    return np.asarray(np.maximum(reach.min(axis=2), 0.0), dtype=np.float64)


def _turned(angle: float, angles: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(k, rays) cosine and sine of rays at angles (rays,) as seen from each of `headings`."""
    off = angles[None, :] - headings(angle)[:, None]
    return np.cos(off).astype(np.float32), np.sin(off).astype(np.float32)


@lru_cache(maxsize=16)
def _directions(angle: float, count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`_turned`, of so many rays all around."""
    return _turned(angle, 2 * math.pi * np.arange(count) / count)


def pick(bearing: Floats, room: Floats, angle: float, needed: float = NEEDED) -> Ints:
    """(n,) number of the heading next to a bearing (n,) that has room (n, k); the one with most room where none has."""
    cost = np.abs(wrapped(headings(angle)[None, :] - bearing[:, None]))
    cost[:, 0] -= 1e-3  # rather straight ahead than a turn for nothing
    free = room >= needed
    best = np.argmin(np.where(free, cost, np.inf), axis=1)
    return np.asarray(np.where(free.any(axis=1), best, np.argmax(room, axis=1)))


def steer(bearing: Floats, arrived: Bools, room: Floats, angle: float, action: ActionSpec | None = None) -> Chunk:
    """Actions towards bearings (n,), rad to the left, given room (n, k) in each of `headings`; stop where `arrived`
    (n,). With the action of `velocity` it is a speed."""
    best, count = pick(bearing, room, angle), room.shape[1]
    left = (best > 0) & (best <= count // 2)
    choice = np.where(arrived, 0, np.where(best == 0, 1, np.where(left, 2, 3)))
    if action is not None and action.name == "velocity":
        return _speeds(bearing, choice, best, angle)
    return Chunk(np.eye(4)[choice][:, None], arrived[:, None])


def _speeds(bearing: Floats, choice: Ints, best: Ints, angle: float) -> Chunk:
    """Speeds in the place of choices: while ahead, it turns to the bearing as well."""
    most = Velocity.dims[1].scale
    turn = np.where(
        best == 0, np.clip(bearing, -angle / 2, angle / 2), wrapped(np.asarray(angle * best, dtype=np.float64))
    )
    actions = np.stack([np.where(choice == 1, 1.0, 0.0), np.clip(turn / most, -1.0, 1.0)], axis=1)
    weak = (choice > 1) & (np.abs(actions[:, 1]) < Velocity.LEAST)  # it would declare itself done
    actions[weak, 1] = Velocity.LEAST
    actions[choice == 0] = 0.0
    return Chunk(actions[:, None], (choice == 0)[:, None])
