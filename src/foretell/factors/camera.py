"""Cameras: where they stand and how wide they look. Those on the robot stay as they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given, Setting
from foretell.rotation import from_axis_angle, multiply
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["CameraFOV", "CameraPose"]


class _FixedCameras(Factor):
    def obstacle(self, task: Task) -> str | None:
        return None if task.cameras else "it has no camera fixed in the room"


class CameraPose(_FixedCameras):
    """Pose of the fixed cameras; a value is camera -> {pos, turn}: metres in the task frame, rad in the camera's."""

    name = "Camera_Pose"
    nominal, extreme = "0", "up to 0.1 m and 0.05 rad along and about each axis"
    source = "Colosseum 2a: position +-.1, euler +-.05"
    most = 2.0

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, dict[str, list[float]]]:
        return {
            name: {
                "pos": (severity * rng.uniform(-0.1, 0.1, 3)).tolist(),
                "turn": (severity * rng.uniform(-0.05, 0.05, 3)).tolist(),
            }
            for name in sorted(task.cameras)
        }

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            for name, moved in value.items():
                camera = setting.spec.camera(name)
                camera.pos = np.asarray(camera.pos) + np.asarray(moved["pos"])
                camera.quat = multiply(np.asarray(camera.quat), from_axis_angle(np.asarray(moved["turn"])))

    def card(self, value: Any) -> str:
        parts = []
        for name, moved in value.items():
            x, y, z = (f"{100 * v:+.1f}" for v in moved["pos"])
            a, b, c = (f"{math.degrees(v):+.1f}°" for v in moved["turn"])
            parts.append(f"camera {name!r}: move by x {x}, y {y}, z {z} cm; pitch {a}, yaw {b}, roll {c}")
        return "; ".join(parts)


def widen(camera: Any, degrees: float) -> None:
    """Add to the vertical field of view of a camera of an MjSpec. One with intrinsics keeps its principal point."""
    if not camera.sensor_size[1] > 0:
        camera.fovy = camera.fovy + degrees
        return
    focal, half = np.asarray(camera.focal_pixel, dtype=float), camera.resolution[1] / 2
    angle = 2 * math.atan(half / focal[1])
    camera.focal_pixel = focal * math.tan(angle / 2) / math.tan((angle + math.radians(degrees)) / 2)


class CameraFOV(_FixedCameras):
    """Field of view of the fixed cameras; a value is camera -> degrees added."""

    name = "Camera_FOV"
    nominal, extreme = "0", "up to 5 degrees wider or narrower"
    source = "robosuite: fovy 5 deg"
    most = 2.0
    given, limits = "number", (-20.0, 20.0)

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, float]:
        if given:
            return {name: float(given.pick(rng)) for name in sorted(task.cameras)}
        low, high = self.span(task, (-5.0, 5.0))
        return {name: float(severity * rng.uniform(low, high)) for name in sorted(task.cameras)}

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            for name, wider in value.items():
                widen(setting.spec.camera(name), wider)

    def card(self, value: Any) -> str:
        return "; ".join(f"zoom camera {name!r}: {v:+.1f}° to its field of view" for name, v in value.items())
