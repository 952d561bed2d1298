"""The spoon of SIMPLER's spoon_on_towel: 14 cm long, 43 g, a thick green handle along +x and a white bowl."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, Asset, ObjectPhysics
from foretell.objects.loft import Section, loft
from foretell.objects.piece import Inertia, add_piece, contact

TIP: tuple[Section, ...] = (
    (-0.0732, (0.0005, 0.0015), (0.0136, 0.0144)),
    (-0.0701, (-0.0078, 0.0086), (0.0083, 0.0143)),
    (-0.0654, (-0.0118, 0.0122), (0.0025, 0.0108)),
    (-0.0608, (-0.0144, 0.0147), (-0.0016, 0.0073)),
)
MIDDLE: tuple[Section, ...] = (
    (-0.0608, (-0.0146, 0.0148), (-0.0016, 0.0068)),
    (-0.0544, (-0.0168, 0.0169), (-0.0058, 0.0052)),
    (-0.0479, (-0.0176, 0.0178), (-0.0080, 0.0032)),
)
REAR: tuple[Section, ...] = (
    (-0.0479, (-0.0177, 0.0177), (-0.0081, 0.0030)),
    (-0.0432, (-0.0176, 0.0176), (-0.00855, 0.0029)),
    (-0.0355, (-0.0160, 0.0160), (-0.0077, 0.0028)),
    (-0.0293, (-0.0112, 0.0112), (-0.0053, 0.0027)),
    (-0.0230, (-0.0040, 0.0041), (-0.0017, 0.0026)),
)
HANDLE: tuple[Section, ...] = (
    (-0.0230, (-0.0038, 0.0040), (-0.0017, 0.0022)),
    (-0.0117, (-0.0060, 0.0061), (-0.0062, 0.0087)),
    (-0.0003, (-0.0078, 0.0078), (-0.0095, 0.0109)),
    (0.0134, (-0.0095, 0.0096), (-0.01100, 0.0120)),
    (0.0189, (-0.0101, 0.0102), (-0.01124, 0.0124)),
    (0.0338, (-0.0110, 0.0114), (-0.0113, 0.0132)),
    (0.0452, (-0.0113, 0.0119), (-0.0108, 0.0131)),
    (0.0565, (-0.0102, 0.0114), (-0.0083, 0.0117)),
    (0.0679, (-0.0030, 0.0045), (0.0015, 0.0070)),
)
INERTIA = Inertia(
    mass=0.04305848,
    principal=(2.704057e-6, 6.207472e-5, 6.230512e-5),
    com=(0.00872481, 0.00013684, 0.00067480),
    quat=(0.999885, -0.014628, -0.003272, 0.002139),
)
GREEN, WHITE = (0.60, 0.80, 0.22, 1.0), (0.92, 0.93, 0.94, 1.0)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    for name, sections, colour in (
        ("tip", TIP, WHITE),
        ("middle", MIDDLE, WHITE),
        ("rear", REAR, WHITE),
        ("handle", HANDLE, GREEN),
    ):
        add_piece(spec, body, name, loft(sections, points=16) * scale, rgba=colour, **contact(physics, seen=True))


SPOON = ASSETS["bridge-spoon"] = Asset("bridge-spoon", INERTIA.mass, 0.010406, _add)
