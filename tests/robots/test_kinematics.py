"""Inverse kinematics reaches what `ee_delta` asks for, within limits, in every slot alike."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from foretell.robots import Group, Panda, Robot
from foretell.robots.kinematics import Kinematics
from foretell.rotation import conjugate, from_axis_angle, multiply, to_axis_angle


def working_poses(n: int) -> np.ndarray:
    """Joint positions of an arm that works over a table, hand down."""
    rng = np.random.default_rng(0)
    return np.array([0.0, 0.6, 0.0, -2.0, 0.0, 2.55, 0.785]) + rng.uniform(-0.4, 0.4, (n, 7))


@pytest.mark.parametrize(("share", "millimetres", "radians"), [(0.3, 0.03, 2e-4), (0.6, 0.2, 2e-3), (1.0, 4.0, 4e-2)])
def test_one_action_lands_where_it_should(share: float, millimetres: float, radians: float) -> None:
    """In 95 of 100 cases. A full action, 5 cm and 0.5 rad at once, is more than the joints can do in 50 ms anyway."""
    n = 200
    slots, q = np.arange(n, dtype=np.int32), working_poses(n)
    kinematics = Kinematics(Panda(), n)
    pos, quat = (a.copy() for a in kinematics.forward(slots, q))
    rng = np.random.default_rng(1)
    shift, turn = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    shift *= share * 0.05 / np.linalg.norm(shift, axis=1, keepdims=True)
    turn *= share * 0.5 / np.linalg.norm(turn, axis=1, keepdims=True)
    goal = multiply(from_axis_angle(turn), quat)
    low, high = Panda.joint_range.T
    found = kinematics.inverse(slots, q, pos + shift, goal)
    assert ((found >= low) & (found <= high)).all()
    free = ((found > low + 1e-6) & (found < high - 1e-6)).all(axis=1)  # a joint at its limit cannot do better
    assert free.mean() > 0.9
    reached, facing = kinematics.forward(slots, found)
    off = np.linalg.norm(reached - pos - shift, axis=1)[free] * 1000
    twist = np.linalg.norm(to_axis_angle(multiply(goal, conjugate(facing))), axis=1)[free]
    assert np.quantile(off, 0.95) < millimetres
    assert np.quantile(twist, 0.95) < radians


def test_a_slot_does_not_depend_on_the_others() -> None:
    n = 9
    slots, q = np.arange(n, dtype=np.int32), working_poses(n)
    kinematics = Kinematics(Panda(), n)
    pos, quat = (a.copy() for a in kinematics.forward(slots, q))
    together = kinematics.inverse(slots, q, pos + 0.02, quat)
    for slot in slots:
        one = np.array([slot], dtype=np.int32)
        alone = kinematics.inverse(one, q[one], pos[one] + 0.02, quat[one])
        assert (alone[0] == together[slot]).all()


def test_steps_stay_short_near_the_singular_home_pose() -> None:
    n = 200
    slots = np.arange(n, dtype=np.int32)
    q = np.asarray(Panda.groups["arm"].home) + np.random.default_rng(0).uniform(-0.2, 0.2, (n, 7))
    kinematics = Kinematics(Panda(), n)
    pos, quat = (a.copy() for a in kinematics.forward(slots, q))
    turn = np.random.default_rng(1).normal(size=(n, 3))
    turn *= 0.15 / np.linalg.norm(turn, axis=1, keepdims=True)
    found = kinematics.inverse(slots, q, pos, multiply(from_axis_angle(turn), quat))
    assert np.abs(found - q).max() < 1.5


def test_standing_still_keeps_the_hand_still_while_the_elbow_relaxes() -> None:
    slots, q = np.zeros(1, dtype=np.int32), working_poses(1)
    kinematics = Kinematics(Panda(), 1)
    pos, quat = (a.copy() for a in kinematics.forward(slots, q))
    for _ in range(60):
        q = kinematics.inverse(slots, q, pos, quat)
    reached, _ = kinematics.forward(slots, q)
    assert np.abs(reached - pos).max() < 1e-4


def test_a_gantry_of_slides_reaches_too() -> None:
    class Gantry(Robot):
        """Three slides and nothing else."""

        name = "gantry"
        joints = ("x", "y", "z")
        groups = {
            "arm": Group(
                joints=joints, home=(0.0,) * 3, low=(-1.0,) * 3, high=(1.0,) * 3, speed=(1.0,) * 3, unit="m", tool="ee"
            )
        }

        def spec(self, visuals: bool = True) -> mujoco.MjSpec:
            spec = mujoco.MjSpec()
            body = spec.worldbody
            for name, axis in zip(self.joints, np.eye(3), strict=True):
                body = body.add_body(name=f"link-{name}")
                body.add_geom(size=[0.01, 0, 0])
                body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
            body.add_site(name="ee")
            return spec

    kinematics = Kinematics(Gantry(), 1)
    slot, goal = np.zeros(1, dtype=np.int32), np.array([[0.2, -0.1, 0.3]])
    found = kinematics.inverse(slot, np.zeros((1, 3)), goal, np.array([[1.0, 0.0, 0.0, 0.0]]))
    assert found == pytest.approx(goal, abs=1e-3)
