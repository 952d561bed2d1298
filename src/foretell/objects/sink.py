"""The toy sink of SIMPLER's put_eggplant_in_basket, with a basket in its smaller basin. Boxes, and two sloping floors.

Numbers are in the frame of SIMPLER's sink: x points to the robot, y to the larger basin, z up, m.
"""

from __future__ import annotations

import itertools
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.objects.asset import ASSETS, Fixture, ObjectPhysics
from foretell.objects.piece import SEEN, add_piece, contact
from foretell.rotation import rotate

__all__ = ["BASKET", "add_sink"]

Range = tuple[float, float]
BOXES: dict[str, tuple[Range, Range, float]] = {
    "rear": ((-0.137, -0.054), (-0.204, 0.196), 0.099),
    "ledge": ((-0.120, -0.070), (-0.165, -0.045), 0.116),
    "front": ((0.101, 0.138), (-0.204, 0.196), 0.095),
    "left": ((-0.054, 0.101), (-0.204, -0.155), 0.098),
    "right": ((-0.054, 0.101), (0.167, 0.196), 0.094),
    "ridge": ((-0.054, 0.101), (-0.047, -0.034), 0.099),
    "step": ((-0.054, 0.101), (-0.034, -0.017), 0.062),
    "basin": ((-0.042, 0.101), (0.062, 0.167), 0.0394),
    "small basin": ((-0.042, 0.101), (-0.155, -0.047), 0.0460),
    "rim": ((-0.054, -0.042), (-0.155, 0.167), 0.056),
}
"""Ranges of x and y, and top, of each solid box."""
SLOPE = ((-0.042, 0.101), (-0.017, 0.062), (0.0440, 0.0394))
"""The floor of the larger basin rises towards the ridge: ranges of x and y, and heights at both ends of y."""
FRICTION = 1.0
BLUE, DARK = (0.62, 0.78, 0.82, 1.0), (0.05, 0.06, 0.08, 1.0)
STEEL, YELLOW = (0.55, 0.53, 0.50, 1.0), (0.91, 0.82, 0.46, 1.0)
PLANE = (0.065, 0.040, 0.001)
"""Half sizes of the floor of the basket."""
RIM = ((-0.080, 0.100), (-0.042, 0.072), 0.050)
"""Ranges of x and y, and height, of its rim, from the middle of its floor."""
TILT = np.array([0.997814, 0.003639, 0.064931, 0.011790])
"""How it lies, in SIMPLER's world."""


def add_sink(spec: mujoco.MjSpec, pos: tuple[float, float, float], quat: Floats) -> None:
    """The sink, as a body of that name that stands still."""
    body = spec.worldbody.add_body(name="sink", pos=pos, quat=quat)
    look: dict[str, Any] = {"rgba": BLUE, "friction": [FRICTION, 0.005, 0.0001], "condim": 3}
    for name, (x, y, top) in BOXES.items():
        body.add_geom(
            name=f"sink/{name}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[sum(x) / 2, sum(y) / 2, top / 2],
            size=[(x[1] - x[0]) / 2, (y[1] - y[0]) / 2, top / 2],
            **look,
        )
    across, along, heights = SLOPE
    ends = list(zip(along, heights, strict=True))
    corners = [(x, y, z) for x, (y, top) in itertools.product(across, ends) for z in (0.0, top)]
    add_piece(spec, body, "slope", np.array(corners), **look)
    cylinder = mujoco.mjtGeom.mjGEOM_CYLINDER
    trim = spec.worldbody.add_body(name="sink/trim", pos=pos, quat=quat)
    for name, at, shape, colour in (
        ("drain", (0.027, 0.086, 0.0401), (0.009, 0.0003, 0), DARK),
        ("faucet foot", (-0.115, 0.140, 0.104), (0.026, 0.006, 0), STEEL),
        ("faucet", (-0.115, 0.125, 0.150), (0.013, 0.045, 0), STEEL),
    ):
        trim.add_geom(name=f"sink/{name}", type=cylinder, pos=at, size=shape, rgba=colour, **SEEN)


def _add_basket(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    """Its floor is all that touches: SIMPLER has an invisible plane there. The body's origin is the middle of it."""
    more = contact(physics, receives=True)
    body.add_geom(name=f"{body.name}/floor", type=mujoco.mjtGeom.mjGEOM_BOX, size=PLANE, quat=TILT, rgba=YELLOW, **more)
    rods: list[tuple[Floats, Floats, float]] = []
    (x0, x1), (y0, y1), top = RIM
    rim = [np.array([x, y, top]) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
    rods += [(a, b, 0.0045) for a, b in zip(rim, [*rim[1:], rim[0]], strict=True)]
    for y in np.linspace(-0.034, 0.034, 4):  # bars along the floor
        rods.append((rotate(TILT, np.array([-0.06, y, 0.0])), rotate(TILT, np.array([0.062, y, 0.0])), 0.0015))
    for x in np.linspace(-0.06, 0.062, 7):  # ribs: up from the floor to the rim, on both sides
        left, right = (rotate(TILT, np.array([x, y, 0.0])) for y in (-0.038, 0.038))
        rods += [(left, right, 0.0015)]
        rods += [(left, np.array([1.3 * x, y0, top]), 0.0015), (right, np.array([1.3 * x, y1, top]), 0.0015)]
    for number, (start, end, radius) in enumerate(rods):
        thin = radius < 0.002  # a few pixels wide, where a round one costs a hundred times the triangles
        body.add_geom(
            name=f"{body.name}/rod{number}",
            type=mujoco.mjtGeom.mjGEOM_BOX if thin else mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[*start, *end],
            size=[radius, radius if thin else 0, 0],
            rgba=YELLOW,
            **SEEN,
        )


BASKET = ASSETS["sink-basket"] = Fixture("sink-basket", 0.1, 0.0, _add_basket)
