"""Where joints put a robot's tool, and the joints that put it at a pose: the start of a motion of which only the tool
was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np
from scipy import optimize

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.identify.recording import Recording
from foretell.robots import Robot
from foretell.rotation import conjugate, from_matrix, multiply, to_axis_angle

__all__ = ["Tool", "require_quaternions", "started"]

STARTS = 8
"""Joints from which inverse kinematics begins: home, and some around it."""
AROUND = 0.25
"""How far around home, as a share of the joints' ranges."""
ARRIVED = 0.003
"""m, and rad, within which a pose is reached."""

FARTHEST = 5.0
"""m: no tool is so far from its base."""


class Tool:
    """The tool of a kind of robot that stands at the origin."""

    def __init__(self, kind: type[Robot]):
        robot = kind()
        self._model = robot.spec(visuals=False).compile()
        self._data = mujoco.MjData(self._model)
        self._site = self._model.site(robot.frame or robot.groups[robot.first()].tool).id
        names = [joint for group in robot.groups.values() for joint in group.joints]
        self._address = [int(self._model.joint(name).qposadr[0]) for name in names]
        self._moves = np.concatenate([np.full(len(g.joints), key == robot.first()) for key, g in robot.groups.items()])
        self._home = np.concatenate([np.asarray(group.home, dtype=float) for group in robot.groups.values()])
        self._low = np.concatenate([np.asarray(group.low, dtype=float) for group in robot.groups.values()])
        self._high = np.concatenate([np.asarray(group.high, dtype=float) for group in robot.groups.values()])

    def poses(self, q: Floats) -> tuple[Floats, Floats]:
        """(T, 3) and (T, 4) of the tool in the base frame at joints (T, joints)."""
        pos, quat = np.empty((len(q), 3)), np.empty((len(q), 4))
        for row, joints in enumerate(q):
            self._data.qpos[self._address] = joints
            mujoco.mj_kinematics(self._model, self._data)
            pos[row] = self._data.site_xpos[self._site]
            quat[row] = from_matrix(self._data.site_xmat[self._site].reshape(3, 3))
        return pos, quat

    def reach(self, pose: Floats) -> Floats | None:
        """(joints,) that put the tool at a pose (7,), as near to home as was found, the other groups at home; None
        where none do."""
        if np.abs(pose[:3]).max() > FARTHEST:
            return None
        rng = np.random.default_rng(0)
        low, high, home = self._low[self._moves], self._high[self._moves], self._home[self._moves]

        def whole(x: Floats) -> Floats:
            q = self._home.copy()
            q[self._moves] = x
            return q

        def apart(x: Floats) -> Floats:
            pos, quat = self.poses(whole(x)[None])
            turn = to_axis_angle(multiply(quat, conjugate(pose[None, 3:])))
            return np.concatenate([pos[0] - pose[:3], turn[0]])

        reached = []
        for number in range(STARTS):
            begin = home + (number > 0) * AROUND * (high - low) * rng.uniform(-1, 1, len(home))
            begin = np.clip(begin, low + 1e-3 * (high - low), high - 1e-3 * (high - low))
            solved = optimize.least_squares(apart, begin, bounds=(low, high), xtol=1e-12, max_nfev=200)
            if np.abs(solved.fun).max() < ARRIVED:
                reached.append(solved.x)
                if number == 0:
                    break
        return min((whole(x) for x in reached), key=lambda q: float(np.linalg.norm(q - self._home)), default=None)


def require_quaternions(recording: Recording) -> None:
    """Raises UsageError where the recorded orientations of the tool are none."""
    assert recording.ee is not None
    norm = np.linalg.norm(recording.ee[:, 3:], axis=1)
    if (np.abs(norm - 1) > 0.01).any():
        row = int(np.argmax(np.abs(norm - 1)))
        raise UsageError(
            f"identify: {recording.name}: ee_base: the quaternion after action {row} has length {norm[row]:.3g}, it "
            "should be 1"
        )


def started(recordings: Sequence[Recording], kind: type[Robot]) -> list[Recording]:
    """Recordings with the joints at which each begins: of those of the tool alone by inverse kinematics. Raises
    UsageError where no joints reach the first pose."""
    if all(recording.has_joints for recording in recordings):
        return list(recordings)
    tool, answers = Tool(kind), []
    for recording in recordings:
        if not recording.has_joints:
            assert recording.ee is not None
            require_quaternions(recording)
            q = recording.q.copy()
            start = tool.reach(recording.ee[0])
            if start is None:
                raise UsageError(_unreached(recording, kind, tool))
            q[0] = start
            recording = replace(recording, q=q)
        answers.append(recording)
    return answers


def _unreached(recording: Recording, kind: type[Robot], tool: Tool) -> str:
    assert recording.ee is not None
    where, first = f"identify: {recording.name}: ee_base", recording.ee[0]
    if tool.reach(np.concatenate([first[:3], np.roll(first[3:], 1)])) is not None:
        return f"{where}: quaternions look like x, y, z, w; they should be w, x, y, z"
    if np.abs(first[:3]).max() > FARTHEST and tool.reach(np.concatenate([first[:3] / 1000, first[3:]])) is not None:
        return f"{where}: positions look like millimetres; they should be metres"
    return (
        f"{where}: no joints of {kind.name} put its tool at the first pose: is it in the frame of the base, and the "
        "same tool frame? Record the joints (qpos), which need no such frame"
    )
