"""The folded towel of SIMPLER's spoon_on_towel: 10 cm square, 1 cm high, 27 g, higher at two edges than between."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.objects.asset import ASSETS, Asset, ObjectPhysics
from foretell.objects.piece import Inertia, add_piece, contact

BOTTOM = -0.00488
PIECES: dict[str, tuple[tuple[float, float], ...]] = {
    "fold": ((-0.0505, 0.0030), (-0.0450, 0.0056), (-0.0030, 0.0030)),
    "hollow": ((-0.0030, 0.0029), (0.0210, 0.0030)),
    "edge": ((0.0210, 0.0031), (0.0410, 0.0043), (0.0502, 0.0031)),
}
"""y and height of the top of each convex piece, m."""
INERTIA = Inertia(
    mass=0.02669705,
    principal=(2.250146e-5, 2.093957e-5, 4.312104e-5),
    com=(0.00066939, -0.00174138, -0.00054431),
    quat=(0.999785, -0.004297, -0.002076, 0.020195),
)
BLUE = (0.60, 0.79, 0.88, 1.0)


def _piece(top: tuple[tuple[float, float], ...]) -> Floats:
    """(k, 3) vertices: rounded towards both ends of the x axis."""
    across = [((0.046, z), (0.0503, z - 0.003), (0.0503, -0.0040), (0.047, BOTTOM)) for _, z in top]
    return np.array([(s * x, y, z) for (y, _), row in zip(top, across, strict=True) for x, z in row for s in (-1, 1)])


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    for name, top in PIECES.items():
        add_piece(spec, body, name, _piece(top) * scale, rgba=BLUE, **contact(physics, receives=True, seen=True))


TOWEL = ASSETS["bridge-towel"] = Asset("bridge-towel", INERTIA.mass, -BOTTOM, _add)
