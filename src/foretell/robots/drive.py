"""Robots whose joints are position servos with large damping, as PhysX has them.

PhysX solves a drive within the tick h: M (v' - v) = h (k (target - q - h v') - d v' + f), with v' where the tick ends
and f of contacts and stops. With D = d + h k this is (M + h D) (v' - v) = h (k (target - q) - D v + f): a servo whose
damping D is taken where the tick begins, on a joint with h D more inertia. Said like this, contacts see the inertia
that the servo gives the joint. That is what MuJoCo computes with its Euler integrator and an armature of h D, so these
robots ask for it. In a world with an implicit integrator the damping counts twice within a tick: the joint lags by
one tick, and contacts push with about half the force that they need.

PhysX limits the force that is left at the end of the tick, which hardly ever matters in free motion. Here the force at
the beginning is limited, so an arm that starts at a jump of its target does so a few ticks later.
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

__all__ = ["PADS", "TOUCH", "Drive", "DrivenRobot", "numbers_of"]

TOUCH: dict[str, Any] = {"contype": 2, "conaffinity": 1, "group": 3, "mass": 0}
"""Collision shapes of a robot: they touch the world and its objects, not the robot itself."""


PADS = (0.999, 0.9999, 0.001, 0.5, 2.0)
"""Impedance (solimp) of pads: fingers press a light object with hundreds of newtons and must not sink into it."""


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


def numbers_of(drives: Mapping[str, Drive]) -> dict[str, float]:
    """`Robot.numbers` of these drives: kp and kv of each joint, and shares of the armature above and of the arm's
    force limits."""
    numbers = {f"kp_{joint}": drive.stiffness for joint, drive in drives.items()}
    numbers |= {f"kv_{joint}": drive.damping for joint, drive in drives.items()}
    return numbers | {"armature": 1.0, "force": 1.0}


class DrivenRobot(Robot):
    """Base of robots with a `Drive` on each joint."""

    drives: Mapping[str, Drive]
    ignores = ("damping_scale", "backlash", "pads")
    # damping belongs to the servo (`kv_scale`), a link is as stiff as its servo, and pads are hulls of the real ones

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
        tick = p.steps.tick
        damping = d + tick * k
        strongest = max(other.force for other in self.drives.values() if other.finger == drive.finger)
        body.add_joint(
            name=name,
            type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
            axis=axis,
            limited=True,
            range=[drive.low, drive.high],
            armature=self.own("armature") * tick * damping,
            frictionloss=0.0 if drive.finger else p.joint_friction * drive.force / strongest,
            solref_limit=[2 * tick, 1],
            solimp_limit=[0.99, 0.999, 0.0001, 0.5, 2],
        )
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=k, kv=damping)
        if not drive.finger:  # a finger's controller may run ahead of the limit
            motor.ctrllimited, motor.ctrlrange = True, [drive.low, drive.high]
        limit = drive.force * (p.finger_force if drive.finger else self.own("force"))
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
