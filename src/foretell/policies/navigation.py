"""Scripts that navigate, of graded skill. Each reads other sensors, so that worlds suit them differently.

All turn towards a direction that they want and go ahead (`tasks.steer`). None knows the map, but for `oracle`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.policy import Chunk, Policy, PolicySpec
from foretell.robots.base import CHOICES
from foretell.robots.locobot import LoCoBot
from foretell.spec import ActionSpec, Stream
from foretell.tasks.route import CHOICE, ShortestPath
from foretell.tasks.steer import NEEDED, clear, headings, steer, turn_angle, wrapped

__all__ = ["Bug", "Bumper", "GoalFollower", "LidarPlanner", "Navigator", "Oracle"]

GOAL = {"goal/polar": Stream((2,))}
LIDAR = {"locobot/lidar": Stream((LoCoBot.BEAMS,))}
ENOUGH = 0.16
"""m at which an agent stops: it believes to be within 0.2 m."""


class Navigator(Policy):
    """Base of the scripts: what they keep of each slot's episode, and how they act."""

    reads: Mapping[str, Stream] = GOAL

    def __init__(self) -> None:
        self.spec = PolicySpec(reads=dict(self.reads), action=CHOICE, action_rate=1.0, batch=None)
        self._memory: dict[str, np.ndarray] = {}
        self._angle = math.radians(30.0)

    def bind(self, task: Any, action: ActionSpec) -> None:
        self.spec = replace(self.spec, action=action, action_rate=task.action_rate)
        self._angle = turn_angle(action)

    def fresh(self) -> Mapping[str, Any]:
        """What a slot keeps, by name, as it is when an episode begins."""
        return {"last": 0}

    def reset(self, slots: Ints, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        top = int(np.max(slots)) + 1
        for name, value in self.fresh().items():
            array = np.asarray(value)
            kept = self._memory.get(name, np.zeros((0, *array.shape), dtype=array.dtype))
            if top > len(kept):
                more = np.zeros((top - len(kept), *array.shape), dtype=array.dtype)
                kept = self._memory[name] = np.concatenate([kept, more])
            kept[slots] = array

    def go(self, bearing: Floats, arrived: Bools, room: Floats) -> Chunk:
        """Actions towards bearings (n,), given room (n, k) in each direction."""
        return steer(bearing, arrived, room, self._angle, self.spec.action)

    def settled(self, slots: Ints, chunk: Chunk, room: Floats) -> Chunk:
        """The actions, but none that only undoes the turn before: ahead where there is room (n, k), or else on."""
        if chunk.actions.shape[2] != len(CHOICES):
            return chunk
        choice, last = np.argmax(chunk.actions[:, 0], axis=1), self._memory["last"][slots]
        undoes = ((choice == 2) & (last == 3)) | ((choice == 3) & (last == 2))
        choice = np.where(undoes, np.where(room[:, 0] >= NEEDED, 1, last), choice)
        self._memory["last"][slots] = choice
        return Chunk(np.eye(len(CHOICES))[choice][:, None], chunk.terminate)

    def free(self, slots: Ints) -> Floats:
        """(n, k) room without end in each direction, for who knows nothing of walls."""
        return np.full((len(slots), len(headings(self._angle))), np.inf)


class GoalFollower(Navigator):
    """Turns to the goal and goes ahead, whatever is in its way: it has GPS and compass only."""

    def act(self, slots: Ints, observations: Mapping[str, Any]) -> Chunk:
        distance, bearing = np.asarray(observations["goal/polar"]).T
        return self.go(bearing, distance < ENOUGH, self.free(slots))


class Bumper(Navigator):
    """Goes to the goal and, where it bumps into something, beside it for some steps: it has GPS, compass and bumper."""

    reads = {**GOAL, "locobot/bump": Stream((1,))}
    BESIDE, LONG = math.radians(60.0), 3
    """It aims so far beside the goal, for so many actions after a bump."""
    TIRED = 12
    """Bumps in a row after which it tries the other side."""

    def fresh(self) -> Mapping[str, Any]:
        return {**super().fresh(), "side": 0, "left": 0, "bumps": 0}

    def act(self, slots: Ints, observations: Mapping[str, Any]) -> Chunk:
        distance, bearing = np.asarray(observations["goal/polar"]).T
        bump, kept = observations["locobot/bump"][:, 0] > 0, self._memory
        side, left, bumps = kept["side"][slots], kept["left"][slots], kept["bumps"][slots] + bump
        side = np.where(bump & (side == 0), np.where(bearing >= 0, 1, -1), side)
        tired = bumps >= self.TIRED
        side, bumps = np.where(tired, -side, side), np.where(tired, 0, bumps)
        left = np.where(bump, self.LONG, np.maximum(left - 1, 0))
        kept["side"][slots], kept["left"][slots] = np.where(left > 0, side, 0), left
        kept["bumps"][slots] = np.where(left > 0, bumps, 0)
        return self.go(
            wrapped(bearing + np.where(left > 0, side * self.BESIDE, 0.0)), distance < ENOUGH, self.free(slots)
        )


class Bug(Navigator):
    """Goes to the goal, and around what is in its way along the wall: it feels 0.6 m far."""

    reads = {**GOAL, **LIDAR}
    FEELS = 0.6
    """m"""
    CLOSER = 0.3
    """m that it must be closer to the goal than where it met the wall, before it leaves the wall."""
    LONGEST = 60
    """Steps along a wall after which it tries the other way around."""

    def fresh(self) -> Mapping[str, Any]:
        return {**super().fresh(), "following": False, "met": 0.0, "side": 0, "turns": 0, "moves": False, "steps": 0}

    def act(self, slots: Ints, observations: Mapping[str, Any]) -> Chunk:
        distance, bearing = np.asarray(observations["goal/polar"]).T
        feels = np.where(observations["locobot/lidar"] < self.FEELS, observations["locobot/lidar"], LoCoBot.FURTHEST)
        room = clear(feels, self._angle)
        return self.around(slots, distance, bearing, room)

    def around(
        self, slots: Ints, distance: Floats, bearing: Floats, room: Floats, forced: Bools | None = None
    ) -> Chunk:
        """Actions to the goal at (n,) m and bearings (n,), along walls where there is no room (n, k) towards it.
        `forced` (n,): begin to follow a wall now."""
        kept, count, rows = self._memory, room.shape[1], np.arange(len(slots))
        ahead = np.round(bearing / self._angle).astype(int) % count
        blocked = room[rows, ahead] < np.minimum(NEEDED, distance)
        following, turns = kept["following"][slots], kept["turns"][slots]
        meets = ~following & (blocked if forced is None else blocked | forced)
        kept["met"][slots] = np.where(meets, distance, kept["met"][slots])
        kept["steps"][slots] = np.where(meets, 0, kept["steps"][slots])
        # where the goal is on the left it turns left, and has the wall on its right
        side = np.where(meets, np.where(bearing >= 0, 1, -1), kept["side"][slots])
        tired = following & (kept["steps"][slots] >= self.LONGEST)
        side, kept["steps"][slots] = np.where(tired, -side, side), np.where(tired, 0, kept["steps"][slots])
        leaves = following & (distance < kept["met"][slots] - self.CLOSER) & ~blocked
        following = (following | meets) & ~leaves
        # along a wall: the first free direction, from the side of the wall on; where it meets one, from straight ahead
        start = np.where(meets, 0, round(math.radians(90.0) / self._angle))[:, None]
        order = (-side[:, None] * (start - np.arange(count))) % count
        free = np.take_along_axis(room >= NEEDED, order, axis=1)
        chosen = np.where(free.any(axis=1), order[rows, np.argmax(free, axis=1)], np.argmax(room, axis=1))
        signed = np.where(chosen > count // 2, chosen - count, chosen)
        # what it has turned to it also goes, if there is still room
        picks = following & (turns == 0) & ~(kept["moves"][slots] & (room[:, 0] >= NEEDED))
        turns = np.where(picks, signed, np.where(following, turns, 0))
        kept["turns"][slots], kept["moves"][slots] = turns - np.sign(turns), following & (turns != 0)
        kept["following"][slots], kept["side"][slots] = following, side
        kept["steps"][slots] += following & (turns == 0)
        wanted = np.where(following, turns * self._angle, bearing)
        return self.go(wrapped(wanted), distance < ENOUGH, np.where(following[:, None], np.inf, room))


class LidarPlanner(Bug):
    """Plans around what its lidar sees, all around and 10 m far; follows a wall where that leads nowhere."""

    FINE = math.radians(5.0)
    """Directions that it considers are so far apart."""
    LOOKS = (0.5, 1.0, 2.0, 3.5, 5.0)
    """m that it considers to go in a direction."""
    PATIENCE = 14
    """Actions without coming closer to the goal after which it follows a wall."""

    def fresh(self) -> Mapping[str, Any]:
        return {**super().fresh(), "best": np.inf, "waited": 0}

    def act(self, slots: Ints, observations: Mapping[str, Any]) -> Chunk:
        distance, bearing = np.asarray(observations["goal/polar"]).T
        ranges, kept = observations["locobot/lidar"], self._memory
        closer = distance < kept["best"][slots] - 0.1
        kept["best"][slots] = np.where(closer, distance, kept["best"][slots])
        kept["waited"][slots] = np.where(closer, 0, kept["waited"][slots] + 1)
        lost = kept["waited"][slots] >= self.PATIENCE
        room = clear(ranges, self._angle)
        around = self.around(slots, distance, bearing, room, forced=lost)
        follows = kept["following"][slots] & lost
        kept["following"][slots] &= lost
        kept["turns"][slots] *= kept["following"][slots]
        direct = self.go(self._towards(ranges, distance, bearing), distance < ENOUGH, room)
        actions = np.where(follows[:, None, None], around.actions, direct.actions)
        return Chunk(actions, (distance < ENOUGH)[:, None])

    def _towards(self, ranges: Floats, distance: Floats, bearing: Floats) -> Floats:
        """(n,) rad to the left: where a straight way and then the straight line to the goal are shortest."""
        room, turn = clear(ranges, self.FINE), headings(self.FINE)
        gx, gy = distance * np.cos(bearing), distance * np.sin(bearing)
        looks = np.minimum(np.array(self.LOOKS), np.maximum(distance, 0.3)[:, None])[:, None]
        x, y = looks * np.cos(turn)[:, None], looks * np.sin(turn)[:, None]
        rest = np.hypot(gx[:, None, None] - x, gy[:, None, None] - y)
        cost = looks + rest + 0.05 * np.abs(wrapped(turn))[:, None]
        cost = np.where(room[:, :, None] >= looks, cost, np.inf)
        flat = cost.reshape(len(cost), -1)
        best = np.argmin(flat, axis=1) // cost.shape[2]
        return np.where(np.isfinite(flat.min(axis=1)), wrapped(turn[best]), bearing)


class Oracle(ShortestPath):
    """Follows the shortest way, which it is told: what the other agents are measured by."""
