"""The cabinet of SIMPLER's drawer tasks, from its published boxes: three drawers of 11.4 kg that slide out along x."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from foretell.objects import arena
from foretell.objects.asset import ASSETS, Fixture, Joint, ObjectPhysics, box_inertia
from foretell.objects.piece import SEEN

__all__ = ["CABINET", "DRAWERS", "HANDLE", "TRAVEL"]

Box = tuple[str, tuple[float, float, float], tuple[float, float, float]]
DRAWERS = {"top": 0.668, "middle": 0.423, "bottom": 0.178}
"""Drawer -> height of its middle above the foot of the cabinet, m."""
TRAVEL, MASS = 0.5, 11.3765
FRICTION, DAMPING = 0.05, 1.0
"""Of a drawer's slide, N and N s/m."""
HANDLE = (0.3425, 0.0, 0.02)
"""Middle of the bar of a handle in the frame of its drawer, m."""
BODY: tuple[Box, ...] = (
    ("back", (-0.305, 0.0, 0.4225), (0.010, 0.3075, 0.4225)),
    ("left", (0.0, -0.2975, 0.4225), (0.295, 0.010, 0.4225)),
    ("right", (0.0, 0.2975, 0.4225), (0.295, 0.010, 0.4225)),
    ("top", (0.0, 0.0, 0.855), (0.315, 0.3075, 0.010)),
)
DRAWER: tuple[Box, ...] = (
    ("front", (0.305, 0.0, 0.0), (0.0075, 0.3075, 0.07)),
    ("rear", (-0.285, 0.0, -0.02), (0.010, 0.2575, 0.05)),
    ("floor", (0.0, 0.0, -0.06), (0.275, 0.2575, 0.010)),
    ("inner", (0.285, 0.0, -0.02), (0.010, 0.2575, 0.05)),
    ("left", (0.0, -0.2675, -0.02), (0.295, 0.010, 0.05)),
    ("right", (0.0, 0.2675, -0.02), (0.295, 0.010, 0.05)),
)
BAR: tuple[Box, ...] = (
    ("bar", (0.0, 0.0, 0.0), (0.0025, 0.05, 0.0025)),
    ("post0", (-0.010, -0.05, 0.0), (0.010, 0.0025, 0.0025)),
    ("post1", (-0.010, 0.05, 0.0), (0.010, 0.0025, 0.0025)),
)
"""Boxes of a handle, from the middle of its bar. They are only seen: in SIMPLER too nothing touches them."""
BROWN, BLACK = (0.65, 0.505, 0.41, 1), (0.05, 0.05, 0.05, 1)
"""As in the original, the cabinet has one colour, and its handles another."""


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    touch: dict[str, Any] = {"friction": physics.friction_scale, **arena.SURFACE}
    for name, pos, half in BODY:
        arena.box(body, f"{body.name}/{name}", pos, half, BROWN, **touch)
    for drawer, height in DRAWERS.items():
        slide = body.add_body(name=f"{body.name}/{drawer}_drawer", pos=[0.0, 0.0, height])
        slide.explicitinertial, slide.mass = True, MASS
        slide.inertia = box_inertia(MASS, np.array([0.3, 0.27, 0.06]))
        slide.add_joint(
            name=f"{body.name}/{drawer}",
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=[1, 0, 0],
            limited=True,
            range=[0.0, TRAVEL],
            damping=DAMPING,
            frictionloss=FRICTION,
        )
        floor = slide.add_body(name=f"{body.name}/{drawer}_floor")  # a part of its own, so that tasks can ask for it
        for name, pos, half in DRAWER:
            part = floor if name == "floor" else slide
            arena.box(part, f"{slide.name}/{name}", pos, half, BROWN, **touch)
        floor.explicitinertial, floor.mass, floor.inertia = True, 0.0, [0.0, 0.0, 0.0]
        slide.add_site(name=f"{body.name}/{drawer}_handle", pos=HANDLE, group=4)
        for name, pos, half in BAR:
            slide.add_geom(
                name=f"{slide.name}/{name}",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=np.add(HANDLE, pos),
                size=half,
                rgba=BLACK,
                **SEEN,
            )


CABINET = ASSETS["station-cabinet"] = Fixture(
    "station-cabinet",
    38.0845 + 3 * MASS,
    0.0,
    _add,
    joints={drawer: Joint(0.0, TRAVEL) for drawer in DRAWERS},
    sites=tuple(f"{drawer}_handle" for drawer in DRAWERS),
)
