"""Pieces: the convex shapes that the objects of SIMPLER are made of, and the inertia that PhysX gives them.

PhysX takes the mean friction of two bodies: objects have 0.5, the table 1.0. MuJoCo takes that of the geom with the
higher priority, or the higher one. So what is moved has 0.75, which is right on the table, and what receives it has
0.5 with a higher priority, which is right between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.objects.asset import ObjectPhysics

__all__ = ["SEEN", "Inertia", "add_piece", "contact"]

SEEN: dict[str, Any] = {"contype": 0, "conaffinity": 0, "group": 2, "mass": 0}
"""What is only seen."""
ON_TABLE, ON_RECEIVER = 0.75, 0.5


def contact(physics: ObjectPhysics, receives: bool = False, seen: bool = False) -> dict[str, Any]:
    """How a piece of an object touches. `seen`: it is its own look; else it is hidden."""
    sliding = (ON_RECEIVER if receives else ON_TABLE) * physics.friction_scale
    return {
        "friction": [sliding, 0.005, 0.0001],
        "condim": 3,
        "solref": physics.solref,
        "priority": 2 if receives else 1,
        "mass": 0,
        "group": 0 if seen else 3,
    }


def add_piece(spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, vertices: Floats, **geom: Any) -> None:
    """Add the convex hull of vertices (k, 3), which are in the frame of the body."""
    mesh = spec.add_mesh(name=f"{body.name}/{name}", uservert=np.asarray(vertices).ravel())
    body.add_geom(name=mesh.name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, **geom)


@dataclass(frozen=True, kw_only=True)
class Inertia:
    """Mass properties at nominal size, kg and m."""

    mass: float
    principal: Sequence[float]
    com: tuple[float, float, float]
    quat: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    """Of the principal axes in the frame of the object."""

    def set(self, body: mujoco.MjsBody, scale: Floats, physics: ObjectPhysics) -> None:
        """Give a body these, of an object of another size those of the same material."""
        size = float(np.cbrt(np.prod(scale)))
        body.explicitinertial = True
        body.mass = self.mass * size**3 * physics.mass_scale
        body.inertia = [float(i) * size**5 * physics.mass_scale for i in self.principal]
        body.ipos = [float(c * s) for c, s in zip(self.com, scale, strict=True)]
        body.iquat = list(self.quat)
