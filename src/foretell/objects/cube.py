"""The cube of robosuite's Lift: 4.2 cm, 1000 kg/m^3; scenarios scale each side to 4.0-4.4 cm."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.objects.asset import ASSETS, Asset, ObjectPhysics, box_inertia, set_inertia

HALF = 0.021
"""Half a side, m: the middle of robosuite's 0.020-0.022."""
DENSITY = 1000.0


def bevelled(half: Floats) -> Floats:
    """Vertices (24, 3) of a box with 1.5 mm bevelled edges, as sanded wood has: contacts sit further in than on a sharp
    box."""
    corners = np.array(list(itertools.product((-1, 1), repeat=3)), dtype=float)
    vertices = []
    for axis in range(3):
        inset = np.full(3, 0.0015)
        inset[axis] = 0.0
        vertices.append(corners * (half - inset))
    return np.concatenate(vertices)


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    half = HALF * scale
    mass = DENSITY * 8 * float(np.prod(half)) * physics.mass_scale
    set_inertia(body, mass, box_inertia(mass, half))
    look = {"rgba": [0.75, 0.12, 0.10, 1.0]}
    contact = {
        "friction": [physics.friction_scale, 0.005, 0.0001],
        "condim": 4,
        "solref": physics.solref,
        "priority": 1,
    }
    if physics.geometry == "primitive":
        body.add_geom(name=f"{body.name}/body", type=mujoco.mjtGeom.mjGEOM_BOX, size=half, **look, **contact)
        return
    mesh = spec.add_mesh(name=f"{body.name}/mesh")
    mesh.uservert = bevelled(half).ravel()
    body.add_geom(name=f"{body.name}/body", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, **look, **contact)


CUBE = ASSETS["cube"] = Asset("cube", DENSITY * (2 * HALF) ** 3, HALF, _add)
