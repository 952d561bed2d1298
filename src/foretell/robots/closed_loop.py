"""Closed-loop inverse kinematics as SAPIEN 2 computes it (`compute_inverse_kinematics`): small damped steps without
joint limits, which fail where a hundred of them do not arrive.

Where it stops matters: a step that ends 0.1 mm short, and is added to the pose that the arm has, ends 4 mm short after
forty actions. So the remainder is part of the method.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.robots.kinematics import Kinematics
from foretell.robots.robot import Robot
from foretell.rotation import conjugate, cross, multiply, rotate

__all__ = ["ClosedLoop"]


class ClosedLoop(Kinematics):
    """Errors are twists (m, rad) of the body that carries the last joint, in its own frame.

    Each small step shrinks the error by the same share along the same screw, so where the steps end is known early. An
    arm of six joints has one way there, and Newton's method finds it. An arm with more joints has many ways: the first
    steps follow the way of the original, and Newton's method goes on where little is left. Where Newton's method does
    not arrive at once, or the arm is close to a singular pose, every step is taken as in the original.
    """

    STEPS = 100
    SHARE = 0.1
    """Of the error, taken in one step."""
    DAMP = 1e-6
    CLOSE = 1e-4
    """Length of the error at which it has arrived."""
    GLIDE = 25
    """First steps where there are more than six joints; 7 % of the error is left then."""
    NEWTON = 6
    """Most iterations of Newton's method."""
    REGULAR = 1e-3
    """Smallest pivot of the squared Jacobian from which on damping has no effect."""
    HOPE = 0.87
    """No step leaves less than this share of the error, so some errors are too large to vanish in time."""

    def __init__(self, robot: Robot, slots: int, group: str = "arm"):
        super().__init__(robot, slots, group)
        model = self._batch.model
        self._last = int(model.jnt_bodyid[self._joint[-1]])
        self._dofs, self._root = model.jnt_dofadr[self._joint], int(model.body_rootid[self._last])
        bind = self._batch.bind
        self._origin, self._matrix, self._com, self._motion = (bind(f) for f in ("xpos", "xmat", "subtree_com", "cdof"))
        self._glide = self.GLIDE if len(self._joint) > 6 else 0
        slot = np.zeros(1, dtype=np.int32)
        pos, quat = self.forward(slot, self._home[None])
        back = conjugate(self._quat[slot, self._last])
        self._offset = rotate(back, pos - self._origin[slot, self._last])  # (1, 3) from the last joint to the tool
        self._turn = conjugate(multiply(back, quat))  # (1, 4)

    def solve(self, slots: Ints, q: Floats, pos: Floats, quat: Floats) -> tuple[Floats, Bools]:
        """Joint positions (n, joints) that bring the tool to a pose, starting from q, and (n,) whether they do. Where
        they do not, q as it was."""
        turn = multiply(quat, self._turn)
        origin = pos - rotate(turn, np.broadcast_to(self._offset, pos.shape))
        # (n, 3, 3) the transpose of the orientation that the last joint's body should have
        back = np.stack([rotate(conjugate(turn), np.broadcast_to(unit, pos.shape)) for unit in np.eye(3)], axis=2)
        now = np.array(q, dtype=float)
        error = self._error(slots, now, origin, back)
        arrived = _length(error) < self.CLOSE
        for attempt in (self._jump, self._walk):
            if not len(rows := np.flatnonzero(~arrived)):
                break
            end, there = attempt(slots[rows], now[rows], error[rows], origin[rows], back[rows])
            now[rows[there]], arrived[rows[there]] = end[there], True
        return now, arrived

    def _jump(self, slots: Ints, q: Floats, error: Floats, origin: Floats, back: Floats) -> tuple[Floats, Bools]:
        """Where the steps lead (n, joints), and (n,) whether this is certain."""
        count = np.ceil(np.log(self.CLOSE / _length(error)) / math.log(1 - self.SHARE))
        left = error * ((1 - self.SHARE) ** count)[:, None]
        certain, now = count <= self.STEPS, q
        for step in range(self._glide):  # the error is known, so that only the way is followed
            now = now - self._follow(slots, self.SHARE * (1 - self.SHARE) ** step * error)
            self._place(slots, now)
        if self._glide:
            error = self._error(slots, now, origin, back)
        began = now
        near = np.zeros(len(slots), dtype=bool)
        for _ in range(self.NEWTON):
            answer, regular = self._answer(slots, error - left)
            certain &= regular | near
            now = np.where(near[:, None], now, now - answer)  # one that is there does not wait for others
            error = self._error(slots, now, origin, back)
            near = _length(error - left) < 1e-3 * self.CLOSE
            if (near | ~certain).all():
                break
        return now, certain & near & (np.abs(now - began).max(axis=1) < 0.5)

    def _walk(self, slots: Ints, q: Floats, error: Floats, origin: Floats, back: Floats) -> tuple[Floats, Bools]:
        """Take the steps one by one: where they lead (n, joints), and (n,) whether they arrive."""
        at, arrived = np.array(q), np.zeros(len(slots), dtype=bool)
        rows, now = np.arange(len(slots)), np.array(q)
        self._place(slots, now)
        for step in range(1, self.STEPS + 1):
            now = now - self.SHARE * self._answer(slots[rows], error)[0]
            error = self._error(slots[rows], now, origin[rows], back[rows])
            length = _length(error)
            there = length < self.CLOSE
            at[rows[there]], arrived[rows[there]] = now[there], True
            goes_on = ~there & (length * self.HOPE ** (self.STEPS - step) < self.CLOSE)
            rows, now, error = rows[goes_on], now[goes_on], error[goes_on]
            if not len(rows):
                break
        return at, arrived

    def _place(self, slots: Ints, q: Floats) -> None:
        self._qpos[slots[:, None], self._address] = q
        self._batch.forward(slots, stage=mujoco.mjtStage.mjSTAGE_POS)

    def _error(self, slots: Ints, q: Floats, origin: Floats, back: Floats) -> Floats:
        """(n, 6) the twist from where the last joint's body should be to where it is at q."""
        self._place(slots, q)
        apart = np.matmul(back, (self._origin[slots, self._last] - origin)[:, :, None])[:, :, 0]
        turn = np.matmul(back, self._matrix[slots, self._last].reshape(-1, 3, 3))
        sine = 0.5 * (turn[:, (2, 0, 1), (1, 2, 0)] - turn[:, (1, 2, 0), (2, 0, 1)])
        size = np.arctan2(_length(sine), 0.5 * (turn[:, 0, 0] + turn[:, 1, 1] + turn[:, 2, 2] - 1.0))
        small = size < 1e-5
        safe = np.where(small, 1.0, size)
        angle = sine * np.where(small, 1.0, safe / np.sin(safe))[:, None]
        curve = np.where(small, 1 / 12, (1 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)[:, None]
        once = cross(angle, apart)
        return np.concatenate([apart - 0.5 * once + curve * cross(angle, once), angle], axis=1)

    def _turned(self, slots: Ints, error: Floats) -> Floats:
        """(n, 6) an error in the axes of the base, where `_place` was called for these slots."""
        own = self._matrix[slots, self._last].reshape(-1, 1, 3, 3)
        turned: Floats = np.matmul(own, error.reshape(-1, 2, 3, 1)).reshape(-1, 6)
        return turned

    def _follow(self, slots: Ints, error: Floats) -> Floats:
        """As `_answer`, faster, for regular poses: the shortest step is the same for the error of any point, and MuJoCo
        has the Jacobian of the centre of mass."""
        wanted = self._turned(slots, error)
        apart = self._com[slots, self._root] - self._origin[slots, self._last]
        wanted = np.concatenate([wanted[:, 3:], wanted[:, :3] + cross(wanted[:, 3:], apart)], axis=1)
        jacobian = self._motion[slots[:, None], self._dofs]
        square = np.matmul(jacobian.transpose(0, 2, 1), jacobian)
        square[:, _DIAGONAL, _DIAGONAL] += self.DAMP
        step: Floats = np.matmul(jacobian, np.linalg.solve(square, wanted[:, :, None]))[:, :, 0]
        return step

    def _answer(self, slots: Ints, error: Floats) -> tuple[Floats, Bools]:
        """(n, joints) the whole step against an error, where `_place` was called for these slots; and (n,) whether the
        pose is regular."""
        rows = slots[:, None]
        axis = self._axis[rows, self._joint]
        jacobian = np.empty((len(slots), len(self._joint), 6))  # transposed: a row for each joint; in the base frame
        reach = self._origin[slots, self._last][:, None] - self._anchor[rows, self._joint]
        jacobian[:, :, :3], jacobian[:, :, 3:] = cross(axis, reach), axis
        if self._slides.any():
            jacobian[:, self._slides, :3], jacobian[:, self._slides, 3:] = axis[:, self._slides], 0.0
        square = np.matmul(jacobian.transpose(0, 2, 1), jacobian)
        square[:, _DIAGONAL, _DIAGONAL] += self.DAMP
        pivot = np.linalg.cholesky(square)[:, _DIAGONAL, _DIAGONAL].min(axis=1) ** 2
        step: Floats = np.matmul(jacobian, np.linalg.solve(square, self._turned(slots, error)[:, :, None]))[:, :, 0]
        return step, pivot > self.REGULAR


def _length(vectors: Floats) -> Floats:
    """(n,) of vectors (n, k)."""
    length: Floats = np.sqrt(np.sum(vectors * vectors, axis=1))
    return length


_DIAGONAL = np.arange(6)
