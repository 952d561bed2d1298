"""Controllers: they turn actions into targets for the actuators, tick by tick. Loops close in the actuators.

A controller moves one group of one robot. It holds one plan per slot: a straight way from where the target was to
where the action wants it, then the tail, which holds. `command` replaces the plan from the current tick; `targets`
yields the coming ticks. What no action commands holds its start. Plans of other shapes: `robots.profile`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.errors import UsageError, suggest
from foretell.registry import names, resolve
from foretell.robots.kinematics import Kinematics
from foretell.robots.robot import Robot
from foretell.rotation import from_axis_angle, multiply
from foretell.spec import GRIPPER, ActionSpec, DimSpec, ee_delta

__all__ = [
    "Controller",
    "EndEffectorDelta",
    "EndEffectorTarget",
    "Grip",
    "JointPosition",
    "controllers",
    "counted",
    "scheme",
]


class Controller:
    """Base: the plan, and the delay between a target and the actuator. Subclasses set `dims` and `_goals`."""

    dims: tuple[DimSpec, ...]
    """What an action means."""
    version: int = 1
    """Of a controller that comes with foretell: raised whenever a change could alter what it does."""

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        self.robot, self.group, self.tick = robot, robot.groups[group], tick
        width = self.group.width
        self.low, self.high = np.asarray(self.group.low[:width]), np.asarray(self.group.high[:width])
        self.speed = np.asarray(self.group.speed[:width])
        self._start, self._goal = np.zeros((slots, width)), np.zeros((slots, width))
        self._ramp, self._elapsed = np.ones(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)
        self._delay = np.zeros(slots, dtype=np.int64)
        self._sent = np.zeros((slots, most_delay, width))

    @property
    def size(self) -> int:
        """Numbers in an action."""
        return sum(d.size for d in self.dims)

    def reset(self, slots: Ints, q: Floats, delay: Ints) -> None:
        """Hold positions q (n, width); `delay` (n,) in ticks."""
        self._start[slots] = self._goal[slots] = q
        self._ramp[slots], self._elapsed[slots] = 1, 1
        assert np.max(delay, initial=0) <= self._sent.shape[1], "the delay is longer than what is kept"
        self._delay[slots] = delay
        self._sent[slots] = q[:, None]

    def command(self, slots: Ints, actions: Floats, q: Floats, v: Floats, ticks: Ints) -> None:
        """Replace the plans: actions (n, size) at measured positions q and velocities v (n, width), to last `ticks`
        (n,)."""
        now = self.current(slots)
        now, goal = self._goals(slots, actions, now, q, np.multiply(ticks, self.tick))
        self._start[slots], self._goal[slots] = now, goal
        self._ramp[slots], self._elapsed[slots] = ticks, 0

    def set_lead(self, slots: Ints, lead: Floats) -> None:
        """Slots may have robots with other gains: `Robot.lead` (n, width) of each. Most controllers do not use it."""

    def _goals(self, slots: Ints, actions: Floats, now: Floats, q: Floats, seconds: Floats) -> tuple[Floats, Floats]:
        """(n, width) where the plans begin, at the targets `now` unless there is a reason, and where they lead."""
        raise NotImplementedError

    def moves(self, actions: Floats, q: Floats) -> Bools:
        """(n,) bool: do actions (n, size) tell the group to move, from measured positions q (n, width)? They do by a
        tenth of the range of some delta, or a hundredth of a joint's range away from where it is."""
        if all(dim.mode == "delta" for dim in self.dims):
            return np.asarray((np.abs(actions) >= self._least).any(axis=1))
        if actions.shape == q.shape:
            return np.asarray((np.abs(actions - q) >= 0.01 * (self.high - self.low)).any(axis=1))
        return np.ones(len(actions), dtype=bool)  # nobody can tell: whoever is given a target is to go there

    @cached_property
    def _least(self) -> Floats:
        highest = [np.broadcast_to(np.abs(np.asarray(d.high, float)), d.size) for d in self.dims]
        least: Floats = 0.1 * np.concatenate(highest)
        return least

    @cached_property
    def _range(self) -> tuple[Floats, Floats]:
        """(size,) lowest and highest numbers of an action."""
        spec = ActionSpec("", self.dims)
        return spec.low, spec.high

    def current(self, slots: Ints) -> Floats:
        """(n, width) the target at this tick, as last sent."""
        share = np.minimum(self._elapsed[slots] / self._ramp[slots], 1.0)[:, None]
        return self._start[slots] + share * (self._goal[slots] - self._start[slots])

    def _coming(self, slots: Ints, elapsed: Ints) -> Floats:
        """(n, ticks, width) targets at these ticks (n, ticks) of the plans; the first tick of a plan is 1."""
        share = np.minimum(elapsed / self._ramp[slots][:, None], 1.0)[:, :, None]
        start, goal = self._start[slots][:, None], self._goal[slots][:, None]
        ideal: Floats = start + share * (goal - start)
        return ideal

    def counts(self, slots: Ints) -> dict[str, Ints]:
        """Metric -> (n,) how often it happened since the reset, for the row of the episode."""
        return {}

    def targets(self, slots: Ints, ticks: int) -> Floats:
        """(n, ticks, width) targets of the coming ticks, as the actuators see them; moves the plans on."""
        ideal = self._coming(slots, self._elapsed[slots][:, None] + np.arange(1, ticks + 1))
        self._elapsed[slots] += ticks
        most = self._sent.shape[1]
        if most == 0:
            return ideal
        line = np.concatenate([self._sent[slots], ideal], axis=1)
        self._sent[slots] = line[:, -most:]
        index = most + np.arange(ticks) - self._delay[slots][:, None]
        return np.take_along_axis(line, index[:, :, None], axis=1)

    def ahead(self, slots: Ints, ticks: int) -> Floats:
        """As `targets`, and the plans stay where they are."""
        elapsed, sent = self._elapsed[slots], self._sent[slots]
        coming = self.targets(slots, ticks)
        self._elapsed[slots], self._sent[slots] = elapsed, sent
        return coming

    def _within_speed(self, now: Floats, goal: Floats, seconds: Floats) -> Floats:
        """Goals that no joint must exceed its speed for: the whole step shrinks, so its direction is kept."""
        step = goal - now
        excess = np.max(np.abs(step) / (self.speed * seconds[:, None]), axis=1)
        slowed: Floats = step / np.maximum(excess, 1.0)[:, None]
        return now + slowed


