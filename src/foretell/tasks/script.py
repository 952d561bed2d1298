"""Scripted experts: a list of phases, each a goal pose to servo to. They see and command what any policy does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.policy import Policy, PolicySpec
from foretell.rotation import conjugate, from_yaw, multiply, rotate, to_axis_angle, yaw
from foretell.spec import EE_DELTA, ActionSpec, Stream

__all__ = ["Observations", "Phase", "Script", "grasp_yaw"]

Observations = Mapping[str, Floats]
DOWN = np.array([0.0, 1.0, 0.0, 0.0])
"""Gripper pointing down, hand's x along the base's x: the orientation of yaw 0."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One leg of a script: go to a pose; done when there, after `hold` actions."""

    name: str
    at: Callable[[Observations], Floats]
    """(n, 3) goal of the finger tips in the task frame."""
    yaw: Callable[[Observations], Floats] | None = None
    """(n,) goal rotation about the vertical; None: keep the present one."""
    lift: float = 0.0
    """Added to the goal's height, m."""
    grip: float = -1.0
    """-1 open, +1 closed."""
    within: float = 0.01
    """Distance that counts as there, m."""
    turned: float = 0.06
    """Rotation error that counts as there, rad."""
    hold: int = 0
    """Actions to stay before going on."""
    speed: float = 1.0
    """Share of the full translation speed."""
    frozen: bool = False
    """Take the goal once, on entering, instead of following it."""


class Script(Policy):
    """Carries out phases in every slot, each at its own pace. Stays in the last one."""

    TRANSLATION, ROTATION = 0.6, 0.35
    """Largest action used: 0.6 is 3 cm per action, 0.35 is 0.175 rad."""

    def __init__(self, robot: str, objects: Sequence[str], phases: Sequence[Phase]):
        self.robot, self.phases = robot, tuple(phases)
        reads = {
            f"{robot}/ee_pos": Stream((3,)),
            f"{robot}/ee_quat": Stream((4,)),
            f"{robot}/gripper": Stream((1,)),
        }
        for name in objects:
            reads |= {f"{name}/pos": Stream((3,)), f"{name}/quat": Stream((4,))}
        self.spec = PolicySpec(reads=reads, action=EE_DELTA, batch=None)
        self._grow(0)

    def bind(self, task: Any, action: ActionSpec) -> None:
        self.spec = PolicySpec(reads=self.spec.reads, action=EE_DELTA, action_rate=task.action_rate, batch=None)

    def _grow(self, slots: int) -> None:
        self.phase = np.zeros(slots, dtype=np.int64)
        self.stayed = np.zeros(slots, dtype=np.int64)
        self.goal = np.zeros((slots, 4))  # position and yaw, as taken on entering the phase

    def reset(self, slots: Ints, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        top = int(np.max(slots)) + 1
        if top > len(self.phase):
            old = self.phase, self.stayed, self.goal
            self._grow(top)
            for new, kept in zip((self.phase, self.stayed, self.goal), old, strict=True):
                new[: len(kept)] = kept
        self.phase[slots] = 0
        self.stayed[slots] = -1  # just entered

    def act(self, slots: Ints, observations: Mapping[str, Any]) -> Floats:
        n = len(slots)
        ee, quat = observations[f"{self.robot}/ee_pos"], observations[f"{self.robot}/ee_quat"]
        actions = np.zeros((n, 7))
        phase = self.phase[slots]  # a copy: slots that go on to the next phase act in it from the next call
        for index in np.unique(phase):
            rows = np.flatnonzero(phase == index)
            actions[rows] = self._follow(
                self.phases[index],
                slots[rows],
                {k: v[rows] for k, v in observations.items() if isinstance(v, np.ndarray)},
                ee[rows],
                quat[rows],
            )
        return actions

    def _follow(self, phase: Phase, slots: Ints, seen: Observations, ee: Floats, quat: Floats) -> Floats:
        pos = phase.at(seen) + np.array([0.0, 0.0, phase.lift])
        heading = hand_yaw(quat) if phase.yaw is None else phase.yaw(seen)
        goal = np.column_stack([pos, heading])
        entering = self.stayed[slots] < 0
        if phase.frozen or phase.yaw is None:
            kept = self.goal[slots]
            fresh = entering[:, None] | ~np.array([phase.frozen] * 3 + [phase.frozen or phase.yaw is None])
            goal = np.where(fresh, goal, kept)
        self.goal[slots] = goal

        error = goal[:, :3] - ee
        turn = to_axis_angle(multiply(multiply(from_yaw(goal[:, 3]), DOWN), conjugate(quat)))
        action = np.empty((len(slots), 7))
        action[:, :3] = _shorten(error / 0.05, self.TRANSLATION * phase.speed)
        action[:, 3:6] = _shorten(turn / 0.5, self.ROTATION)
        action[:, 6] = phase.grip

        there = (np.linalg.norm(error, axis=1) < phase.within) & (np.linalg.norm(turn, axis=1) < phase.turned)
        stayed = np.maximum(self.stayed[slots], 0) + there
        on = (stayed > phase.hold) & (self.phase[slots] < len(self.phases) - 1)
        self.phase[slots] += on
        self.stayed[slots] = np.where(on, -1, stayed)
        return action


def _shorten(vectors: Floats, longest: float) -> Floats:
    """Vectors (n, 3) no longer than `longest`, directions kept."""
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    shares: Floats = np.minimum(1.0, longest / np.maximum(norm, 1e-12))
    return vectors * shares


def hand_yaw(quat: Floats) -> Floats:
    """(n,) yaw of a hand that points down, relative to DOWN."""
    forward = rotate(quat, np.broadcast_to(np.array([1.0, 0.0, 0.0]), (len(quat), 3)))
    angle: Floats = np.arctan2(forward[:, 1], forward[:, 0])
    return angle


def grasp_yaw(object_quat: Floats, hand_quat: Floats, symmetry: float, offset: float = 0.0) -> Floats:
    """(n,) the hand yaw nearest to the present one that lines up with the object, which looks the same after a
    turn by `symmetry` rad; `offset` is the object's grasp direction in its own frame."""
    wanted, now = yaw(object_quat) + offset, hand_yaw(hand_quat)
    turn = np.mod(wanted - now + symmetry / 2, symmetry) - symmetry / 2
    return now + turn
