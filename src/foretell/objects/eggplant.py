"""The eggplant of SIMPLER's put_eggplant_in_basket: 7.9 cm long, 21 g, a toy. Its x axis points to the thick end."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, ObjectPhysics, Round
from foretell.objects.loft import Section, loft
from foretell.objects.piece import SEEN, Inertia, add_piece, contact

SECTIONS: tuple[Section, ...] = (
    (-0.0449, (-0.0014, 0.0026), (0.0102, 0.0142)),
    (-0.0350, (-0.0085, 0.0096), (-0.0035, 0.0159)),
    (-0.0252, (-0.0120, 0.0131), (-0.0097, 0.0169)),
    (-0.0154, (-0.0149, 0.0156), (-0.0149, 0.0171)),
    (-0.0055, (-0.0171, 0.0174), (-0.0180, 0.0174)),
    (0.0043, (-0.0186, 0.0183), (-0.0200, 0.0176)),
    (0.0141, (-0.0186, 0.0179), (-0.0200, 0.0172)),
    (0.0240, (-0.0156, 0.0146), (-0.0177, 0.0143)),
    (0.0300, (-0.0100, 0.0085), (-0.0125, 0.0080)),
    (0.0338, (-0.0035, 0.0015), (-0.0030, 0.0010)),
)
LIES = math.radians(6.4)
"""The side it lies on, about its x axis."""
INERTIA = Inertia(
    mass=0.02088881,
    principal=(2.780881e-6, 7.670611e-6, 7.591652e-6),
    com=(0.00019650, 0.00004598, -0.00008753),
    quat=(0.996864, -0.023393, 0.074770, -0.011178),
)
PURPLE, GREEN = (0.40, 0.18, 0.44, 1.0), (0.32, 0.20, 0.34, 1.0)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    add_piece(
        spec, body, "hull", loft(SECTIONS, points=16, turn=LIES) * scale, rgba=PURPLE, **contact(physics, seen=True)
    )
    body.add_geom(
        name=f"{body.name}/stem",
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=(np.array([[-0.041, 0.0006, 0.0115], [-0.0465, 0.0006, 0.0120]]) * scale).ravel(),
        size=[0.0022 * float(scale.mean()), 0, 0],
        rgba=GREEN,
        **SEEN,
    )


EGGPLANT = ASSETS["bridge-eggplant"] = Round("bridge-eggplant", INERTIA.mass, 0.0186, _add, about="x")
