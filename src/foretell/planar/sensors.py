"""What a robot of the planar world senses: rays, where it believes to be, and the goal as it sees it."""

from __future__ import annotations

import math

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.planar.geometry import Geometry
from foretell.planar.params import PlanarTheta
from foretell.planar.rays import columns, distances
from foretell.robots.locobot import LoCoBot
from foretell.seeding import generator

__all__ = ["Rays", "as_polar", "in_frame"]


def in_frame(pose: Floats, frame: Floats) -> Floats:
    """(n, 3) poses as seen from frames (n, 3): x ahead, y to the left, heading within half a turn."""
    dx, dy = pose[:, 0] - frame[:, 0], pose[:, 1] - frame[:, 1]
    cos, sin = np.cos(frame[:, 2]), np.sin(frame[:, 2])
    return np.stack([cos * dx + sin * dy, cos * dy - sin * dx, _wrapped(pose[:, 2] - frame[:, 2])], axis=1)


def as_polar(pose: Floats, goal: Floats) -> Floats:
    """(n, 2) m and rad to the left: goals (n, 2) as seen from poses (n, 3). Habitat has (rho, -phi), which is this."""
    dx, dy = goal[:, 0] - pose[:, 0], goal[:, 1] - pose[:, 1]
    return np.stack([np.sqrt(dx * dx + dy * dy), _wrapped(np.arctan2(dy, dx) - pose[:, 2])], axis=1)


def _wrapped(angle: Floats) -> Floats:
    return np.asarray(np.arctan2(np.sin(angle), np.cos(angle)))


class Rays:
    """The lidar and the columns of the depth camera."""

    def __init__(self, geometry: Geometry, theta: PlanarTheta):
        self._geometry, self._theta = geometry, theta
        self._around = 2 * math.pi * np.arange(LoCoBot.BEAMS) / LoCoBot.BEAMS
        self._across = columns(LoCoBot.COLUMNS, LoCoBot.VIEW)

    def lidar(self, slots: Ints, pose: Floats, ticks: Ints, keys: list[tuple[str, int]]) -> Floats:
        """(n, BEAMS) m from poses (n, 3) at ticks (n,) of episodes with keys (scenario's base, trial)."""
        walls, heights = self._geometry.of(slots)
        hidden = np.where(heights >= LoCoBot.LIDAR, 0.0, np.inf)
        seen = distances(pose, self._around, walls, hidden, LoCoBot.FURTHEST)
        if self._theta.lidar_noise > 0:
            seen = seen + self._theta.lidar_noise * _normal("lidar", seen.shape[1], ticks, keys)
        return np.clip(seen, 0.0, LoCoBot.FURTHEST)

    def depth(self, slots: Ints, pose: Floats, ticks: Ints, keys: list[tuple[str, int]]) -> Floats:
        """(n, COLUMNS) m along the heading to the nearest thing in each column of the depth image, the floor left out.
        What is lower than the camera is out of the picture when near."""
        walls, heights = self._geometry.of(slots)
        ahead, height = LoCoBot.CAMERA
        hidden = np.maximum(height - heights, 0.0) / math.tan(LoCoBot.VIEW / 2)
        eye = pose.copy()
        eye[:, 0] += ahead * np.cos(pose[:, 2])
        eye[:, 1] += ahead * np.sin(pose[:, 2])
        seen = distances(eye, self._across, walls, hidden, LoCoBot.FURTHEST, flat=True)
        if self._theta.depth_noise > 0:
            seen = seen + self._theta.depth_noise * seen**2 * _normal("depth", seen.shape[1], ticks, keys)
        return np.clip(seen, 0.0, LoCoBot.FURTHEST)


def _normal(sensor: str, count: int, ticks: Ints, keys: list[tuple[str, int]]) -> Floats:
    """(n, count): whoever looks again at the same tick sees the same."""
    rows = [
        generator(base, trial, f"{sensor} {tick}").standard_normal(count)
        for (base, trial), tick in zip(keys, ticks.tolist(), strict=True)
    ]
    return np.array(rows)
