"""Demonstrations of SIMPLER's tasks: their expert goes along its waypoints, is pushed now and then, and recovers.

As in `demos`, the expert's own answer is written down at every action, and only episodes that end well are kept. The
scenarios are drawn a little wider than the task draws them, so that the published corners lie inside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.policy import Chunk, Policy, PolicySpec
from foretell.rotation import from_yaw, multiply, yaw
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.spec import ActionSpec
from foretell.study.session import Session
from foretell.tasks.waypoints import Hand, Leg, Over, Seen, Waypoints
from foretell.train.demos import FIRST_SEED, LOST, Demos, demonstrated
from foretell.train.views import VIEWS

__all__ = ["PUSHES", "guide", "widened"]

PUSHES = 0.06
"""Chance per action that a push begins."""
PUSH = (0.02, 0.12)
"""Standard deviations of a push, m and rad per action."""
WIDER, TURN = 1.15, 0.15
"""How much wider than the task's own the scenarios of demonstrations are, and how much more objects are turned, rad."""
LEAN = math.pi / 4
"""rad: see `Leaning`."""
OPEN = -0.6
"""How far the fingers of the WidowX open: in the sink they would hit the walls."""
CUBES = ("green-block", "yellow-block")
"""Assets that look the same after a quarter turn."""
HELD = ("up", "across", "lower")
"""Legs on which the expert carries the object; when it is lost there, the expert starts over."""
REST = 6
"""Actions after the expert's last leg, before it declares itself done."""


def widened(scenario: Scenario, middle: np.ndarray) -> Scenario:
    """A scenario whose objects stand farther from the middle of the table, and are turned by a little more."""
    rng = generator(scenario.base, 0, "widened")
    moved = {}
    for name, placement in sorted(scenario.placements.items()):
        x, y = (middle + WIDER * (np.array(placement.pos[:2]) - middle)).tolist()
        quat = np.array(placement.quat)
        if placement.asset in CUBES:  # so that the sides change at 45 degrees, where no published layout is
            quat = multiply(from_yaw(-math.pi / 2 * round(float(yaw(quat)) / (math.pi / 2))), quat)
        w, i, j, k = multiply(from_yaw(rng.uniform(-TURN, TURN)), quat).tolist()
        moved[name] = placement.model_copy(update={"pos": (x, y, placement.pos[2]), "quat": (w, i, j, k)})
    return scenario.model_copy(update={"placements": moved})


@dataclass(frozen=True)
class Leaning(Over):
    """As `Over`, but of the two ways to hold an object the hand takes the one that is nearer to itself turned by
    `LEAN`. Objects are turned by 0 to 90 degrees: the nearest way changes sides at a published layout, where no student
    could tell which side to turn to."""

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        return super().points((hand[0], multiply(from_yaw(LEAN), hand[1])), seen)


def _teachable(leg: Leg, sink: bool) -> Leg:
    """A leg as a student can learn it: it opens the fingers as far in every task, and turns to one side."""
    leg, way = replace(leg, grip=max(leg.grip, OPEN)), leg.way
    if sink or type(way) is not Over or way.facing is None:
        return leg
    return replace(leg, way=Leaning(way.part, way.pos, way.facing, way.symmetry))


