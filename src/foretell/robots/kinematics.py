"""Forward and inverse kinematics of many arms at once, on a MuJoCo model of the arm alone."""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch

from foretell.arrays import Floats, Ints
from foretell.errors import UsageError
from foretell.robots.robot import Robot
from foretell.rotation import conjugate, cross, multiply, to_axis_angle

__all__ = ["Kinematics"]


class Kinematics:
    """Poses of a group's tool in the robot's base frame.

    The chain is evaluated by MuJoCo, slot by slot, so the result for one slot does not depend on the others.
    """

    ITERATIONS = 3
    """Newton steps. Over a table three leave 0.03 mm of a third of a full action, 0.2 mm of 60 % (see tests)."""
    DAMPING = 0.04
    """Keeps steps short near singular poses, of which home is one (joints 5 and 7 almost line up), at the cost of a
    slower approach there."""
    POSTURE = 0.1
    """Share of the way to the home posture taken where the end effector does not care, in the first step only:
    later steps correct what it bent."""

    def __init__(self, robot: Robot, slots: int, group: str = "arm"):
        chain = robot.groups[group]
        if chain.tool is None:
            raise UsageError(
                f"controller: group {group!r} of {robot.name} has no tool, so `ee_delta` cannot move it; name a "
                f"controller for each group, such as `arm:ee_delta+{group}:joint`"
            )
        spec = robot.spec(visuals=False)
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # only poses are asked for
        model = spec.compile()
        self._batch = Batch(model, nsim=slots, nthread=1)
        self._address = np.array([model.joint(name).qposadr[0] for name in chain.joints])
        self._joint = np.array([model.joint(name).id for name in chain.joints])
        self._slides = model.jnt_type[self._joint] == int(mujoco.mjtJoint.mjJNT_SLIDE)
        self._site = model.site(chain.tool).id
        # the site's frame is its body's, so the body's quaternion serves for both
        self._body = int(model.site_bodyid[self._site])
        assert np.allclose(model.site_quat[self._site], [1, 0, 0, 0]), "the tool must be turned like the body it is on"
        self._qpos = self._batch.bind("qpos")
        self._pos, self._quat = self._batch.bind("site_xpos"), self._batch.bind("xquat")
        self._anchor, self._axis = self._batch.bind("xanchor"), self._batch.bind("xaxis")
        above = _above(model, self._body)
        self.carriers = tuple(
            joint
            for key, other in robot.groups.items()
            for joint in other.joints
            if key != group and int(model.jnt_bodyid[model.joint(joint).id]) in above
        )
        """Joints of other groups that the chain stands on, such as those of a base that rolls."""
        self._carrier = np.array([model.joint(name).qposadr[0] for name in self.carriers], dtype=int)
        self._home = np.asarray(chain.home)
        self._low, self._high = np.asarray(chain.low), np.asarray(chain.high)

    def carry(self, slots: Ints, q: Floats) -> None:
        """Put the `carriers` at positions q (n, carriers) for the coming calls; they are at 0 at first."""
        self._qpos[slots[:, None], self._carrier] = q

    def forward(self, slots: Ints, q: Floats) -> tuple[Floats, Floats]:
        """Position (n, 3) and orientation (n, 4) at joint positions q (n, joints)."""
        self._qpos[slots[:, None], self._address] = q
        self._batch.forward(slots, stage=mujoco.mjtStage.mjSTAGE_POS)
        return self._pos[slots, self._site], self._quat[slots, self._body]

    def inverse(self, slots: Ints, q: Floats, pos: Floats, quat: Floats) -> Floats:
        """Joint positions (n, joints) that bring the end effector to a pose, starting from q, within limits."""
        self.forward(slots, q)
        return self.approach(slots, q, pos, quat)

    def approach(self, slots: Ints, q: Floats, pos: Floats, quat: Floats) -> Floats:
        """As `inverse`, where `forward(slots, q)` was the last call."""
        rows = slots[:, None]
        at, facing = self._pos[slots, self._site], self._quat[slots, self._body]
        error = np.empty((len(slots), 6))
        jacobian = np.empty((len(slots), len(self._joint), 6))  # transposed: a row for each joint
        for iteration in range(self.ITERATIONS):
            if iteration > 0:
                at, facing = self.forward(slots, q)
            error[:, :3] = pos - at
            error[:, 3:] = to_axis_angle(multiply(quat, conjugate(facing)))
            axis = self._axis[rows, self._joint]
            jacobian[:, :, :3] = cross(axis, at[:, None, :] - self._anchor[rows, self._joint])
            jacobian[:, :, 3:] = axis
            if self._slides.any():  # a slide moves along its axis and turns nothing
                jacobian[:, self._slides, :3], jacobian[:, self._slides, 3:] = axis[:, self._slides], 0.0
            rest = self.POSTURE * (self._home - q) if iteration == 0 else np.zeros_like(q)
            wanted = error - np.matmul(rest[:, None, :], jacobian)[:, 0]
            square = np.matmul(jacobian.transpose(0, 2, 1), jacobian)
            square[:, _DIAGONAL, _DIAGONAL] += self.DAMPING**2
            step = np.matmul(jacobian, np.linalg.solve(square, wanted[:, :, None]))[:, :, 0]
            q = np.clip(q + step + rest, self._low, self._high)
        return q


_DIAGONAL = np.arange(6)


def _above(model: mujoco.MjModel, body: int) -> set[int]:
    """A body and all that it hangs on."""
    chain = {body}
    while body := int(model.body_parentid[body]):
        chain.add(body)
    return chain
