"""Apple and orange of SIMPLER's Google Robot tasks: toys of 54 and 36 g, as `move_near` has them, and ripe ones of four
times the mass, for `pick_object` and the drawers. Their z axis points up."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from foretell.arrays import Bytes
from foretell.objects.asset import ASSETS, Asset, ObjectPhysics, Round
from foretell.objects.label import material
from foretell.objects.piece import SEEN, Inertia, add_piece, contact
from foretell.objects.turned import Turned

__all__ = ["APPLE", "ORANGE", "RIPE_APPLE", "RIPE_ORANGE"]

SKIN = (64, 128)
"""Height and width of the picture of a skin."""
APPLE_SHAPE = Turned(
    axis=(-0.0004, 0.0),
    stands=(0.035888, 0.003462, -0.026555),
    foot=0.0150,
    wall=(
        (-0.0304, 0.0280),
        (-0.0189, 0.0360),
        (-0.0074, 0.0394),
        (0.0042, 0.0400),
        (0.0157, 0.0378),
        (0.0272, 0.0312),
        (0.0360, 0.0200),
    ),
    profile=(
        (-0.0300, 0.0),
        (-0.0355, 0.0110),
        (-0.0304, 0.0283),
        (-0.0189, 0.0362),
        (-0.0074, 0.0396),
        (0.0042, 0.0403),
        (0.0157, 0.0380),
        (0.0272, 0.0315),
        (0.0350, 0.0215),
        (0.0375, 0.0120),
        (0.0330, 0.0040),
        (0.0310, 0.0),
    ),
    upright=True,
)
ORANGE_SHAPE = Turned(
    stands=(0.035878, 0.004456, 0.002279),
    foot=0.0040,
    wall=(
        (-0.0335, 0.0115),
        (-0.0290, 0.0203),
        (-0.0212, 0.0284),
        (-0.0113, 0.0334),
        (-0.0015, 0.0352),
        (0.0083, 0.0344),
        (0.0181, 0.0307),
        (0.0260, 0.0245),
        (0.0315, 0.0160),
        (0.0328, 0.0110),
    ),
    profile=(
        (-0.0356, 0.0),
        (-0.0335, 0.0118),
        (-0.0290, 0.0206),
        (-0.0212, 0.0286),
        (-0.0113, 0.0336),
        (-0.0015, 0.0354),
        (0.0083, 0.0346),
        (0.0181, 0.0309),
        (0.0260, 0.0247),
        (0.0315, 0.0163),
        (0.0328, 0.0090),
        (0.0318, 0.0),
    ),
    sides=24,
    upright=True,
)
APPLE_INERTIA = Inertia(
    mass=0.0536115,
    principal=(3.371205e-5, 3.435878e-5, 3.583532e-5),
    com=(-0.0003059, 0.0005381, -0.0001873),
    quat=(0.972700, 0.067024, -0.035587, -0.219306),
)
ORANGE_INERTIA = Inertia(
    mass=0.0362745,
    principal=(1.792346e-5, 1.793878e-5, 1.798606e-5),
    com=(-0.0000155, -0.0000109, 0.0000847),
    quat=(0.985187, 0.008190, 0.162918, 0.052887),
)
RIPE = 4.0
"""Density of a true fruit, as a multiple of a toy's."""
BROWN, GREEN = (0.30, 0.20, 0.10, 1.0), (0.35, 0.42, 0.14, 1.0)


def _apple_skin() -> Bytes:
    """Red, with paler streaks from the stem down."""
    row, column = np.mgrid[: SKIN[0], : SKIN[1]] / np.array(SKIN).reshape(2, 1, 1)
    streaks = 0.6 + 0.4 * np.sin(2 * np.pi * (17 * column + 0.7 * np.sin(2 * np.pi * 4 * column)))
    pale = (0.55 * np.clip(1 - 1.4 * row, 0, 1) * streaks)[..., None]
    skin: Bytes = ((1 - pale) * [196, 48, 34] + pale * [232, 150, 78]).astype(np.uint8)
    return skin


def _orange_skin() -> Bytes:
    """Orange, with pores."""
    row, column = np.mgrid[: SKIN[0], : SKIN[1]]
    pores = (np.sin(row * 2.3 + 3 * np.sin(column * 0.9)) * np.sin(column * 1.9 + 2 * np.sin(row * 1.3)))[..., None]
    skin: Bytes = (np.array([240, 130, 30]) - 16 * (pores > 0.4) * [1, 1, 0.5]).astype(np.uint8)
    return skin


def _fruit(
    name: str, shape: Turned, inertia: Inertia, skin: Bytes, stem: tuple[float, float, float], colour: tuple[float, ...]
) -> Asset:
    """`stem`: height of its foot, its length and its radius, m."""

    def add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
        inertia.set(body, scale, physics)
        plain = [*skin.reshape(-1, 3).mean(axis=0) / 255, 1]
        add_piece(spec, body, "hull", shape.hull() * scale, rgba=plain, **contact(physics))
        mesh = shape.lathe(spec, f"{body.name}/skin", scale)
        body.add_geom(
            name=mesh.name,
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            material=material(spec, f"{name}-skin", skin),
            **SEEN,
        )
        low, length, radius = stem
        x, z = shape.axis
        body.add_geom(
            name=f"{body.name}/stem",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=(np.array([[x, -z, low], [x + 0.1 * length, -z, low + length]]) * scale).ravel(),
            size=[radius * float(scale.mean()), 0, 0],
            rgba=colour,
            **SEEN,
        )

    return Round(name, inertia.mass, shape.stands[0], add, about="any")


def _apple(name: str, inertia: Inertia) -> Asset:
    return _fruit(name, APPLE_SHAPE, inertia, _apple_skin(), (0.0310, 0.0130, 0.0016), BROWN)


def _orange(name: str, inertia: Inertia) -> Asset:
    return _fruit(name, ORANGE_SHAPE, inertia, _orange_skin(), (0.0312, 0.0012, 0.0026), GREEN)


def _ripe(toy: Inertia) -> Inertia:
    return replace(toy, mass=RIPE * toy.mass, principal=[RIPE * moment for moment in toy.principal])


APPLE = ASSETS["toy-apple"] = _apple("toy-apple", APPLE_INERTIA)
ORANGE = ASSETS["toy-orange"] = _orange("toy-orange", ORANGE_INERTIA)
RIPE_APPLE = ASSETS["ripe-apple"] = _apple("ripe-apple", _ripe(APPLE_INERTIA))
RIPE_ORANGE = ASSETS["ripe-orange"] = _orange("ripe-orange", _ripe(ORANGE_INERTIA))
