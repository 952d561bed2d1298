"""The blocks of SIMPLER's stack_cube: 3 cm, 27 g, one green and one yellow."""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, Asset, ObjectPhysics
from foretell.objects.cube import bevelled
from foretell.objects.piece import Inertia, add_piece, contact

HALF = 0.015
INERTIA = Inertia(mass=0.027, principal=(4.05e-6, 4.05e-6, 4.05e-6), com=(0.0, 0.0, 0.0))
GREEN, YELLOW = (0.27, 0.47, 0.38, 1.0), (0.95, 0.82, 0.48, 1.0)


def _add(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    scale: np.ndarray,
    physics: ObjectPhysics,
    *,
    rgba: tuple[float, ...],
    receives: bool,
) -> None:
    INERTIA.set(body, scale, physics)
    half, more = HALF * scale, contact(physics, receives=receives, seen=True)
    if physics.geometry == "primitive":
        body.add_geom(name=f"{body.name}/body", type=mujoco.mjtGeom.mjGEOM_BOX, size=half, rgba=rgba, **more)
    else:
        add_piece(spec, body, "body", bevelled(half), rgba=rgba, **more)


GREEN_BLOCK = ASSETS["green-block"] = Asset(
    "green-block", INERTIA.mass, HALF, partial(_add, rgba=GREEN, receives=False)
)
YELLOW_BLOCK = ASSETS["yellow-block"] = Asset(
    "yellow-block", INERTIA.mass, HALF, partial(_add, rgba=YELLOW, receives=True)
)
