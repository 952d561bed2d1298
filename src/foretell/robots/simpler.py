"""SIMPLER's controllers. Where its paper and its code differ, the code is the default and the paper's is named so.

Actions are metres and radians, not shares of a range: translation and rotation (axis-angle) in the base frame.

| name | robot | delta is added to | plan |
|---|---|---|---|
| `ee_profile` | Google | the pose the arm has | fastest profile from the end of the last one |
| `ee_profile_paper` | Google | the same | fastest profile from the joints the arm has |
| `grip_profile` | Google | the last target of the fingers | fastest profile from where the fingers are |
| `grip_profile_paper` | Google | the same | fastest profile from the end of the last one |
| `ee_step` | WidowX | the last target, turned about the point where the tool is | at once |
| `ee_step_paper` | WidowX | the last target, turned about itself | at once |
| `grip_step` | WidowX | (absolute) | at once |

Final.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.robots.closed_loop import ClosedLoop
from foretell.robots.controller import Controller
from foretell.robots.profile import Limits, Profile, fastest
from foretell.robots.robot import Robot
from foretell.rotation import from_axis_angle, multiply, rotate
from foretell.spec import DimSpec

__all__ = ["FingerProfile", "FingerStep", "PoseProfile", "PoseStep"]

TRANSLATION, ROTATION = 0.2, math.pi / 2
"""Ranges of an action, m and rad. SIMPLER has none: no policy reaches these."""


def _deltas(anchor: Literal["achieved", "target"]) -> tuple[DimSpec, DimSpec]:
    """In metres and radians."""
    same: dict[str, Any] = {"size": 3, "mode": "delta", "frame": "base", "anchor": anchor}
    return (
        DimSpec(meaning="translation", unit="m", low=-TRANSLATION, high=TRANSLATION, **same),
        DimSpec(meaning="rotation", unit="rad", low=-ROTATION, high=ROTATION, rotation="axis_angle", **same),
    )


class _Reaching:
    """Inverse kinematics that may fail, and counts it."""

    def __init__(self, robot: Robot, group: str, slots: int):
        self.kinematics = ClosedLoop(robot, slots, group)
        self.failures = np.zeros(slots, dtype=np.int64)

    def solve(self, slots: Ints, q: Floats, pos: Floats, quat: Floats) -> Floats:
        """(n, joints) for a pose, or q where there are none."""
        goal, arrived = self.kinematics.solve(slots, q, pos, quat)
        self.failures[slots] += ~arrived
        return goal


def _asks(actions: Floats) -> Bools:
    """(n,) whether deltas ask for a motion: 1 mm or 10 mrad."""
    return np.asarray((np.abs(actions) >= np.array([0.001] * 3 + [0.01] * 3)).any(axis=1))


class PoseProfile(Profile):
    """`ee_profile`: Google's arm. The pose that the tool has, plus a delta; inverse kinematics; then the fastest
    profile of all joints. Where inverse kinematics fails the goal is the joints that the arm has."""

    dims = _deltas("achieved")
    LIMITS: Limits = (1.5, 2.0, 50.0)
    sensed = False
    """Whether a plan begins where the joints are, and not where the last one is."""

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, group=group, slots=slots, tick=tick, most_delay=most_delay)
        self._reaching = _Reaching(robot, group, slots)

    def reset(self, slots: Ints, q: Floats, delay: Ints) -> None:
        super().reset(slots, q, delay)
        self._reaching.failures[slots] = 0

    def counts(self, slots: Ints) -> dict[str, Ints]:
        return {"ik_failures": self._reaching.failures[slots]}

    def moves(self, actions: Floats, q: Floats) -> Bools:
        return _asks(actions)

    def _plan(self, slots: Ints, actions: Floats, q: Floats, v: Floats, ticks: Ints) -> tuple[Floats, Floats]:
        pos, quat = self._reaching.kinematics.forward(slots, q)
        pos, quat = pos + actions[:, :3], multiply(from_axis_angle(actions[:, 3:6]), quat)
        goal = self._reaching.solve(slots, q, pos, quat)
        start, rate = (q, np.clip(v, -self.LIMITS[0], self.LIMITS[0])) if self.sensed else self._now(slots)
        return fastest(start, rate, goal, ticks, self.tick, self.LIMITS)


class PoseProfilePaper(PoseProfile):
    """`ee_profile_paper`: as `ee_profile`, from the joints that the arm has (Algorithm 1)."""

    sensed = True


class FingerProfile(Profile):
    """`grip_profile`: Google's fingers. +1 closes: a delta of 1.31 rad to the last target. Their velocity is a target
    too. An action below 0.001 keeps the goal of the last one."""

    SPAN = 1.31
    SLACK = 0.01
    """How far a goal may lie beyond a joint's limit, rad: it presses."""
    SMALL = 1e-3
    LIMITS: Limits = (1.0, 7.0, 50.0)
    sensed = True
    dims = (DimSpec(meaning="gripper", unit="rad", scale=SPAN, mode="delta", anchor="target", grips="closing"),)

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, group=group, slots=slots, tick=tick, most_delay=most_delay)
        self._lead[:] = robot.lead(group)

    def set_lead(self, slots: Ints, lead: Floats) -> None:
        self._lead[slots] = lead

    def moves(self, actions: Floats, q: Floats) -> Bools:
        return np.asarray((np.abs(self.SPAN * actions) >= self.SMALL).any(axis=1))

    def _plan(self, slots: Ints, actions: Floats, q: Floats, v: Floats, ticks: Ints) -> tuple[Floats, Floats]:
        delta = self.SPAN * np.clip(actions, -1.0, 1.0)
        last, speed = self._now(slots)
        goal = np.clip(last + delta, self.low - self.SLACK, self.high + self.SLACK)
        self._goal[slots] = goal = np.where(np.abs(delta) < self.SMALL, self._goal[slots], goal)
        start, rate = (q, np.clip(v, -self.LIMITS[0], self.LIMITS[0])) if self.sensed else (last, speed)
        return fastest(start, rate, goal, ticks, self.tick, self.LIMITS)

    def _coming(self, slots: Ints, elapsed: Ints) -> Floats:
        index = np.minimum(elapsed, self._at.shape[1] - 1)
        rows = slots[:, None]
        ideal = np.clip(self._at[rows, index], self.low, self.high)
        ahead: Floats = ideal + self._lead[rows] * self._rate[rows, index]
        return ahead


