"""The sponge of SIMPLER's Google Robot tasks: 10 x 7 x 3.7 cm, 35 g, a green pad on yellow foam. Its z axis points to
the pad; it is stiff."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.objects.asset import ASSETS, Asset, ObjectPhysics
from foretell.objects.piece import SEEN, Inertia, add_piece, contact

__all__ = ["SPONGE"]

MIDDLE = (0.0, 0.0036)
HALF, EDGE, THICK = (0.0505, 0.0356), 0.0026, 0.01855
"""Half length and width; how far the edges are rounded; half thickness, m."""
PAD = 0.0090
"""Thickness of the green pad, m."""
INERTIA = Inertia(
    mass=0.0348591,
    principal=(1.576250e-5, 3.280892e-5, 4.089374e-5),
    com=(0.0000633, 0.0027603, -0.0000336),
    quat=(1.0, 0.000603, -0.000140, -0.000360),
)
GREEN, YELLOW = (0.28, 0.42, 0.34, 1.0), (0.86, 0.74, 0.44, 1.0)


def _slab(low: float, high: float) -> Floats:
    """(16, 3) corners of the part of the sponge between two heights; its outer edges are rounded off."""
    corners = []
    for z, towards in ((low, 1.0), (high, -1.0)):
        outer = abs(abs(z) - THICK) < 1e-9
        for height, inset in ((z, EDGE if outer else 0.0), (z + towards * EDGE, 0.0)):
            for x in (-HALF[0] + inset, HALF[0] - inset):
                corners += [(MIDDLE[0] + x, MIDDLE[1] + y, height) for y in (-HALF[1] + inset, HALF[1] - inset)]
    return np.array(corners)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    add_piece(spec, body, "hull", _slab(-THICK, THICK) * scale, rgba=GREEN, **contact(physics))
    add_piece(spec, body, "pad", _slab(THICK - PAD, THICK) * scale, rgba=GREEN, **SEEN)
    add_piece(spec, body, "foam", _slab(-THICK, THICK - PAD) * scale, rgba=YELLOW, **SEEN)


SPONGE = ASSETS["kitchen-sponge"] = Asset("kitchen-sponge", INERTIA.mass, THICK, _add)