class JointPosition(Controller):
    """`joint`: absolute joint positions, rad or m."""

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, group=group, slots=slots, tick=tick, most_delay=most_delay)
        low, high = tuple(map(float, self.low)), tuple(map(float, self.high))
        joints = DimSpec(meaning="joint position", unit=self.group.unit, size=self.group.width, low=low, high=high)
        self.dims = (joints,)

    def _goals(self, slots: Ints, actions: Floats, now: Floats, q: Floats, seconds: Floats) -> tuple[Floats, Floats]:
        return now, self._within_speed(now, np.clip(actions, self.low, self.high), seconds)


class EndEffectorDelta(Controller):
    """`ee_delta`: translation and rotation of the end effector; see `spec.ee_delta`.

    The delta is applied to the pose the robot has (anchor `achieved`) or was last told to reach (`target`), and
    inverse kinematics turns it into joint targets.
    """

    dims = ee_delta("achieved").dims[:2]

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, group=group, slots=slots, tick=tick, most_delay=most_delay)
        self._kinematics = Kinematics(robot, slots, group)

    def _goals(self, slots: Ints, actions: Floats, now: Floats, q: Floats, seconds: Floats) -> tuple[Floats, Floats]:
        translation, rotation = (d.scale for d in self.dims)
        actions = np.clip(actions, *self._range)
        anchor = self._goal[slots] if self.dims[0].anchor == "target" else q
        pos, quat = self._kinematics.forward(slots, anchor)
        pos = pos + translation * actions[:, :3]
        quat = multiply(from_axis_angle(rotation * actions[:, 3:6]), quat)
        return now, self._within_speed(now, self._kinematics.approach(slots, anchor, pos, quat), seconds)