class FingerProfilePaper(FingerProfile):
    """`grip_profile_paper`: as `grip_profile`, from the end of the last profile."""

    sensed = False


class PoseStep(Controller):
    """`ee_step`: WidowX's arm. The last target, moved by a delta and turned about the point where the tool is; inverse
    kinematics; the joints are targets at once. Where inverse kinematics fails the arm stops where it is, and the target
    pose moves on all the same."""

    dims = _deltas("target")
    about_tool = True

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, group=group, slots=slots, tick=tick, most_delay=most_delay)
        self._reaching = _Reaching(robot, group, slots)
        self._pos, self._quat = np.zeros((slots, 3)), np.zeros((slots, 4))

    def reset(self, slots: Ints, q: Floats, delay: Ints) -> None:
        super().reset(slots, q, delay)
        self._reaching.failures[slots] = 0
        self._pos[slots], self._quat[slots] = self._reaching.kinematics.forward(slots, q)

    def counts(self, slots: Ints) -> dict[str, Ints]:
        return {"ik_failures": self._reaching.failures[slots]}

    def moves(self, actions: Floats, q: Floats) -> Bools:
        return _asks(actions)

    def _goals(self, slots: Ints, actions: Floats, now: Floats, q: Floats, seconds: Floats) -> tuple[Floats, Floats]:
        turn = from_axis_angle(actions[:, 3:6])
        pos, _ = self._reaching.kinematics.forward(slots, q)
        pivot = pos if self.about_tool else self._pos[slots]
        self._pos[slots] = pivot + rotate(turn, self._pos[slots] - pivot) + actions[:, :3]
        self._quat[slots] = multiply(turn, self._quat[slots])
        goal = self._reaching.solve(slots, q, self._pos[slots], self._quat[slots])
        return goal, goal


class PoseStepPaper(PoseStep):
    """`ee_step_paper`: as `ee_step`, turned about the target itself (Algorithm 2)."""

    about_tool = False


class FingerStep(Controller):
    """`grip_step`: WidowX's fingers. +1 opens, -1 shuts, 1 mm beyond the stops, so that they press."""

    SLACK = 0.001
    dims = (DimSpec(meaning="gripper opening", unit="1", grips="opening"),)

    def _goals(self, slots: Ints, actions: Floats, now: Floats, q: Floats, seconds: Floats) -> tuple[Floats, Floats]:
        low, high = self.low - self.SLACK, self.high + self.SLACK
        share = 0.5 * (1.0 + np.clip(actions, -1.0, 1.0))
        goal = np.clip(low + (high - low) * share, self.low, self.high) + np.zeros_like(q)
        return goal, goal
