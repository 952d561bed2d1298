"""Robots whose joints are position servos with large damping, as PhysX has them.

PhysX solves a drive within the tick: force = k (target - q') - d v', with q' = q + tick v' where the tick ends. The
implicit integrators of MuJoCo take v' for the damping, but q for the spring. So the damping here is d + tick k, which
makes both equal: k (target - q - tick v') - d v'.

PhysX limits the force that is left at the end of the tick, which in free motion is what accelerates the link, and is
small. MuJoCo limits the force at its start, before the damping answers: the published limit would stop an arm that
PhysX moves, and a servo at its limit is not damped at all. So the limit of an arm's joint here leaves room for the
damping at the joint's top speed. It holds a stalled arm, and does not touch a moving one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.robots.inertia import Inertial
from foretell.robots.robot import Robot

__all__ = ["TOUCH", "Drive", "DrivenRobot", "numbers_of"]

TOUCH: dict[str, Any] = {"contype": 2, "conaffinity": 1, "group": 3, "mass": 0}
"""Collision shapes of a robot: they touch the world and its objects, not the robot itself."""


@dataclass(frozen=True, kw_only=True)
class Drive:
    """The servo of one joint, in N m and rad, or N and m."""

    stiffness: float
    damping: float
    force: float
    """Its limit."""
    speed: float
    """Top speed of the joint."""
    low: float
    high: float
    finger: bool = False


def numbers_of(drives: Mapping[str, Drive], arm: float, finger: float) -> dict[str, float]:
    """`Robot.numbers` of these drives: kp and kv of each joint, and the armature as a share of tick * damping."""
    numbers = {f"kp_{joint}": drive.stiffness for joint, drive in drives.items()}
    numbers |= {f"kv_{joint}": drive.damping for joint, drive in drives.items()}
    return numbers | {"armature": arm, "finger_armature": finger}


class DrivenRobot(Robot):
    """Base of robots with a `Drive` on each joint."""

    drives: Mapping[str, Drive]

    def gains(self, joint: str) -> tuple[float, float]:
        """Stiffness and damping of a joint's servo in this world."""
        p = self.physics
        k, d = self.own(f"kp_{joint}"), self.own(f"kv_{joint}")
        if self.drives[joint].finger:
            return k * p.finger_force, d * p.finger_force
        return k * p.kp_scale, d * p.kv_scale

    def lead(self, group: str) -> Floats:
        gains = [self.gains(joint) for joint in self.groups[group].joints]
        return np.array([d / k for k, d in gains])

    def add_joint(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, axis: object, slides: bool) -> None:
        """Adds a joint and its servo. Targets are held within the joint's limits, as PhysX does."""
        drive, p = self.drives[name], self.physics
        k, d = self.gains(name)
        damping = d + p.tick * k
        # MuJoCo's contacts and stops see a joint's inertia without its damping. Against a light link they would push
        # with too little force for a servo that holds it fast, so some of the damping counts as inertia.
        share = self.own("finger_armature" if drive.finger else "armature")
        strongest = max(other.force for other in self.drives.values() if other.finger == drive.finger)
        body.add_joint(
            name=name,
            type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
            axis=axis,
            limited=True,
            range=[drive.low, drive.high],
            armature=share * p.tick * damping,
            frictionloss=0.0 if drive.finger else p.joint_friction * drive.force / strongest,
            solref_limit=[2 * p.tick, 1],
            solimp_limit=[0.99, 0.999, 0.0001, 0.5, 2],
        )
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=k, kv=damping)
        if not drive.finger:  # a finger's controller may run ahead of the limit
            motor.ctrllimited, motor.ctrlrange = True, [drive.low, drive.high]
        limit = drive.force * p.finger_force if drive.finger else drive.force + damping * drive.speed
        motor.forcelimited, motor.forcerange = True, [-limit, limit]

    @staticmethod
    def add_body(parent: mujoco.MjsBody, name: str, inertial: Inertial, **pose: object) -> mujoco.MjsBody:
        """Adds a link with its inertial; the controller of the robot carries its weight."""
        return parent.add_body(
            name=name,
            mass=inertial.mass,
            ipos=inertial.com,
            fullinertia=inertial.inertia,
            explicitinertial=True,
            gravcomp=1,
            **pose,
        )