class EndEffectorTarget(EndEffectorDelta):
    """`ee_delta_target`: as `ee_delta`, from the pose the robot was last told to reach."""

    dims = ee_delta("target").dims[:2]


class Grip(Controller):
    """`grip`: -1 opens, +1 closes; in a range of one's own, the lowest number opens and the highest closes."""

    dims = (GRIPPER,)
    WINDUP = 0.01
    """How far the target may run ahead of a sliding finger, m: enough for full force, quick to let go."""
    SHARE = 0.25
    """The same for a turning finger, as a share of its range."""

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, group=group, slots=slots, tick=tick, most_delay=most_delay)
        turns = self.group.unit != "m"
        self.version = 2 if turns else 1  # a turning finger had the metres of a sliding one, in rad
        self._ahead = self.SHARE * (self.high - self.low) if turns else np.full(self.group.width, self.WINDUP)

    def _goals(self, slots: Ints, actions: Floats, now: Floats, q: Floats, seconds: Floats) -> tuple[Floats, Floats]:
        shut, wide = (self.high, self.low) if self.group.shut == "high" else (self.low, self.high)
        low, high = self._range
        goal = shut + (wide - shut) * ((high - np.clip(actions, low, high)) / (high - low))
        now = np.clip(now, q - self._ahead, q + self._ahead)
        reach = self.speed * seconds[:, None]
        return now, np.clip(goal, now - reach, now + reach)


def scheme(name: str, robots: Mapping[str, Robot]) -> dict[tuple[str, str], str]:
    """(Robot, group) -> its controller, as `controller` of a task or study says it.

    `ee_delta` moves the first group of every robot so, and what has pads by `grip`. `ee_delta+head:joint` also moves
    the head of every robot that has one, `ee_delta+left/head:joint` that of the robot `left` alone."""
    groups = {(called, group): robot for called, robot in robots.items() for group in robot.groups}
    named = {key: "grip" for key, robot in groups.items() if robot.groups[key[1]].pads}
    first, *others = name.split("+")
    if ":" in first:
        others = [first, *others]
    else:
        named |= {(called, robot.first()): first for called, robot in robots.items()}
    for part in others:
        group, colon, controller = part.partition(":")
        if not colon:
            raise UsageError(f"controller: {part!r:.100} in {name!r:.200} should be written group:controller")
        meant = [key for key in groups if group in (key[1], "/".join(key))]
        if not meant:
            known = list(dict.fromkeys(key[1] for key in groups))
            raise UsageError(f"controller: no robot has a group {group!r:.100}; {suggest(group, known)}")
        named |= dict.fromkeys(meant, controller)
    for controller in named.values():
        if controller not in names("controllers") and ":" not in controller:
            known = names("controllers")
            raise UsageError(f"controller: {controller!r:.200} is not known; {suggest(controller, known)}")
    return {key: named[key] for key in groups if key in named}


def counted(moving: Iterable[Controller], slot: Ints) -> dict[str, float]:
    """What controllers count in one slot (1,), summed over them."""
    total: dict[str, float] = {}
    for controller in moving:
        for name, count in controller.counts(slot).items():
            total[name] = total.get(name, 0.0) + float(count[0])
    return total


def controllers(
    name: str, robots: Mapping[str, Robot], slots: int, tick: float, most_delay: int = 0
) -> tuple[dict[tuple[str, str], Controller], ActionSpec]:
    """(Robot, group) -> its controller, in the order of the action; and the action that all of them take together."""
    by_group: dict[tuple[str, str], Controller] = {}
    dims: list[DimSpec] = []
    for (called, group), kind in scheme(name, robots).items():
        controller = resolve("controllers", kind)(
            robots[called], group=group, slots=slots, tick=tick, most_delay=most_delay
        )
        by_group[called, group] = controller
        dims += [dataclasses.replace(d, robot=called, group=group) for d in controller.dims]
    return by_group, ActionSpec(name, tuple(dims))
