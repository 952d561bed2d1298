"""The apple that SIMPLER's Google Robot puts into a drawer: 8 cm across, 214 g. Its z axis points to the stem."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.arrays import Bytes, Floats
from foretell.objects.asset import ASSETS, Asset, ObjectPhysics
from foretell.objects.piece import SEEN, Inertia, add_piece, contact

__all__ = ["DRAWER_APPLE"]

REST = 0.035876
"""Height of the origin above what it stands on, m."""
LEANS = (0.003461, 0.026554)
"""Slopes along x and y of the plane on which it stands: it leans by 1.5 degrees."""
FOOT = 0.0150
"""Radius of the ring on which it stands, m."""
RINGS = (
    (-0.0330, 0.0248),
    (-0.0262, 0.0319),
    (-0.0160, 0.0372),
    (-0.0060, 0.0398),
    (0.0040, 0.0401),
    (0.0143, 0.0384),
    (0.0243, 0.0336),
    (0.0310, 0.0268),
    (0.0344, 0.0210),
)
"""z and radius of the shape that touches, m: its sides are those of the original."""
STEM = ((0.0012, 0.0025, 0.0290), (0.0050, 0.0080, 0.0425), 0.0018)
"""From, to and radius, m."""
PROFILE = (
    (-0.0325, 0.0000),
    (-0.0345, 0.0080),
    (-0.0356, 0.0160),
    *RINGS[:-1],
    (0.0335, 0.0200),
    (0.0325, 0.0120),
    (0.0290, 0.0060),
    (0.0270, 0.0000),
)
"""z and radius of what is seen, m: hollow about the stem."""
SIDES = 20
INERTIA = Inertia(
    mass=0.21444590,
    principal=(1.3484820e-4, 1.3743511e-4, 1.4334127e-4),
    com=(-0.00030591, 0.00053807, -0.00018731),
    quat=(0.972700, 0.067024, -0.035587, -0.219306),
)
RED, BLUSH, GREEN = np.array([170, 30, 34]), np.array([206, 120, 62]), np.array([150, 140, 60])
BROWN = (0.30, 0.20, 0.12, 1.0)
WIDTH, HEIGHT = 128, 64


def _hull() -> Floats:
    """(k, 3) vertices of the shape that touches, with a foot on which it stands still."""
    angle = (np.arange(SIDES) + 0.5) * 2 * np.pi / SIDES
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    layers = [np.column_stack([ring * radius / np.cos(np.pi / SIDES), np.full(SIDES, z)]) for z, radius in RINGS]
    foot = ring * FOOT
    base = np.column_stack([foot, -REST * np.hypot(1.0, np.hypot(*LEANS)) + foot @ LEANS])
    return np.concatenate([base, *layers, np.array(STEM[1])[None]])


def _skin() -> Bytes:
    """(HEIGHT, WIDTH, 3) red with streaks, greenish about the stem, which is at the top."""
    row, column = np.mgrid[:HEIGHT, :WIDTH]
    turn = 2 * np.pi * column / WIDTH
    streaks = 0.5 + 0.22 * np.sin(7 * turn) + 0.16 * np.sin(17 * turn + 1.0) + 0.12 * np.sin(29 * turn + 2.0)
    up = 1 - row / (HEIGHT - 1)
    pale = np.clip(streaks * (0.25 + 0.55 * up), 0, 1)[..., None]
    near_stem = np.clip((up - 0.80) / 0.15, 0, 1)[..., None]
    skin = RED * (1 - pale) + BLUSH * pale
    picture: Bytes = (skin * (1 - near_stem) + GREEN * near_stem).astype(np.uint8)
    return picture


def _material(spec: mujoco.MjSpec, name: str = "drawer-apple-skin") -> str:
    """The skin, made once in a scene."""
    if spec.material(name) is None:
        texture = spec.add_texture(
            name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=WIDTH, height=HEIGHT, nchannel=3
        )
        texture.data = _skin().tobytes()
        material = spec.add_material(name=name, specular=0.3, shininess=0.3)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    return name


def _look(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: Floats, sides: int = 28) -> None:
    """What is seen: a turned body with its skin around it, and a stem."""
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    up = np.linspace(0.0, 1.0, len(PROFILE))
    rings = [np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(sides + 1, z)]) for z, r in PROFILE]
    k = np.arange(sides)
    faces = []
    for ring in range(len(PROFILE) - 1):
        a, b = ring * (sides + 1) + k, (ring + 1) * (sides + 1) + k
        faces += [np.column_stack([a, a + 1, b]), np.column_stack([a + 1, b + 1, b])]
    mesh = spec.add_mesh(
        name=f"{body.name}/skin",
        uservert=(np.concatenate(rings) * scale).ravel(),
        userface=np.concatenate(faces).ravel(),
    )
    turns = angle / (2 * np.pi)
    mesh.usertexcoord = np.concatenate([np.column_stack([turns, np.full(sides + 1, 1 - v)]) for v in up]).ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    body.add_geom(
        name=mesh.name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=mesh.name,
        material=_material(spec),
        **SEEN,
    )
    root, tip, radius = STEM
    body.add_geom(
        name=f"{body.name}/stem",
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=(np.array([root, tip]) * scale).ravel(),
        size=[radius * float(scale.mean()), 0, 0],
        rgba=BROWN,
        **SEEN,
    )


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
    INERTIA.set(body, scale, physics)
    add_piece(spec, body, "hull", _hull() * scale, rgba=[*RED / 255, 1], **contact(physics))
    _look(spec, body, scale)


DRAWER_APPLE = ASSETS["drawer-apple"] = Asset("drawer-apple", INERTIA.mass, REST, _add)
