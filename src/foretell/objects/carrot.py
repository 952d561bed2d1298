"""The carrot of SIMPLER's carrot_on_plate: 11.8 cm long, 55 g. Its x axis points to the leaves."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, ObjectPhysics, Round
from foretell.objects.loft import Section, loft
from foretell.objects.piece import SEEN, Inertia, add_piece, contact

SECTIONS: tuple[Section, ...] = (
    (-0.0641, (-0.0033, 0.0030), (-0.0069, -0.0008)),
    (-0.0420, (-0.0089, 0.0085), (-0.0120, 0.0048)),
    (-0.0198, (-0.0132, 0.0134), (-0.0155, 0.0102)),
    (0.0032, (-0.0163, 0.0159), (-0.01778, 0.0146)),
    (0.02465, (-0.0153, 0.0155), (-0.01592, 0.0182)),
    (0.0542, (-0.0133, 0.0095), (0.0013, 0.0234)),
)
"""SIMPLER's collision shape has square sections. It lies on the side between the fourth and the fifth: the tip is up by
5 degrees."""
ROOT: tuple[Section, ...] = (
    (-0.0605, (-0.0022, 0.0020), (-0.0062, -0.0020)),
    (-0.0420, (-0.0086, 0.0082), (-0.0116, 0.0040)),
    (-0.0198, (-0.0128, 0.0130), (-0.0151, 0.0090)),
    (0.0000, (-0.0145, 0.0143), (-0.0170, 0.0115)),
    (0.0180, (-0.0118, 0.0116), (-0.0140, 0.0095)),
    (0.0300, (-0.0070, 0.0070), (-0.0085, 0.0065)),
)
"""What is orange of it, and seen. It is a little thinner than what touches."""
LEAVES = ((-0.006, 0.006), (0.004, 0.009), (-0.002, 0.014))
"""y and z of their tips."""
INERTIA = Inertia(
    mass=0.05472691,
    principal=(7.576391e-6, 4.296597e-5, 4.259545e-5),
    com=(0.00680288, -0.00020980, 0.00057048),
    quat=(0.995006, 0.066841, -0.074120, -0.001295),
)
ORANGE, GREEN = (0.93, 0.42, 0.09, 1.0), (0.18, 0.36, 0.14, 1.0)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    add_piece(spec, body, "hull", loft(SECTIONS, points=4) * scale, rgba=ORANGE, **contact(physics))
    add_piece(spec, body, "root", loft(ROOT, points=24) * scale, rgba=ORANGE, **SEEN)
    for number, (y, z) in enumerate(LEAVES):
        body.add_geom(
            name=f"{body.name}/leaf{number}",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=(np.array([[0.034, -0.001, 0.002], [0.049, y, z]]) * scale).ravel(),
            size=[0.004 * float(scale.mean()), 0, 0],
            rgba=GREEN,
            **SEEN,
        )


CARROT = ASSETS["bridge-carrot"] = Round("bridge-carrot", INERTIA.mass, 0.0179965, _add, about="x")
