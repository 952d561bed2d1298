"""Controllers: they turn actions into targets for the actuators, tick by tick. Loops close in the actuators.

A controller holds one plan per slot: a straight way from where the target was to where the action wants it,
then the tail, which holds. `command` replaces the plan from the current tick; `targets` yields the coming ticks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.robots.kinematics import Kinematics
from foretell.rotation import from_axis_angle, multiply
from foretell.spec import ActionSpec, ee_delta, joint_positions

__all__ = ["CONTROLLERS", "Controller", "EndEffectorDelta", "JointPosition", "make_controller"]


class Controller:
    """Base: the plan, the limits of arm and gripper, and the delay between a target and the actuator."""

    action: ActionSpec
    WINDUP = 0.01
    """How far the gripper's target may run ahead of the finger, m: enough for full force, quick to let go."""

    def __init__(self, robot: Any, slots: int, tick: float, most_delay: int = 0):
        self.robot, self.tick = robot, tick
        self.joints = len(robot.joints)
        width = self.joints + 1
        self._start, self._goal = np.zeros((slots, width)), np.zeros((slots, width))
        self._ramp, self._elapsed = np.ones(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)
        self._delay = np.zeros(slots, dtype=np.int64)
        self._sent = np.zeros((slots, most_delay, width))

    def reset(self, slots: np.ndarray, q: np.ndarray, finger: np.ndarray, delay: np.ndarray) -> None:
        """Hold joint positions q (n, joints) and finger positions (n,); `delay` (n,) in ticks."""
        hold = np.concatenate([q, finger[:, None]], axis=1)
        self._start[slots] = self._goal[slots] = hold
        self._ramp[slots], self._elapsed[slots] = 1, 1
        self._delay[slots] = delay
        self._sent[slots] = hold[:, None]

    def command(
        self, slots: np.ndarray, actions: np.ndarray, q: np.ndarray, finger: np.ndarray, ticks: np.ndarray
    ) -> None:
        """Replace the plans: actions (n, dim) at measured joints q and finger positions, to last `ticks` (n,)."""
        now = self.current(slots)
        goal = np.empty_like(now)
        goal[:, :-1] = self._joint_goal(slots, np.clip(actions[:, :-1], self.action.low[:-1], self.action.high[:-1]), q)
        goal[:, -1] = 0.5 * self.robot.gripper_opening * 0.5 * (1.0 - np.clip(actions[:, -1], -1.0, 1.0))
        seconds = ticks * self.tick
        # no joint target moves faster than the joint can: the whole step shrinks, so its direction is kept
        step = goal[:, :-1] - now[:, :-1]
        excess = np.max(np.abs(step) / (self.robot.velocity_limit * seconds[:, None]), axis=1)
        goal[:, :-1] = now[:, :-1] + step / np.maximum(excess, 1.0)[:, None]
        now[:, -1] = np.clip(now[:, -1], finger - self.WINDUP, finger + self.WINDUP)
        reach = self.robot.finger_speed * seconds
        goal[:, -1] = np.clip(goal[:, -1], now[:, -1] - reach, now[:, -1] + reach)
        self._start[slots], self._goal[slots] = now, goal
        self._ramp[slots], self._elapsed[slots] = ticks, 0

    def _joint_goal(self, slots: np.ndarray, actions: np.ndarray, q: np.ndarray) -> np.ndarray:
        """(n, joints) where the action wants the joints, before limits of speed."""
        raise NotImplementedError

    def current(self, slots: np.ndarray) -> np.ndarray:
        """(n, joints + 1) the target at this tick, as last sent."""
        share = np.minimum(self._elapsed[slots] / self._ramp[slots], 1.0)[:, None]
        return self._start[slots] + share * (self._goal[slots] - self._start[slots])

    def targets(self, slots: np.ndarray, ticks: int) -> np.ndarray:
        """(n, ticks, joints + 1) targets of the coming ticks, as the actuators see them; moves the plans on."""
        coming = self._elapsed[slots][:, None] + np.arange(1, ticks + 1)
        share = np.minimum(coming / self._ramp[slots][:, None], 1.0)[:, :, None]
        start, goal = self._start[slots][:, None], self._goal[slots][:, None]
        ideal = start + share * (goal - start)
        self._elapsed[slots] += ticks
        most = self._sent.shape[1]
        if most == 0:
            return ideal
        line = np.concatenate([self._sent[slots], ideal], axis=1)
        self._sent[slots] = line[:, -most:]
        index = most + np.arange(ticks) - self._delay[slots][:, None]
        return np.take_along_axis(line, index[:, :, None], axis=1)


class JointPosition(Controller):
    """`joint`: absolute joint positions in rad, then the gripper."""

    def __init__(self, robot: Any, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, slots, tick, most_delay)
        low, high = np.asarray(robot.joint_range).T
        self.action = joint_positions(tuple(map(float, low)), tuple(map(float, high)))

    def _joint_goal(self, slots: np.ndarray, actions: np.ndarray, q: np.ndarray) -> np.ndarray:
        return actions


class EndEffectorDelta(Controller):
    """`ee_delta`: translation and rotation of the end effector, then the gripper; see `spec.ee_delta`.

    The delta is applied to the pose the robot has (anchor `achieved`) or was last told to reach (`target`), and
    inverse kinematics turns it into joint targets.
    """

    def __init__(
        self,
        robot: Any,
        slots: int,
        tick: float,
        most_delay: int = 0,
        anchor: str = "achieved",
    ):
        super().__init__(robot, slots, tick, most_delay)
        self.action = ee_delta("target" if anchor == "target" else "achieved")
        self._kinematics = Kinematics(robot, slots)
        self._from_target = anchor == "target"

    def _joint_goal(self, slots: np.ndarray, actions: np.ndarray, q: np.ndarray) -> np.ndarray:
        translation, rotation = self.action.dims[0].scale, self.action.dims[1].scale
        anchor = self._goal[slots, :-1] if self._from_target else q
        pos, quat = self._kinematics.forward(slots, anchor)
        pos = pos + translation * actions[:, :3]
        quat = multiply(from_axis_angle(rotation * actions[:, 3:6]), quat)
        return self._kinematics.approach(slots, anchor, pos, quat)


CONTROLLERS = {
    "ee_delta": EndEffectorDelta,
    "ee_delta_target": lambda *args: EndEffectorDelta(*args, anchor="target"),
    "joint": JointPosition,
}


def make_controller(name: str, robot: Any, slots: int, tick: float, most_delay: int = 0) -> Controller:
    """The controller of a name."""
    try:
        kind = CONTROLLERS[name]
    except KeyError:
        raise UsageError(f"controller: {name!r} is not known; {suggest(name, CONTROLLERS)}") from None
    return kind(robot, slots, tick, most_delay)
