"""The plate of SIMPLER's carrot_on_plate: 11 cm across, 6 mm high, 39 g. Things lie on its rim: it is a convex hull."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, Asset, ObjectPhysics, prism
from foretell.objects.piece import SEEN, Inertia, add_piece, contact

RIM, FOOT, HEIGHT = 0.055, 0.0358, 0.006
"""Radii and height, m. The origin is the middle of the foot."""
FACETS = 40
INERTIA = Inertia(
    mass=0.03918878,
    principal=(2.275518e-5, 2.225530e-5, 4.480173e-5),
    com=(-0.00010103, 0.00007680, 0.00353625),
    quat=(0.998005, 0.000098, -0.000139, -0.063142),
)
GREEN, DARKER = (0.87, 0.95, 0.62, 1.0), (0.80, 0.89, 0.55, 1.0)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    angle = np.arange(FACETS) * 2 * np.pi / FACETS
    outline = np.column_stack([np.cos(angle), np.sin(angle)])
    hull = prism(outline, np.array([0.0, HEIGHT]), np.array([FOOT, RIM])) * scale
    add_piece(spec, body, "hull", hull, rgba=GREEN, **contact(physics, receives=True, seen=True))
    # the look of a hollow: a darker disc with a lighter one in it
    for name, radius, above, colour in (("well", 0.70, 0.0004, DARKER), ("bottom", 0.62, 0.0007, GREEN)):
        body.add_geom(
            name=f"{body.name}/{name}",
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            pos=[0, 0, HEIGHT * scale[2] + above / 2],
            size=[RIM * radius * float(scale[:2].mean()), above / 2, 0],
            rgba=colour,
            **SEEN,
        )


PLATE = ASSETS["bridge-plate"] = Asset("bridge-plate", INERTIA.mass, 0.0, _add)
