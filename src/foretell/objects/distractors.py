"""36 things that lie about: each of three solid parts, so that any of them gives MjData the same layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from foretell.objects.asset import ASSETS, Asset, ObjectPhysics, box_inertia, set_inertia

__all__ = ["DISTRACTORS", "DistractorShape"]

KINDS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cyl": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "ball": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
}
COLOURS = {
    "red": (0.8, 0.15, 0.12),
    "orange": (0.93, 0.5, 0.1),
    "yellow": (0.95, 0.82, 0.15),
    "green": (0.2, 0.6, 0.25),
    "teal": (0.1, 0.55, 0.55),
    "blue": (0.15, 0.32, 0.75),
    "violet": (0.45, 0.22, 0.65),
    "pink": (0.92, 0.5, 0.65),
    "white": (0.93, 0.93, 0.91),
    "gray": (0.6, 0.61, 0.62),
    "dark": (0.15, 0.15, 0.17),
    "wood": (0.78, 0.6, 0.38),
    "brown": (0.42, 0.27, 0.16),
    "steel": (0.72, 0.74, 0.77),
}
TABLE = """
mug 180: cyl 0 0 3 / 2.6 3 blue; box 3.2 0 3 / 0.9 0.4 1.6 blue; cyl 0 0 5.95 / 2.2 0.1 dark
bowl 150: cyl 0 0 0.4 / 2 0.4 white; cyl 0 0 1.5 / 3.2 0.7 white; cyl 0 0 2.7 / 4 0.5 teal
plate 160: cyl 0 0 0.3 / 3 0.3 white; cyl 0 0 0.9 / 4.5 0.3 white; cyl 0 0 1.25 / 3.2 0.06 gray
bottle 90: cyl 0 0 2.2 / 2 2.2 green; cyl 0 0 5.2 / 1 0.8 green; cyl 0 0 6.4 / 1.1 0.4 white
jar 140: cyl 0 0 2.4 / 2.6 2.4 orange; cyl 0 0 5.3 / 2.7 0.5 steel; cyl 0 0 2.4 / 2.65 1.1 white
tin 110: cyl 0 0 1.6 / 3.2 1.6 steel; cyl 0 0 1.6 / 3.25 1.1 red; cyl 0 0 3.25 / 2.9 0.08 gray
milk-carton 120: box 0 0 2.5 / 2 2 2.5 white; box 0 0 5.5 / 0.4 2 0.8 white; box 0 0 1.4 / 2.03 2.03 0.8 blue
matchbox 15: box 0 0 0.7 / 2.4 1.6 0.7 yellow; box 0 0 1.45 / 1.6 1 0.05 red; box 0 1.65 0.7 / 2.2 0.05 0.6 brown
book 200: box 0 0 0.2 / 4.2 3.2 0.2 violet; box 0.1 0 1 / 4 3 0.6 white; box 0 0 1.8 / 4.2 3.2 0.2 violet
sponge 20: box 0 0 0.4 / 3.6 2.4 0.4 green; box 0 0 1.8 / 3.6 2.4 1 yellow; box 0 0 2.85 / 3 1.8 0.05 yellow
soap 95: box 0 0 0.3 / 3.8 2.6 0.3 gray; box 0 0 1.4 / 2.8 1.8 0.8 pink; box 0 0 2.25 / 1.6 0.8 0.06 white
tape 60: cyl 0 0 1.1 / 3.2 1.1 wood; cyl 0 0 2.25 / 2.4 0.06 white; cyl 0 0 1.25 / 1.8 1.25 brown
stapler 150: box 0 0 0.4 / 4.2 1.2 0.4 dark; box -0.3 0 1.8 / 3.8 1 0.7 red; box -3 0 0.95 / 0.8 0.9 0.2 steel
glue-stick 35: cyl 0 0 1.8 / 1.5 1.8 yellow; cyl 0 0 4.5 / 1.4 0.9 white; cyl 0 0 5.5 / 1.2 0.1 red
eraser 25: box -1.2 0 0.8 / 1.6 1.3 0.8 blue; box 1.4 0 0.8 / 1 1.3 0.8 white; box -1.2 0 1.63 / 1.2 0.8 0.03 white
calculator 110: box 0 0 0.5 / 3.8 2.6 0.5 dark; box 2.4 0 1.05 / 1 2.1 0.05 teal; box -0.9 0 1.1 / 2 2.1 0.1 gray
mouse 85: ball 0 0 1.5 / 3.4 2.1 1.5 dark; box 0 0 0.3 / 2.4 1.5 0.3 dark; cyl 1.4 0 2.7 / 0.5 0.3 gray
phone 170: box 0 0 0.4 / 4.4 2.2 0.4 dark; box 0 0 0.84 / 3.9 2 0.04 blue; cyl -4.1 0 0.85 / 0.2 0.04 gray
apple 150: ball 0 0 2.6 / 2.9 2.9 2.6 red; cyl 0 0 5.4 / 0.2 0.5 brown; cyl 0 0 0.15 / 1.4 0.15 red
orange 160: ball 0 0 2.8 / 2.9 2.9 2.8 orange; cyl 0 0 5.6 / 0.4 0.1 green; cyl 0 0 0.15 / 1.4 0.15 orange
lemon 90: ball 0 0 2.1 / 2.8 2.1 2.1 yellow; ball 2.8 0 2.1 / 0.7 0.6 0.6 yellow; box 0 0 0.15 / 1.3 1 0.15 yellow
pear 150: ball 0 0 2.2 / 2.5 2.5 2.2 green; ball 0 0 4.3 / 1.5 1.5 1.7 green; cyl 0 0 0.15 / 1.3 0.15 green
banana 110: box 0 0 1.2 / 2.2 1.1 1.2 yellow; box -3 0.6 1.2 / 1 0.8 0.9 yellow; box 3 0.6 1.2 / 1 0.8 0.9 brown
carrot 70: box 0 0 1.1 / 2.4 1.1 1.1 orange; box -3.2 0 0.8 / 1 0.7 0.8 orange; box 3.2 0 1.2 / 1 1 0.6 green
bread 60: box 0 0 1.2 / 3.6 2.4 1.2 wood; ball 0 0 2.4 / 3.4 2.2 1 brown; box 0 0 0.1 / 3.65 2.45 0.1 brown
cheese 130: box 0 0 1.3 / 3 2.2 1.3 yellow; cyl 1 0.6 2.62 / 0.5 0.04 orange; cyl -1.2 -0.6 2.62 / 0.7 0.04 orange
donut 60: cyl 0 0 0.8 / 3.2 0.8 wood; cyl 0 0 1.9 / 3 0.3 pink; cyl 0 0 2.25 / 1 0.06 brown
toy-house 80: box 0 0 1.8 / 2.4 2 1.8 yellow; box 0 0 4 / 2.7 1.4 0.4 red; box 0 0 4.8 / 2.7 0.6 0.4 red
toy-car 90: box 0 0 1.4 / 3.8 1.7 0.8 red; box -0.4 0 2.9 / 1.9 1.5 0.7 teal; box 0 0 0.3 / 3 1.9 0.3 dark
toy-boat 70: box 0 0 0.8 / 4 1.7 0.8 blue; box -1 0 2.3 / 1.6 1.2 0.7 white; cyl -1 0 4 / 0.6 1 red
bridge 75: box -2.4 0 1.4 / 0.9 1.5 1.4 wood; box 2.4 0 1.4 / 0.9 1.5 1.4 wood; box 0 0 3.4 / 3.4 1.5 0.6 green
stairs 100: box -2.2 0 0.8 / 1.1 2 0.8 violet; box 0 0 1.6 / 1.1 2 1.6 blue; box 2.2 0 2.4 / 1.1 2 2.4 teal
tower 110: box 0 0 1.1 / 2.2 2.2 1.1 red; box 0 0 3.3 / 1.7 1.7 1.1 yellow; box 0 0 5.4 / 1.2 1.2 1 blue
weight 400: cyl 0 0 1.6 / 2.2 1.6 steel; cyl 0 0 3.6 / 0.8 0.4 steel; cyl 0 0 4.4 / 1.3 0.4 steel
candle 120: cyl 0 0 0.3 / 3.4 0.3 brown; cyl 0 0 2.6 / 1.8 2 pink; cyl 0 0 4.9 / 0.15 0.3 dark
plant 160: cyl 0 0 1.5 / 2.2 1.5 brown; ball 0 0 4.4 / 2.6 2.6 1.7 green; cyl 0 0 2.9 / 2.5 0.25 brown
"""
"""Name, mass in g: three parts, each its kind, centre (cm; z from the ground), half sizes (cm; a cylinder's are radius
and half height) and colour."""


@dataclass(frozen=True)
class Part:
    """One solid of a distractor, in cm."""

    kind: str
    at: tuple[float, float, float]
    size: tuple[float, ...]
    colour: str

    @property
    def wide(self) -> tuple[float, float]:
        """Half sizes along x and y."""
        return (self.size[0], self.size[0]) if self.kind == "cyl" else (self.size[0], self.size[1])


def _part(text: str) -> Part:
    where, _, rest = text.partition("/")
    kind, *at = where.split()
    *size, colour = rest.split()
    x, y, z = map(float, at)
    return Part(kind, (x, y, z), tuple(map(float, size)), colour)


FRICTION = (0.8, 0.02, 0.001)


@dataclass(frozen=True)
class DistractorShape:
    """What placing one needs to know."""

    name: str
    radius: float
    """Of the circle about its origin that holds it, seen from above, m."""
    height: float


def _extent(parts: Sequence[Part]) -> tuple[np.ndarray, float]:
    """Half extents (3,) of the box about the vertical axis that holds all parts, and the radius around it, m."""
    half, radius = np.zeros(2), 0.0
    for part in parts:
        out = np.abs(part.at[:2]) + part.wide
        half = np.maximum(half, out)
        round_ = float(np.hypot(*part.at[:2])) + part.size[0]
        radius = max(radius, round_ if part.kind == "cyl" else float(np.hypot(*out)))
    top = max(part.at[2] + part.size[-1] for part in parts)
    return np.array([*half, top / 2]) / 100, radius / 100


def _asset(name: str, kilograms: float, parts: Sequence[Part], half: np.ndarray) -> Asset:
    def add(spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics) -> None:
        mass = kilograms * float(np.prod(scale)) * physics.mass_scale
        set_inertia(body, mass, box_inertia(mass, half * scale))
        for index, part in enumerate(parts):
            grown = np.array(part.size) / 100 * (scale if len(part.size) == 3 else [scale[:2].mean(), scale[2]])
            body.add_geom(
                name=f"{body.name}/part{index}",
                type=KINDS[part.kind],
                pos=(np.array(part.at) / 100 - [0, 0, half[2]]) * scale,
                size=np.pad(grown, (0, 3 - len(grown))),
                rgba=[*COLOURS[part.colour], 1],
                friction=[FRICTION[0] * physics.friction_scale, *FRICTION[1:]],
                condim=4,
                solref=physics.solref,
                priority=1,
            )

    return Asset(name, kilograms, float(half[2]), add)


def _read(table: str) -> dict[str, DistractorShape]:
    distractors = {}
    for line in table.split("\n"):
        if line:
            title, _, rest = line.partition(":")
            name, grams = title.split()
            parts = [_part(text) for text in rest.split(";")]
            half, radius = _extent(parts)
            distractors[name] = DistractorShape(name, radius, 2 * float(half[2]))
            ASSETS[name] = _asset(name, float(grams) / 1000, parts, half)
    return distractors


DISTRACTORS = _read(TABLE)
