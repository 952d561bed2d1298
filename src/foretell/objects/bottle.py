"""The blue plastic bottle of SIMPLER's Google Robot tasks: 6 cm across, 20 cm tall, empty (29 g). Its y axis points to
the cap. Its foot is uneven, so that it leans by 3 degrees."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, ObjectPhysics, Round
from foretell.objects.piece import SEEN, Inertia, add_piece, contact
from foretell.objects.turned import Turned

__all__ = ["BOTTLE"]

SHAPE = Turned(
    axis=(0.0012, 0.0028),
    lean=(-0.012, 0.020),
    stands=(0.087285, 0.055701, -0.022170),
    foot=0.0245,
    wall=((-0.0740, 0.0314), (0.0570, 0.0314), (0.1000, 0.0182), (0.1157, 0.0145)),
    profile=(
        (-0.0860, 0.0),
        (-0.0860, 0.0240),
        (-0.0820, 0.0290),
        (-0.0760, 0.0312),
        (-0.0300, 0.0312),
        (-0.0240, 0.0296),
        (0.0160, 0.0296),
        (0.0220, 0.0312),
        (0.0540, 0.0312),
        (0.0700, 0.0275),
        (0.0900, 0.0190),
        (0.0980, 0.0145),
        (0.1010, 0.0140),
    ),
)
CAP = Turned(
    axis=SHAPE.axis,
    lean=SHAPE.lean,
    stands=SHAPE.stands,
    foot=0.0,
    wall=(),
    profile=((0.1000, 0.0155), (0.1150, 0.0150), (0.1157, 0.0140), (0.1157, 0.0)),
)
INERTIA = Inertia(
    mass=0.0285343,
    principal=(8.264947e-5, 1.421141e-5, 8.152379e-5),
    com=(0.0012225, 0.0006675, 0.0028996),
    quat=(0.998308, 0.010237, -0.056994, 0.005296),
)
BLUE, DARK = (0.22, 0.42, 0.78, 1.0), (0.12, 0.24, 0.55, 1.0)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    add_piece(spec, body, "hull", SHAPE.hull() * scale, rgba=BLUE, **contact(physics))
    for name, shape, colour in (("shell", SHAPE, BLUE), ("cap", CAP, DARK)):
        mesh = shape.lathe(spec, f"{body.name}/{name}", scale)
        body.add_geom(name=mesh.name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, rgba=colour, **SEEN)


BOTTLE = ASSETS["blue-bottle"] = Round("blue-bottle", INERTIA.mass, SHAPE.stands[0], _add, about="y")
