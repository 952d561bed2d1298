"""Drivers with LeRobot's interface that need no hardware: an arm and a base that move as they are told, in real time,
write down what they are sent and when, and fail on request. A world file names them as `fake_robots.py:FakeArm`."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

JOINTS = ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate")
HOME = (-0.01840777, 0.0398835, 0.22242722, -0.00460194, 1.36524296, 0.00153398)
SIZE = (48, 64, 3)


class _Fake:
    """`log`: a file for what is sent. The other options are faults: seconds that observation number `hang_at` takes, a
    key that is left out, is not finite or has another shape, the number of the observation that raises, and the sends
    after which every observation does."""

    def __init__(
        self,
        log: str | None = None,
        *,
        hang_at: int | None = None,
        hang_s: float = 1.0,
        lost_key: str | None = None,
        nan_key: str | None = None,
        flat_key: str | None = None,
        raise_at: int | None = None,
        lost_after: int | None = None,
        slow_s: float = 0.0,
    ):
        self.log = None if log is None else Path(log)
        self.hang_at, self.hang_s, self.raise_at, self.slow_s = hang_at, hang_s, raise_at, slow_s
        self.lost_after = lost_after
        self.lost_key, self.nan_key, self.flat_key = lost_key, nan_key, flat_key
        self.is_connected, self.connects, self.looks = False, 0, 0
        self.sent: list[tuple[float, dict[str, float]]] = []
        self.measured: list[dict[str, float]] = []
        self._moved = time.monotonic()

    def connect(self, calibrate: bool = True) -> None:
        assert not calibrate, "calibration moves the robot"
        self.is_connected, self.connects = True, self.connects + 1

    def disconnect(self) -> None:
        self.is_connected = False

    def get_observation(self) -> dict[str, Any]:
        assert self.is_connected
        self.looks += 1
        if self.slow_s:
            time.sleep(self.slow_s)
        if self.looks == self.hang_at:
            time.sleep(self.hang_s)
        if self.looks == self.raise_at or len(self.sent) == self.lost_after:
            raise ConnectionError("the cable is out")
        self._move()
        seen = self._observe()
        if self.lost_key is not None:
            seen.pop(self.lost_key)
        if self.nan_key is not None:
            seen[self.nan_key] = math.nan
        if self.flat_key is not None:
            seen[self.flat_key] = np.zeros(3)
        return seen

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        assert self.is_connected
        self._move()
        self.sent.append((time.monotonic(), dict(action)))
        self.measured.append({k: v for k, v in self._observe().items() if isinstance(v, float)})
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(json.dumps({"at": self.sent[-1][0], "sent": action, "is": self.measured[-1]}) + "\n")
        self._take(action)
        return dict(action)

    def _move(self) -> None:
        now = time.monotonic()
        self._go(now - self._moved)
        self._moved = now

    def _go(self, seconds: float) -> None:
        raise NotImplementedError

    def _observe(self) -> dict[str, Any]:
        raise NotImplementedError

    def _take(self, action: dict[str, float]) -> None:
        raise NotImplementedError


class FakeArm(_Fake):
    """A WidowX in degrees, whose elbow counts the other way round; its gripper goes from 0 (shut) to 100. Joints follow
    at up to 6 rad/s."""

    observation_features = {**{f"{joint}.pos": float for joint in (*JOINTS, "gripper")}, "front": SIZE}
    action_features = {f"{joint}.pos": float for joint in (*JOINTS, "gripper")}

    def __init__(self, log: str | None = None, *, at: list[float] | None = None, **faults: Any):
        super().__init__(log, **faults)
        self.q = np.array([*(HOME if at is None else at), 1.0])  # rad, and the share that it is open
        self.goal = self.q.copy()

    def _go(self, seconds: float) -> None:
        self.q = self.q + np.clip(self.goal - self.q, -6.0 * seconds, 6.0 * seconds)

    def _observe(self) -> dict[str, Any]:
        arm = np.degrees(self.q[:6]) * [1, 1, -1, 1, 1, 1] + [0, 0, 10, 0, 0, 0]
        seen: dict[str, Any] = {f"{joint}.pos": float(value) for joint, value in zip(JOINTS, arm, strict=True)}
        image = np.full(SIZE, 30 + self.looks % 200, dtype=np.uint8)
        return {**seen, "gripper.pos": float(100 * self.q[6]), "front": image}

    def _take(self, action: dict[str, float]) -> None:
        arm = np.array([action[f"{joint}.pos"] for joint in JOINTS])
        self.goal = np.array(
            [*np.radians((arm - [0, 0, 10, 0, 0, 0]) * [1, 1, -1, 1, 1, 1]), action["gripper.pos"] / 100]
        )


class HeldArm(FakeArm):
    """An arm that can hold by itself."""

    held = 0

    def stop(self) -> None:
        self._move()
        self.goal, self.held = self.q.copy(), self.held + 1


class FakeBase(_Fake):
    """A base that drives as it is told. Its pose is in the room, in m and degrees."""

    observation_features = dict.fromkeys(("x.pos", "y.pos", "theta.pos", "bump"), float)
    action_features = dict.fromkeys(("x.vel", "y.vel", "theta.vel"), float)

    def __init__(self, log: str | None = None, *, at: list[float] | None = None, **faults: Any):
        super().__init__(log, **faults)
        self.pose, self.speed = np.array(at or [0.0, 0.0, 0.0]), np.zeros(2)

    def _go(self, seconds: float) -> None:
        ahead, turn = self.speed * seconds
        middle = self.pose[2] + turn / 2
        self.pose = self.pose + [ahead * math.cos(middle), ahead * math.sin(middle), turn]

    def _observe(self) -> dict[str, Any]:
        x, y, turn = self.pose.tolist()
        return {"x.pos": x, "y.pos": y, "theta.pos": math.degrees(turn), "bump": 0.0}

    def _take(self, action: dict[str, float]) -> None:
        self.speed = np.array([action["x.vel"], math.radians(action["theta.vel"])])


ARM: dict[str, Any] = {
    "name": "fake_arm",
    "kind": "robot",
    "driver": {"use": f"{Path(__file__)}:FakeArm"},
    "robot": "widowx",
    "rate": 50,
    "joints": {
        "arm": [
            {"key": f"{joint}.pos", "unit": "deg", **({"sign": -1, "offset": 10.0} if joint == "elbow" else {})}
            for joint in JOINTS
        ],
        "gripper": {"key": "gripper.pos", "open": 100, "closed": 0},
    },
    "cameras": {"third": {"key": "front"}},
}
BASE: dict[str, Any] = {
    "name": "fake_base",
    "kind": "robot",
    "driver": {"use": f"{Path(__file__)}:FakeBase"},
    "robot": "locobot",
    "rate": 50,
    "base": {
        "x": "x.vel",
        "theta": "theta.vel",
        "unit": "deg/s",
        "pose": ["x.pos", "y.pos", "theta.pos"],
        "bump": "bump",
    },
    "hold": {"y.vel": 0.0},
}


def arm_file(folder: Path, name: str = "arm.yaml", *, options: dict[str, Any] | None = None, **more: Any) -> Path:
    """A world file of the fake arm."""
    (folder / name).write_text(yaml.safe_dump({**ARM, "driver": {**ARM["driver"], "options": options or {}}, **more}))
    return folder / name


def sends(log: Path) -> list[dict[str, Any]]:
    """What a driver in another process was sent."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
