"""The soda can of robosuite's PickPlaceCan: 5 cm across, 8 cm tall, 16 g."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, ObjectPhysics, Round, prism, set_inertia

RADIUS, HALF_HEIGHT = 0.025, 0.040
MASS = 0.016
"""kg: a hull of 100 kg/m^3 in robosuite."""
INERTIA = (1.06e-5, 1.06e-5, 4.89e-6)
FACETS = 14


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    width, height = float(scale[:2].mean()), float(scale[2])
    mass = MASS * width**2 * height * physics.mass_scale
    tall, wide = mass * (INERTIA[0] / MASS) * height**2, mass * (INERTIA[2] / MASS) * width**2
    set_inertia(body, mass, [tall, tall, wide])
    contact = {
        "friction": [0.95 * physics.friction_scale, 0.3, 0.1],
        "condim": 4,
        "solref": physics.solref,
        "priority": 1,
    }
    cylinder = mujoco.mjtGeom.mjGEOM_CYLINDER
    if physics.geometry == "primitive":
        body.add_geom(
            name=f"{body.name}/body",
            type=cylinder,
            size=[RADIUS * width, HALF_HEIGHT * height, 0],
            rgba=[0.80, 0.07, 0.09, 1],
            **contact,
        )
    else:
        # a faceted body that narrows to its rims, as robosuite's mesh does
        angle = np.arange(FACETS) * 2 * np.pi / FACETS
        outline = np.column_stack([np.cos(angle), np.sin(angle)]) * RADIUS * width
        heights = np.array([-0.0403, -0.0381, 0.0371, 0.0397]) * height
        mesh = spec.add_mesh(name=f"{body.name}/mesh")
        mesh.uservert = prism(outline, heights, np.array([0.936, 1.0, 1.0, 0.936])).ravel()
        body.add_geom(
            name=f"{body.name}/body",
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            rgba=[0.80, 0.07, 0.09, 1],
            **contact,
        )
    # the look: a white band and bare metal ends
    seen = {"contype": 0, "conaffinity": 0, "group": 2, "mass": 0}
    for name, z, half, radius, colour in (
        ("band", 0.004, 0.006, 1.004, [0.95, 0.95, 0.95, 1]),
        ("lid", 0.0392, 0.0012, 0.95, [0.78, 0.79, 0.80, 1]),
        ("foot", -0.0392, 0.0012, 0.95, [0.78, 0.79, 0.80, 1]),
    ):
        body.add_geom(
            name=f"{body.name}/{name}",
            type=cylinder,
            pos=[0, 0, z * height],
            size=[RADIUS * width * radius, half * height, 0],
            rgba=colour,
            **seen,
        )


CAN = ASSETS["can"] = Round("can", MASS, 0.0403, _add, about="z")
