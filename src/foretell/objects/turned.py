"""Turned things: cans, bottles and fruit. They look round, and touch with flat sides, so that they stand still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from foretell.arrays import Floats

__all__ = ["Turned"]


@dataclass(frozen=True, kw_only=True)
class Turned:
    """A thing turned about an axis that points up its y, in m and rad."""

    axis: tuple[float, float] = (0.0, 0.0)
    """x and z of the axis where y is 0."""
    lean: tuple[float, float] = (0.0, 0.0)
    """How much x and z of the axis grow with y."""
    stands: tuple[float, float, float]
    """Height of the origin over the plane on which the thing stands, and slopes of that plane along x and z: the thing
    leans as it comes to rest."""
    foot: float
    """Radius of the corners that it stands on."""
    wall: tuple[tuple[float, float], ...]
    """y, and distance of the flat sides from the axis, from the foot up."""
    profile: tuple[tuple[float, float], ...]
    """y and radius of what is seen, from the foot up."""
    sides: int = 16
    lies: float = 0.0
    """Direction about the axis of the middle of a flat side, from x to z."""
    upright: bool = False
    """The axis points up the z of the object instead; what is said here of y and z holds for z and -y."""

    def ring(self, angle: Floats, y: float, radius: float) -> Floats:
        """(k, 3) points about the axis."""
        x, z = self.axis[0] + self.lean[0] * y, self.axis[1] + self.lean[1] * y
        return np.column_stack([x + radius * np.cos(angle), np.full(len(angle), y), z + radius * np.sin(angle)])

    def hull(self) -> Floats:
        """(k, 3) corners of the shape that touches, in the frame of the object."""
        angle = self.lies + (np.arange(self.sides) + 0.5) * 2 * np.pi / self.sides
        height, x, z = self.stands
        foot = self.ring(angle, -height, self.foot)
        foot[:, 1] = -height + x * foot[:, 0] + z * foot[:, 2]
        walls = [self.ring(angle, y, distance / np.cos(np.pi / self.sides)) for y, distance in self.wall]
        return self._in_frame(np.concatenate([foot, *walls]))

    def lathe(
        self, spec: mujoco.MjSpec, name: str, scale: Floats, up: Sequence[float] | None = None, sides: int = 28
    ) -> mujoco.MjsMesh:
        """What is seen, with a texture around it. `up`: where each point of the profile is in the picture, 0 at its
        lower edge and 1 at the upper; else evenly along the profile."""
        points = np.asarray(self.profile)
        if up is None:
            along = np.concatenate([[0.0], np.linalg.norm(np.diff(points, axis=0), axis=1).cumsum()])
            up = (along / along[-1]).tolist()
        angle = np.linspace(0, 2 * np.pi, sides + 1)
        vertices = self._in_frame(np.concatenate([self.ring(angle, y, radius) for y, radius in self.profile])) * scale
        texture = np.concatenate([np.column_stack([-angle / (2 * np.pi), np.full(sides + 1, 1 - v)]) for v in up])
        faces = []
        for ring in range(len(self.profile) - 1):
            for k in range(sides):
                a, b = ring * (sides + 1) + k, (ring + 1) * (sides + 1) + k
                faces += [(a, b, a + 1), (a + 1, b, b + 1)]
        mesh = spec.add_mesh(name=name, uservert=vertices.ravel(), userface=np.array(faces).ravel())
        mesh.usertexcoord = texture.ravel()
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        return mesh

    def _in_frame(self, points: Floats) -> Floats:
        """(k, 3) points with the axis along y in the frame of the object."""
        return np.column_stack([points[:, 0], -points[:, 2], points[:, 1]]) if self.upright else points
