"""The soda cans of SIMPLER's Google Robot tasks: 66 mm across, 12.3 cm tall, open and empty (20 g). Their y axis points
to the lid; the origin is 7.6 mm above the middle."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from foretell.arrays import Bytes, Floats
from foretell.objects.asset import ASSETS, Asset, ObjectPhysics
from foretell.objects.piece import SEEN, Inertia, add_piece, contact

__all__ = ["COKE_CAN", "SODA_BOX", "Label"]

AXIS = (0.0004, 0.0010)
"""x and z of the axis of the can, m."""
LIES = -1.59868
"""The direction about the axis in which that side lies on which a can comes to rest, rad from x to z."""
WALL = ((-0.0590, 0.032811), (0.0365, 0.033286))
"""y, and distance of the sides from the axis, m."""
FOOT, LID = 0.0240, (0.0538, 0.0262)
STANDS = (0.068942, -0.0050875, 0.0041634)
"""Height of the origin of a standing can, m, and the slopes of its foot along x and z: it leans by 0.4 degrees."""
SIDES = 16
SODA_BOX = ((0.0004, -0.0076, 0.0010), (0.0332, 0.0614, 0.0332))
"""Middle and half sides of its box, m."""
PROFILE = (
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
)
"""y and radius of what is seen, m."""
PRINTED = (3, 7)
"""Points of the profile between which there is print; the rest is bare metal."""
METAL = (196, 194, 188)
WIDTH, HEIGHT = 256, 96
GLYPHS = {
    "C": ("01110", "10001", "10000", "10000", "10000", "10001", "01110"),
    "O": ("01110", "10001", "10001", "10001", "10001", "10001", "01110"),
    "L": ("10000", "10000", "10000", "10000", "10000", "10000", "11111"),
    "A": ("01110", "10001", "10001", "11111", "10001", "10001", "10001"),
}


@dataclass(frozen=True)
class Label:
    """What is printed on a can: its colour, a word and a wavy band under it in another."""

    word: str
    ground: tuple[int, int, int]
    ink: tuple[int, int, int]

    def picture(self) -> Bytes:
        """(HEIGHT, WIDTH, 3) the print around the can, its top first."""
        image = np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8)
        image[:] = self.ground
        row, column = np.mgrid[:HEIGHT, :WIDTH]
        wave = 0.70 * HEIGHT + 0.07 * HEIGHT * np.sin(4 * np.pi * column / WIDTH)
        image[np.abs(row - wave) < 0.05 * HEIGHT] = self.ink
        image[np.abs(row - wave - 0.10 * HEIGHT) < 0.012 * HEIGHT] = self.ink
        across, up = 4, 6  # pixels of a dot
        for start in (8, 8 + WIDTH // 2):  # on two sides: turned to the robot's camera, and away from it
            for number, letter in enumerate(self.word):
                for y, dots in enumerate(GLYPHS[letter]):
                    for x, dot in enumerate(dots):
                        if dot == "1":  # slanted
                            left, top = start + (6 * number + x) * across + (7 - y) * 2, 12 + y * up
                            image[top : top + up, left : left + across] = self.ink
        return np.roll(image, WIDTH // 4, axis=1)


def _ring(angle: Floats, y: float, radius: float) -> Floats:
    return np.column_stack([AXIS[0] + radius * np.cos(angle), np.full(len(angle), y), AXIS[1] + radius * np.sin(angle)])


def _hull() -> Floats:
    """(k, 3) vertices of the shape that touches: flat sides, one of them down as the can comes to lie."""
    angle = LIES + (np.arange(SIDES) + 0.5) * 2 * np.pi / SIDES
    rings = [_ring(angle, y, distance / np.cos(np.pi / SIDES)) for y, distance in (*WALL, LID)]
    foot = _ring(angle, 0.0, FOOT)
    height, x, z = STANDS
    foot[:, 1] = -height + x * foot[:, 0] + z * foot[:, 2]
    return np.concatenate([foot, *rings])


def _lathe(spec: mujoco.MjSpec, name: str, scale: Floats, sides: int = 28) -> mujoco.MjsMesh:
    """What is seen: a turned body with the texture around it."""
    points = np.asarray(PROFILE)
    low, high = points[PRINTED[0], 0], points[PRINTED[1], 0]
    up = 1 / 12 + (points[:, 0] - low) / (high - low) * 10 / 12  # the twelfths below and above are metal
    up[: PRINTED[0]], up[PRINTED[1] :] = 0.02, 0.98
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    vertices = np.concatenate([_ring(angle, y, radius) for y, radius in PROFILE]) * scale
    texture = np.concatenate([np.column_stack([-angle / (2 * np.pi), np.full(sides + 1, 1 - v)]) for v in up])
    faces = []
    for ring in range(len(PROFILE) - 1):
        for k in range(sides):
            a, b = ring * (sides + 1) + k, (ring + 1) * (sides + 1) + k
            faces += [(a, b, a + 1), (a + 1, b, b + 1)]
    mesh = spec.add_mesh(name=name, uservert=vertices.ravel(), userface=np.array(faces).ravel())
    mesh.usertexcoord = texture.ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    return mesh


def _print(spec: mujoco.MjSpec, label: Label, name: str) -> str:
    """The material of a can, made once in a scene."""
    if spec.material(name) is not None:
        return name
    image = label.picture()
    metal = np.empty((HEIGHT // 10, WIDTH, 3), dtype=np.uint8)
    metal[:] = METAL
    image = np.concatenate([metal, image, metal])
    texture = spec.add_texture(
        name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=WIDTH, height=len(image), nchannel=3
    )
    texture.data = image.tobytes()
    material = spec.add_material(name=name, specular=0.3, shininess=0.4)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    return name


COKE_INERTIA = Inertia(
    mass=0.0199575,
    principal=(2.824531e-5, 1.045769e-5, 2.836766e-5),
    com=(0.0000777, -0.0078385, 0.0006341),
    quat=(0.952066, 0.002404, 0.305874, -0.002440),
)


def _can(name: str, label: Label, inertia: Inertia) -> Asset:
    def add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
        inertia.set(body, scale, physics)
        add_piece(spec, body, "hull", _hull() * scale, rgba=[*np.array(label.ground) / 255, 1], **contact(physics))
        mesh = _lathe(spec, f"{body.name}/print", scale)
        body.add_geom(
            name=mesh.name,
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            material=_print(spec, label, f"{name}-print"),
            **SEEN,
        )
        for part, (x, z), half, colour in (
            ("mouth", (0.0, 0.013), (0.0085, 0.0065), (0.08, 0.07, 0.07, 1.0)),
            ("tab", (0.0, -0.004), (0.0065, 0.0115), (0.86, 0.86, 0.84, 1.0)),
        ):
            body.add_geom(
                name=f"{body.name}/{part}",
                type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
                pos=np.array([AXIS[0] + x, 0.0512, AXIS[1] + z]) * scale,
                size=np.array([half[0], 0.0012, half[1]]) * float(scale.mean()),
                rgba=colour,
                **SEEN,
            )

    return Asset(name, inertia.mass, STANDS[0], add)


COKE_CAN = ASSETS["coke-can"] = _can("coke-can", Label("COLA", (190, 22, 30), (240, 236, 232)), COKE_INERTIA)
