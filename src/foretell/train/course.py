"""A course for learned navigation: robots on routes through apartments, side by side, with the expert's advice."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.planar.world import PlanarWorld
from foretell.robots.base import CHOICES
from foretell.robots.locobot import LoCoBot
from foretell.rooms import DistanceField, Room, draw_route, ways_of
from foretell.scenario import Scenario
from foretell.spec import Stream
from foretell.tasks.pointnav import PointNav
from foretell.tasks.route import ShortestPath
from foretell.world import slot_array

__all__ = ["RAYS", "Course", "routes"]

FIRST_APARTMENT = 100_000
"""No scenario of a study is in an apartment from this number on."""
RAYS = {"locobot/lidar": LoCoBot.BEAMS, "locobot/depth_rays": LoCoBot.COLUMNS}
"""Streams of distances -> how many."""
LONGEST = 120
"""Actions of an episode."""


def routes(count: int, seed: int, each: int = 6) -> list[Scenario]:
    """`count` routes that no study has, `each` in one apartment."""
    task, rng, drawn = PointNav(), np.random.default_rng([seed, 11]), list[Scenario]()
    while len(drawn) < count:
        apartment = FIRST_APARTMENT + 1000 * seed + len(drawn) // each
        room = Room.named(f"apartment:{apartment}")
        start, goal, _ = draw_route(room, LoCoBot.RADIUS, rng)
        drawn.append(task.between(room, start, goal, seed=len(drawn)))
    return drawn


class Course:
    """Episodes on the routes, in every slot one after the other. All arrays have a leading slot axis."""

    def __init__(self, world: dict[str, Any], scenarios: list[Scenario], slots: int, stream: str):
        task = PointNav()
        self.world = PlanarWorld(task, {"name": "course", "kind": "planar", **world}, slots=slots)
        self.slots, self._scenarios = slot_array(range(slots)), scenarios
        self._next, self._trial = 0, np.zeros(len(scenarios), dtype=np.int64)
        self._expert = ShortestPath()
        self._expert.bind(task, self.world.action)
        self._reads = {"goal/polar": Stream((2,)), "locobot/bump": Stream((1,)), stream: Stream((RAYS[stream],))}
        self._stream, self._to = stream, dict[int, DistanceField]()
        self._age, self._ticks = np.zeros(slots, dtype=np.int64), np.full(slots, round(1.0 / self.world.tick))
        self._start(self.slots)

    def _start(self, slots: Ints) -> None:
        if not len(slots):
            return
        picks = [(self._next + i) % len(self._scenarios) for i in range(len(slots))]
        self._next += len(slots)
        self.world.reset(slots, [self._scenarios[i] for i in picks], [int(self._trial[i]) for i in picks])
        for slot, scenario in zip(slots.tolist(), (self._scenarios[i] for i in picks), strict=True):
            goal = scenario.placements["goal"].pos[:2]
            self._to[slot] = ways_of(Room.named(scenario.placements["room"].asset), LoCoBot.RADIUS).field(goal)
        self._trial[picks] += 1
        self._age[slots] = 0

    def look(self) -> Floats:
        """What a student sees (n, rays + 3)."""
        seen = self.world.observe(self.slots, self._reads)
        return np.concatenate([seen[self._stream], seen["goal/polar"], seen["locobot/bump"]], axis=1).astype(np.float32)

    def advice(self) -> Ints:
        """What the expert would choose (n,)."""
        seen = self.world.observe(self.slots, dict(self._expert.spec.reads))
        return np.asarray(np.argmax(self._expert.act(self.slots, seen)[:, 0], axis=1))

    def left(self) -> Floats:
        """m along the floor to the goal (n,)."""
        pose = self.world.observe(self.slots, {"locobot/pose": Stream((3,))})["locobot/pose"]
        return np.array([self._to[slot](pose[slot : slot + 1, :2])[0] for slot in self.slots.tolist()])

    def step(self, choice: Ints) -> tuple[Bools, Bools]:
        """Act (n,) and begin anew where an episode ends: which ended (n,), and which of these were solved (n,)."""
        self.world.command(self.slots, np.eye(len(CHOICES))[choice], self._ticks)
        self.world.advance(self.slots, self._ticks)
        self._age += 1
        solved = np.asarray(self.world.progress(self.slots))
        ended = np.asarray(self.world.over(self.slots)) | (self._age >= LONGEST)
        self._start(self.slots[ended])
        return ended, solved & ended
