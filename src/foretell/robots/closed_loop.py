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
from foretell.rotation import conjugate, cross, from_matrix, multiply, rotate

__all__ = ["ClosedLoop"]


class ClosedLoop(Kinematics):
    """Errors are twists (m, rad) of the body that carries the last joint, in its own frame.

    Each small step shrinks the error by the same share along the same screw, so where the steps end is known early. An
    arm of six joints has one way there, and Newton's method finds it. An arm with more joints has many ways, so the
    first steps are taken one by one, and Newton's method goes on where little is left. Where Newton's method does not
    arrive at once, or the arm is close to a singular pose, all steps are taken.
    """

    STEPS = 100
    SHARE = 0.1
    """Of the error, taken in one step."""
    DAMP = 1e-6
    CLOSE = 1e-4
    """Length of the error at which it has arrived."""
    SINGLY = 25
    """Steps taken one by one where there are more than six joints; 7 % of the error is left then."""
    NEWTON = 6
    """Iterations of Newton's method."""
    REGULAR = 1e-3
    """Smallest eigenvalue of the squared Jacobian from which on damping has no effect."""

    def __init__(self, robot: Robot, slots: int, group: str = "arm"):
        super().__init__(robot, slots, group)
        self._last = int(self._batch.model.jnt_bodyid[self._joint[-1]])
        self._origin, self._matrix = self._batch.bind("xpos"), self._batch.bind("xmat")
        self._singly = self.SINGLY if len(self._joint) > 6 else 0
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
        start = np.array(q, dtype=float)
        now, arrived = self._walk(slots, start, origin, back, 0, self._singly)
        rows = np.flatnonzero(~arrived)
        if len(rows):
            rest, there = self._jump(slots[rows], now[rows], origin[rows], back[rows])
            now[rows[there]], arrived[rows[there]] = rest[there], True
        rows = np.flatnonzero(~arrived)
        if len(rows):
            now[rows], arrived[rows] = self._walk(
                slots[rows], now[rows], origin[rows], back[rows], self._singly, self.STEPS
            )
        now[~arrived] = start[~arrived]
        return now, arrived

    def _walk(
        self, slots: Ints, q: Floats, origin: Floats, back: Floats, first: int, last: int
    ) -> tuple[Floats, Bools]:
        """Take steps from number `first` to `last`: where they lead (n, joints), and (n,) whether they arrive."""
        at, arrived = np.array(q), np.zeros(len(slots), dtype=bool)
        rows, now = np.arange(len(slots)), np.array(q)
        for step in range(first, last + 1):
            error = self._error(slots[rows], now, origin[rows], back[rows])
            there = _length(error) < self.CLOSE
            if there.any():
                at[rows[there]], arrived[rows[there]] = now[there], True
                rows, now, error = rows[~there], now[~there], error[~there]
            if not len(rows) or step == last:
                break
            now = now - self.SHARE * self._answer(slots[rows], error)[0]
        at[rows] = now
        return at, arrived

    def _jump(self, slots: Ints, q: Floats, origin: Floats, back: Floats) -> tuple[Floats, Bools]:
        """Where all the steps that are left lead (n, joints), and (n,) whether this is certain."""
        now, error = q, self._error(slots, q, origin, back)
        length = _length(error)
        count = np.ceil(np.log(self.CLOSE / length) / math.log(1 - self.SHARE))
        left = error * np.maximum((1 - self.SHARE) ** count, 0.0)[:, None]
        certain = count + self._singly <= self.STEPS
        for _ in range(self.NEWTON):
            step, regular = self._answer(slots, error - left)
            certain &= regular
            now = now - step
            error = self._error(slots, now, origin, back)
            if (_length(error - left)[certain] < 1e-3 * self.CLOSE).all():
                break
        return now, certain & (_length(error - left) < 1e-3 * self.CLOSE) & (np.abs(now - q).max(axis=1) < 0.5)

    def _error(self, slots: Ints, q: Floats, origin: Floats, back: Floats) -> Floats:
        """(n, 6) the twist from where the last joint's body should be to where it is at q."""
        self._qpos[slots[:, None], self._address] = q
        self._batch.forward(slots, stage=mujoco.mjtStage.mjSTAGE_POS)
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

    def _answer(self, slots: Ints, error: Floats) -> tuple[Floats, Bools]:
        """(n, joints) the whole step against an error, where `_error` was just called for these slots; and (n,) whether
        the pose is regular."""
        rows = slots[:, None]
        axis = self._axis[rows, self._joint]
        jacobian = np.empty((len(slots), len(self._joint), 6))  # transposed: a row for each joint; in the base frame
        reach = self._origin[slots, self._last][:, None] - self._anchor[rows, self._joint]
        jacobian[:, :, :3], jacobian[:, :, 3:] = cross(axis, reach), axis
        if self._slides.any():
            jacobian[:, self._slides, :3], jacobian[:, self._slides, 3:] = axis[:, self._slides], 0.0
        own = self._matrix[slots, self._last].reshape(-1, 3, 3)
        wanted = np.matmul(own[:, None], error.reshape(-1, 2, 3, 1)).reshape(-1, 6, 1)
        square = np.matmul(jacobian.transpose(0, 2, 1), jacobian)
        # the Cholesky factor's diagonal bounds the smallest eigenvalue from above, closely enough for a guard
        square[:, _DIAGONAL, _DIAGONAL] += self.DAMP
        low = np.linalg.cholesky(square)[:, _DIAGONAL, _DIAGONAL].min(axis=1) ** 2
        step: Floats = np.matmul(jacobian, np.linalg.solve(square, wanted))[:, :, 0]
        return step, low > self.REGULAR


def _length(vectors: Floats) -> Floats:
    """(n,) of vectors (n, k)."""
    length: Floats = np.sqrt(np.sum(vectors * vectors, axis=1))
    return length


_DIAGONAL = np.arange(6)
