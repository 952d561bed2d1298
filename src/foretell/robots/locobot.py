"""LoCoBot: a round base with a camera on a mast. Measures are those of "Sim2Real Predictivity" (2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import mujoco
import numpy as np

from foretell.robots.robot import Group, Robot, Steps
from foretell.rotation import from_matrix
from foretell.spec import Feature

__all__ = ["LoCoBot"]

AREA = 1000.0
"""m; a base may stand anywhere in a room."""
DARK, GREY, BLUE = (0.12, 0.12, 0.13, 1.0), (0.45, 0.46, 0.48, 1.0), (0.15, 0.35, 0.75, 1.0)


class LoCoBot(Robot):
    """A round mobile base of 17.5 cm radius with a depth camera, a flat lidar, GPS and compass."""

    name = "locobot"
    groups: Mapping[str, Group] = {
        "base": Group(
            joints=("x", "y", "yaw"),
            home=(0.0, 0.0, 0.0),
            low=(-AREA, -AREA, -1e4),
            high=(AREA, AREA, 1e4),
            speed=(0.25, 0.25, math.radians(30.0)),
            unit="m, m, rad",
        )
    }
    ignores = ("kp_scale", "kv_scale", "damping_scale", "pad_friction", "finger_force", "joint_friction", "backlash")
    controller = "steps"
    action_rate = 1.0
    steps = Steps(tick=0.02)

    RADIUS: ClassVar[float] = 0.175
    HEIGHT: ClassVar[float] = 0.61
    CAMERA: ClassVar[tuple[float, float]] = (0.06, 0.58)
    """m ahead of the middle, and above the floor."""
    VIEW: ClassVar[float] = math.radians(45.0)
    """Field of view of the camera, in both directions."""
    PIXELS: ClassVar[int] = 256
    FURTHEST: ClassVar[float] = 10.0
    """m that depth camera and lidar see at most."""
    LIDAR: ClassVar[float] = 0.3
    """m above the floor."""
    BEAMS: ClassVar[int] = 72
    """Rays of the lidar, all around, the first straight ahead, counter-clockwise."""
    COLUMNS: ClassVar[int] = 64
    """Rays across the camera's picture, from left to right."""

    @cached_property
    def features(self) -> dict[str, Feature]:
        """Places and angles are those that the robot believes, from where it started: x ahead, y to the left."""
        return {
            "gps": Feature(kind="position", shape=(2,), unit="m", frame="start", noise="position"),
            "compass": Feature(kind="scalar", shape=(1,), unit="rad", frame="start", noise="orientation"),
            "bump": Feature(kind="scalar", shape=(1,)),
            "lidar": Feature(kind="rays", shape=(self.BEAMS,), unit="m", frame="base", noise="depth"),
            "depth_rays": Feature(kind="rays", shape=(self.COLUMNS,), unit="m", frame="base", noise="depth"),
            "pose": Feature(kind="joint", shape=(3,), unit="m, m, rad", frame="task", group="base", optional=True),
        }

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = mujoco.MjSpec()
        base = spec.worldbody.add_body(name="base")
        slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
        for name, kind, axis in (("x", slide, (1, 0, 0)), ("y", slide, (0, 1, 0)), ("yaw", hinge, (0, 0, 1))):
            base.add_joint(name=name, type=kind, axis=axis)
            motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_position(kp=2000.0, kv=400.0)
        cylinder, box = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_BOX
        low, reach = 0.06, self.CAMERA[0]
        base.add_geom(
            name="hull",
            type=cylinder,
            size=(self.RADIUS, self.HEIGHT / 2, 0),
            pos=(0, 0, self.HEIGHT / 2),
            mass=5.0,
            group=3,
            contype=0,
            conaffinity=0,
        )
        if visuals:
            look = {"mass": 0.0, "contype": 0, "conaffinity": 0}
            base.add_geom(type=cylinder, size=(self.RADIUS, low, 0), pos=(0, 0, low + 0.01), rgba=DARK, **look)
            base.add_geom(type=cylinder, size=(0.12, 0.07, 0), pos=(0, 0, 0.2), rgba=GREY, **look)
            base.add_geom(type=box, size=(0.02, 0.04, 0.16), pos=(-0.05, 0, 0.4), rgba=GREY, **look)
            base.add_geom(type=box, size=(0.06, 0.05, 0.012), pos=(0, 0, 0.55), rgba=DARK, **look)
            # it shows from above where ahead is
            base.add_geom(type=box, size=(0.06, 0.015, 0.002), pos=(0.1, 0, 0.135), rgba=BLUE, **look)
        # a camera looks along its own -z, its y is up
        level = from_matrix(np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
        base.add_camera(name="camera", pos=(reach, 0, self.CAMERA[1]), quat=level, fovy=math.degrees(self.VIEW))
        return spec
