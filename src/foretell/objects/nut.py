"""The square nut of robosuite's NutAssemblySquare: five boxes, 15.8 g, a hole of 45.5 mm and a handle."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, Asset, ObjectPhysics, set_inertia

# half sizes and centres, m; the body's origin is the middle of the hole
BOXES = {
    "back": ((0.0105, 0.04375, 0.01), (-0.03325, 0.0)),
    "left": ((0.03125, 0.0105, 0.01), (0.0, 0.03325)),
    "right": ((0.03125, 0.0105, 0.01), (0.0, -0.03325)),
    "front": ((0.0105, 0.04375, 0.01), (0.03325, 0.0)),
    "handle": ((0.02525, 0.015875, 0.01), (0.054, 0.0)),
}
INNER = ("left", "right")
"""Bars that end between the other two: a flat surface meets those (the nut's convex hull) first, never these, so they
do not look for one. It saves 8 of the 20 contacts of a nut at rest."""
HANDLE = 0.054
"""x of the handle's middle, m."""
MASS = 0.0158068
COM = (0.010955, 0.0, 0.0)
INERTIA = (1.1483e-5, 1.8767e-5, 2.9196e-5)
BRASS = (0.72, 0.56, 0.24, 1.0)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    mass = MASS * float(np.prod(scale)) * physics.mass_scale
    squares = np.asarray(scale) ** 2
    inertia = [mass / MASS * i * float(np.mean(np.delete(squares, k))) for k, i in enumerate(INERTIA)]
    set_inertia(body, mass, inertia, tuple(np.asarray(COM) * scale))
    # a scan of the nut would round its edges: thinner bars, so a hole 1 mm wider
    shrink = 0.0 if physics.geometry == "primitive" else 0.0005
    for name, (half, centre) in BOXES.items():
        body.add_geom(
            name=f"{body.name}/{name}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(np.asarray(half) - shrink) * scale,
            pos=np.array([*centre, 0.0]) * scale,
            rgba=BRASS,
            friction=[0.95 * physics.friction_scale, 0.3, 0.1],
            condim=4,
            contype=0 if name in INNER else 1,
            conaffinity=3 if name in INNER else 1,  # see arena.SURFACE
            solref=physics.solref,
            priority=1,
        )


SQUARE_NUT = ASSETS["square-nut"] = Asset("square-nut", MASS, 0.01, _add)
