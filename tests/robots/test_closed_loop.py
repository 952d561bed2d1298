"""Inverse kinematics with small steps, and its short cuts."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.robots import Robot
from foretell.robots.closed_loop import ClosedLoop
from foretell.robots.google_robot import GoogleRobot
from foretell.robots.widowx import WidowX
from foretell.rotation import conjugate, from_axis_angle, multiply, to_axis_angle

SLOTS = 12


class Patient(ClosedLoop):
    """Takes every step."""

    def _jump(self, slots, q, error, origin, back):
        return q, np.zeros(len(slots), dtype=bool)


def asked(robot: type[Robot], reach: float, turn: float) -> tuple:
    """Poses near some starts."""
    rng, home = np.random.default_rng(3), np.array(robot.groups["arm"].home)
    q = home + rng.uniform(-0.2, 0.2, (SLOTS, len(home)))
    slots = np.arange(SLOTS, dtype=np.int32)
    pos, quat = ClosedLoop(robot(), SLOTS).forward(slots, q)
    pos = pos + rng.uniform(-reach, reach, (SLOTS, 3))
    return slots, q, pos, multiply(from_axis_angle(rng.uniform(-turn, turn, (SLOTS, 3))), quat)


@pytest.mark.parametrize("robot", [WidowX, GoogleRobot])
def test_it_ends_a_little_short_of_the_pose(robot: type[Robot]) -> None:
    slots, q, pos, quat = asked(robot, 0.03, 0.1)
    solver = ClosedLoop(robot(), SLOTS)
    goal, arrived = solver.solve(slots, q, pos, quat)
    at, facing = solver.forward(slots, goal)
    left = np.linalg.norm(at - pos, axis=1) + np.linalg.norm(to_axis_angle(multiply(quat, conjugate(facing))), axis=1)
    assert arrived.sum() >= SLOTS - 2
    assert (left[arrived] < 1.5e-4).all()
    assert (left[arrived] > 1e-5).all()  # the original stops there, and so do we


@pytest.mark.parametrize(("robot", "apart"), [(WidowX, 2e-6), (GoogleRobot, 1e-3)])
def test_the_short_cut_ends_where_all_steps_do(robot: type[Robot], apart: float) -> None:
    slots, q, pos, quat = asked(robot, 0.03, 0.1)
    goal, arrived = ClosedLoop(robot(), SLOTS).solve(slots, q, pos, quat)
    patient, waited = Patient(robot(), SLOTS).solve(slots, q, pos, quat)
    assert np.array_equal(arrived, waited)
    assert np.abs(goal - patient)[arrived].max() < apart


@pytest.mark.parametrize("robot", [WidowX, GoogleRobot])
def test_out_of_reach_leaves_the_joints_alone(robot: type[Robot]) -> None:
    slots, q, pos, quat = asked(robot, 0.01, 0.0)
    pos = pos + [2.0, 0.0, 0.0]
    goal, arrived = ClosedLoop(robot(), SLOTS).solve(slots, q, pos, quat)
    assert not arrived.any()
    assert np.array_equal(goal, q)


def test_a_pose_that_is_reached_is_no_motion() -> None:
    slots, q, *_ = asked(WidowX, 0.0, 0.0)
    solver = ClosedLoop(WidowX(), SLOTS)
    goal, arrived = solver.solve(slots, q, *solver.forward(slots, q))
    assert arrived.all()
    assert np.array_equal(goal, q)


@pytest.mark.parametrize("robot", [WidowX, GoogleRobot])
def test_a_slot_does_not_depend_on_the_others(robot: type[Robot]) -> None:
    slots, q, pos, quat = asked(robot, 0.03, 0.1)
    pos[3] += [2.0, 0.0, 0.0]
    together, _ = ClosedLoop(robot(), SLOTS).solve(slots, q, pos, quat)
    for slot in range(SLOTS):
        one = np.array([slot], dtype=np.int32)
        alone, _ = ClosedLoop(robot(), SLOTS).solve(one, q[one], pos[one], quat[one])
        assert np.array_equal(alone[0], together[slot])