class Guide(Policy):
    """The expert, pushed; remembers what it saw and what it would have done."""

    def __init__(self, pushes: float):
        self.pushes = pushes
        self.steps: dict[int, list[tuple[Any, ...]]] = {}
        """Seed that the policy was reset with, which names the episode -> its steps."""
        self._seed: dict[int, int] = {}
        self._rng: dict[int, np.random.Generator] = {}
        self._left: dict[int, int] = {}
        self._idle: dict[int, int] = {}
        self._push: dict[int, np.ndarray] = {}

    def bind(self, task: Any, action: ActionSpec) -> None:
        script = task.expert()
        assert isinstance(script, Waypoints)
        if VIEWS[task.name].robot == "widowx":
            legs = {robot: [_teachable(leg, "sink" in task.table) for leg in way] for robot, way in script.legs.items()}
            script = Waypoints(legs)
        script.bind(task, action)
        self._script, self._view, self._low, self._high = script, VIEWS[task.name], action.low, action.high
        self._scale = self._view.scale(action)
        view = self._view
        self.spec = PolicySpec(
            reads={**script.spec.reads, **view.own, **view.poses, **view.pictures},
            action=action,
            action_rate=task.action_rate,
            batch=None,
            seeded=True,
        )

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._script.reset(slots, instructions, seeds)
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self._seed[slot], self.steps[seed] = seed, []
            self._rng[slot], self._left[slot] = np.random.default_rng([seed, 7]), 0
            self._idle[slot] = 0

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        robot, script, view = self._view.robot, self._script, self._view
        self._start_over(slots, observations)
        aims = {slot: script._runs[robot, slot].aim for slot in slots.tolist()}
        wanted = script.act(slots, observations)
        parts = [observations[name] for name in (*view.own, *view.poses)]
        if len(set(view.things)) == 1:  # once more, so that all states have the same size
            parts += parts[-2:]
        states = np.concatenate(parts, axis=1).astype(np.float32)
        (picture,) = (observations[name] for name in view.pictures)
        done, ends = wanted.copy(), np.zeros((len(slots), 1), dtype=bool)
        for row, slot in enumerate(slots.tolist()):
            pushed = self._pushed(slot)
            if pushed:
                done[row] = np.clip(self._disturb(slot, wanted[row]), self._low, self._high)
                self._correct(slot, aims[slot], done[row], {k: v[row] for k, v in observations.items()})
            self._idle[slot] += script._runs[robot, slot].leg >= len(script.legs[robot])
            ends[row] = self._idle[slot] >= REST
            step = (states[row], wanted[row] / self._scale, not pushed, picture[row].copy())
            self.steps[self._seed[slot]].append(step)
        return Chunk(done[:, None], ends)

    def _start_over(self, slots: np.ndarray, seen: Mapping[str, Any]) -> None:
        robot = self._view.robot
        away = np.linalg.norm(seen[f"{robot}/ee_pos"] - seen[f"{self._view.things[0]}/pos"], axis=1) > LOST
        for slot in slots[away].tolist():
            run = self._script._runs[robot, slot]
            legs = self._script.legs[robot]
            if run.leg < len(legs) and legs[run.leg].name in HELD:
                self._script.reset(np.array([slot]), (), ())
                self._script._runs[robot, slot].aim = run.aim

    def _pushed(self, slot: int) -> bool:
        """Whether somebody else acts now."""
        rng = self._rng[slot]
        if self._left[slot] > 0:
            self._left[slot] -= 1
            return True
        if rng.uniform() >= self.pushes:
            return False
        self._left[slot] = int(rng.integers(0, 2))
        lets_go = -1.0 if rng.uniform() < 0.12 else 1.0
        self._push[slot] = np.concatenate([rng.normal(0, PUSH[0], 3), rng.normal(0, PUSH[1], 3), [lets_go]])
        return True

    def _disturb(self, slot: int, wanted: np.ndarray) -> np.ndarray:
        push = self._push[slot]
        return np.concatenate([wanted[:6] + push[:6], wanted[6:] * push[6]])

    def _correct(self, slot: int, aim: Any, done: np.ndarray, seen: Mapping[str, Any]) -> None:
        """The expert keeps account of the pose that its controller was told to reach; it was told another one."""
        script, robot = self._script, self._view.robot
        run = script._runs[robot, slot]
        if script._about_tool is not None:
            run.aim = aim if aim is not None else (seen[f"{robot}/ee_pos"], seen[f"{robot}/ee_quat"])
            script._aim_on(robot, run, seen, [done[:3], done[3:6], done[6:]])


def guide(
    task: str,
    count: int,
    *,
    seed: int = 0,
    pushes: float = PUSHES,
    slots: int = 16,
    world: str = "mujoco",
) -> Demos:
    """`count` successful episodes, with pictures, in a world or the world of a file."""
    teacher = Guide(pushes)
    session = Session(task=task, controller=None, world=world, policies={"teacher": teacher}, slots=slots, threads=1)
    start = FIRST_SEED + seed * 1_000_000
    spots = [p.pos[:2] for s in session.world.task.layouts() for p in s.placements.values()]
    middle = (np.min(spots, axis=0) + np.max(spots, axis=0)) / 2
    drawn = (session.world.task.scenario(s) for s in range(start, start + 1_000_000))
    if "sink" not in session.world.task.table:  # in the sink it is known only near layouts how a thing lies
        drawn = (widened(s, middle) for s in drawn)
    episodes = demonstrated(session, teacher, iter(drawn), count)
    column = [[step[i] for steps in episodes for step in steps] for i in range(4)]
    return Demos(
        states=np.array(column[0], dtype=np.float32),
        actions=np.array(column[1], dtype=np.float32),
        calm=np.array(column[2], dtype=bool),
        episode=np.repeat(np.arange(len(episodes)), [len(steps) for steps in episodes]),
        pictures=np.array(column[3])[:, None],
    )
