"""A robot with one more joint group: a Panda beside a mast whose pan-tilt head carries a camera."""

from pathlib import Path

import mujoco
import numpy as np

import foretell
from foretell.answers.show import table
from foretell.policy import Policy, PolicySpec
from foretell.robots import Group, Panda
from foretell.rotation import from_matrix
from foretell.spec import EE_DELTA
from foretell.tasks import Mount
from foretell.tasks.lift import Lift

HERE = Path(__file__).resolve()
MAST, NECK = (0.0, 0.28, 0.0), 0.60
"""Where the mast stands in the frame of the robot's foot, and how high the head is above it, m."""
LENS = 0.06
"""From the axes of the head to the lens, m."""


class PandaWithHead(Panda):
    """The Panda, and a head of two hinges with a camera."""

    name = "panda-head"
    groups = {
        **Panda.groups,
        "head": Group(joints=("pan", "tilt"), home=(-0.4, 0.6), low=(-2.5, -0.6), high=(2.5, 1.5), speed=(3.0, 3.0)),
    }
    numbers = {"head_gain": 60.0}  # N m/rad; a world may multiply it (theta.robots.panda-head.head_gain)

    def spec(self, visuals=True):
        spec = super().spec(visuals)
        look = {"contype": 0, "conaffinity": 0, "group": 2, "mass": 0, "rgba": [0.20, 0.21, 0.23, 1]}
        foot = spec.body("link0")
        if visuals:
            x, y, z = MAST
            foot.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[x, 0, z, x, y, z], size=[0.02, 0, 0], **look)
            foot.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[*MAST, x, y, z + NECK], size=[0.02, 0, 0], **look)
        inertia = {"mass": 0.3, "inertia": [5e-4] * 3, "explicitinertial": True, "gravcomp": 1}
        pan = foot.add_body(name="pan", pos=[MAST[0], MAST[1], MAST[2] + NECK], **inertia)
        tilt = pan.add_body(name="tilt", **inertia)
        limits = zip(self.groups["head"].low, self.groups["head"].high, strict=True)
        for body, axis, ends in zip((pan, tilt), ([0, 0, 1], [0, 1, 0]), limits, strict=True):  # tilt > 0 looks down
            body.add_joint(name=body.name, axis=axis, limited=True, range=ends, armature=0.01, damping=[0.5, 0, 0])
            motor = spec.add_actuator(name=body.name, target=body.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_position(kp=self.own("head_gain"), kv=self.own("head_gain") / 10)
        if visuals:
            tilt.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=[0.01, 0, 0], size=[0.04, 0.07, 0.03], **look)
        ahead = from_matrix(np.array([[0.0, 0, -1], [-1, 0, 0], [0, 1, 0]]))  # a camera looks along its -z
        tilt.add_camera(name="head", pos=[LENS, 0, 0], quat=ahead, fovy=50)
        return spec


class LiftSeen(Lift):
    """Pick the cube up under the eyes of a head."""

    name = "lift-seen"
    robots = {"panda": Mount(f"{HERE}:PandaWithHead", (-0.56, 0.0, 0.112))}


class Watch(Policy):
    """Lifts as the expert does, and keeps the cube in the middle of the head's picture.

    It needs `controller: ee_delta+head:joint`: seven numbers for arm and gripper, then pan and tilt."""

    def bind(self, task, action):
        self._script = task.expert()
        self._script.bind(task, EE_DELTA)
        self._eye = np.add(task.robots["panda"].pos, MAST) + [0.0, 0.0, NECK]
        self.spec = PolicySpec(reads=self._script.spec.reads, action=action, action_rate=task.action_rate, batch=None)

    def reset(self, slots, instructions, seeds):
        self._script.reset(slots, instructions, seeds)

    def act(self, slots, observations):
        x, y, z = (observations["cube/pos"] - self._eye).T
        head = np.column_stack([np.arctan2(y, x), np.arctan2(-z, np.hypot(x, y))])
        return np.hstack([self._script.act(slots, observations), head])


if __name__ == "__main__":  # the workers load this file for the classes
    study = {
        "name": "head",
        "tasks": [{"use": f"{HERE}:LiftSeen", "controller": "ee_delta+head:joint"}],
        "policies": {"watch": f"{HERE}:Watch"},
        "scenarios": {"count": 10},
    }
    table(foretell.show(foretell.run(study).path))
