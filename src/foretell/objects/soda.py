"""The soda cans of SIMPLER's Google Robot tasks: open and empty (17 to 21 g). Their y axis points to the lid."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, Asset, ObjectPhysics, Round
from foretell.objects.label import HEIGHT, WIDTH, Label, material
from foretell.objects.piece import SEEN, Inertia, add_piece, contact
from foretell.objects.turned import Turned

__all__ = ["CANS", "COKE_CAN", "SODA_BOX"]

SODA_BOX = ((0.0004, -0.0076, 0.0010), (0.0332, 0.0614, 0.0332))
"""Middle and half sides of the box of the coke can, m."""
PRINTED = (3, 7)
"""Points of the profile between which there is print; the rest is bare metal."""
METAL = (196, 194, 188)
COKE = Turned(
    axis=(0.0004, 0.0010),
    stands=(0.068942, -0.0050875, 0.0041634),
    foot=0.0240,
    wall=((-0.0590, 0.032811), (0.0365, 0.033286), (0.0538, 0.0262)),
    lies=-1.59868,
    profile=(
        (-0.0650, 0.0),
        (-0.0690, 0.0238),
        (-0.0660, 0.0270),
        (-0.0595, 0.0326),
        (-0.0560, 0.0330),
        (0.0370, 0.0330),
        (0.0410, 0.0320),
        (0.0500, 0.0272),
        (0.0538, 0.0268),
        (0.0538, 0.0255),
        (0.0510, 0.0248),
        (0.0510, 0.0),
    ),
)
"""It leans by 0.4 degrees when it stands; its origin is 7.6 mm above the middle."""


def _raised(by: float, **changes: object) -> Turned:
    """The coke can with its origin lower by so much, m."""
    profile = tuple((y + by, radius) for y, radius in COKE.profile)
    return replace(COKE, profile=profile, **changes)  # type: ignore[arg-type]


PEPSI = _raised(
    0.0058,
    axis=(0.0002, 0.0003),
    stands=(0.064288, 0.0, 0.0),
    foot=0.0246,
    wall=((-0.0520, 0.0333), (0.0390, 0.0333), (0.0599, 0.0262)),
)
SEVEN_UP = _raised(
    0.0058,
    axis=(0.0001, -0.0004),
    stands=(0.062956, -0.000617, 0.0),
    foot=0.0250,
    wall=((-0.0510, 0.0330), (0.0380, 0.0330), (0.0590, 0.0264)),
)
FANTA = replace(
    PEPSI,
    axis=(0.0003, 0.0003),
    stands=(0.063600, 0.0, 0.0),
    wall=((-0.0510, 0.0335), (0.0390, 0.0335), (0.0596, 0.0264)),
)
SPRITE = replace(
    PEPSI,
    axis=(0.0004, 0.0002),
    stands=(0.062000, 0.0, 0.0),
    wall=((-0.0500, 0.0335), (0.0400, 0.0335), (0.0611, 0.0264)),
)
REDBULL = Turned(
    stands=(0.065066, -0.001659, -0.003774),
    foot=0.0220,
    wall=((-0.0580, 0.0289), (0.0590, 0.0289), (0.0660, 0.0240)),
    profile=(
        (-0.0620, 0.0),
        (-0.0650, 0.0216),
        (-0.0625, 0.0240),
        (-0.0585, 0.0288),
        (-0.0560, 0.0292),
        (0.0570, 0.0292),
        (0.0590, 0.0288),
        (0.0630, 0.0262),
        (0.0665, 0.0256),
        (0.0665, 0.0244),
        (0.0640, 0.0238),
        (0.0640, 0.0),
    ),
)
COKE_INERTIA = Inertia(
    mass=0.0199575,
    principal=(2.824531e-5, 1.045769e-5, 2.836766e-5),
    com=(0.0000777, -0.0078385, 0.0006341),
    quat=(0.952066, 0.002404, 0.305874, -0.002440),
)
PEPSI_INERTIA = Inertia(
    mass=0.0203709,
    principal=(2.908361e-5, 1.087240e-5, 2.907133e-5),
    com=(0.0002106, -0.0026643, 0.0003027),
    quat=(0.999926, -0.000143, -0.012179, 0.000140),
)
SEVEN_UP_INERTIA = Inertia(
    mass=0.0196458,
    principal=(2.750382e-5, 1.020526e-5, 2.749691e-5),
    com=(0.0000544, -0.0025213, -0.0004350),
    quat=(0.941374, -0.000062, -0.337365, 0.000092),
)
FANTA_INERTIA = Inertia(mass=0.020318, principal=(2.8656e-5, 1.0905e-5, 2.8656e-5), com=(0.000258, -0.002622, 0.000342))
SPRITE_INERTIA = Inertia(
    mass=0.024525, principal=(3.3090e-5, 1.2360e-5, 3.3800e-5), com=(0.000400, 0.001582, -0.001159)
)
"""Nobody recorded these two: they are those of the collision shapes. PhysX simplifies shapes, and loses 1.5 % of the
mass of the pepsi can; so do these. Two pieces of the sprite can overlap, and what they share counts twice."""
REDBULL_INERTIA = Inertia(
    mass=0.0169024,
    principal=(2.675348e-5, 7.000712e-6, 2.674544e-5),
    com=(0.0000138, 0.0008851, -0.0000267),
    quat=(0.989259, 0.000192, 0.146176, 0.000050),
)


def _can(name: str, label: Label, shape: Turned, inertia: Inertia) -> Asset:
    heights = np.array([y for y, _ in shape.profile])
    low, high = heights[PRINTED[0]], heights[PRINTED[1]]
    up = 1 / 12 + (heights - low) / (high - low) * 10 / 12  # the twelfths below and above are metal
    up[: PRINTED[0]], up[PRINTED[1] :] = 0.02, 0.98
    lid, rim = heights[-1], shape.profile[-2][1] / COKE.profile[-2][1]

    def add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
        inertia.set(body, scale, physics)
        add_piece(spec, body, "hull", shape.hull() * scale, rgba=[*np.array(label.ground) / 255, 1], **contact(physics))
        mesh = shape.lathe(spec, f"{body.name}/print", scale, up.tolist())
        metal = np.full((HEIGHT // 10, WIDTH, 3), METAL, dtype=np.uint8)
        body.add_geom(
            name=mesh.name,
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            material=material(spec, f"{name}-print", np.concatenate([metal, label.picture(), metal])),
            **SEEN,
        )
        for part, (x, z), half, colour in (
            ("mouth", (0.0, 0.013), (0.0085, 0.0065), (0.08, 0.07, 0.07, 1.0)),
            ("tab", (0.0, -0.004), (0.0065, 0.0115), (0.86, 0.86, 0.84, 1.0)),
        ):
            body.add_geom(
                name=f"{body.name}/{part}",
                type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
                pos=np.array([shape.axis[0] + x * rim, lid + 0.0002, shape.axis[1] + z * rim]) * scale,
                size=np.array([half[0], 0.0012, half[1]]) * float(scale.mean()),
                rgba=colour,
                **SEEN,
            )

    return Round(name, inertia.mass, shape.stands[0], add, about="y")


WHITE = (240, 236, 232)
COKE_CAN = _can("coke-can", Label("COLA", (190, 22, 30), WHITE), COKE, COKE_INERTIA)
CANS = {
    can.name: can
    for can in (
        COKE_CAN,
        _can("pepsi-can", Label("COLA", (18, 32, 92), WHITE, disc=(214, 62, 34)), PEPSI, PEPSI_INERTIA),
        _can(
            "7up-can", Label("LEMON", (222, 220, 206), (34, 120, 62), disc=(226, 130, 44)), SEVEN_UP, SEVEN_UP_INERTIA
        ),
        _can("fanta-can", Label("SODA", (236, 112, 22), (30, 60, 150)), FANTA, FANTA_INERTIA),
        _can("sprite-can", Label("LIME", (20, 140, 70), (238, 240, 232), disc=(240, 214, 60)), SPRITE, SPRITE_INERTIA),
        _can(
            "redbull-can", Label("BULL", (34, 56, 132), (196, 200, 206), disc=(204, 40, 44)), REDBULL, REDBULL_INERTIA
        ),
    )
}
ASSETS.update(CANS)
