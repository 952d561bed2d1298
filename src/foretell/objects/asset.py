"""An asset: the model of one kind of object, added to a scene once for each placement that names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from foretell.errors import UsageError, suggest

__all__ = ["ASSETS", "Asset", "ObjectPhysics", "asset", "box_inertia", "prism"]


@dataclass(frozen=True)
class ObjectPhysics:
    """What a world believes of objects."""

    friction_scale: float = 1.0
    """Multiplies the sliding friction of every object. An object's friction decides on a table (geom priority 1),
    the finger pads' between the fingers (priority 2)."""
    mass_scale: float = 1.0
    geometry: Literal["primitive", "mesh"] = "primitive"
    """Collision shapes: exact primitives, or faceted and bevelled meshes such as a scan would give."""
    solref: tuple[float, float] = (0.005, 1.0)


@dataclass(frozen=True)
class Asset:
    """One kind of object. `add` puts its geoms into a body that already has its pose and free joint."""

    name: str
    mass: float
    """kg at nominal size."""
    rest: float
    """Height of the origin above a surface the object stands on, m at nominal size."""
    add: Callable[[mujoco.MjSpec, mujoco.MjsBody, np.ndarray, ObjectPhysics], None]
    """(spec, body, scale (3,), physics)"""


ASSETS: dict[str, Asset] = {}


def asset(name: str) -> Asset:
    """The asset of a name."""
    try:
        return ASSETS[name]
    except KeyError:
        raise UsageError(f"placements: asset {name!r} is not known; {suggest(name, ASSETS)}") from None


def box_inertia(mass: float, half: np.ndarray) -> list[float]:
    """Principal inertia of a solid box of half sizes (3,), kg m^2."""
    x, y, z = half**2
    return [mass / 3 * (y + z), mass / 3 * (x + z), mass / 3 * (x + y)]


def set_inertia(body: mujoco.MjsBody, mass: float, inertia: list[float], com: tuple[float, ...] = (0, 0, 0)) -> None:
    """Explicit inertia, so that every scale of an object gives MjData the same layout."""
    body.explicitinertial = True
    body.mass, body.inertia = mass, inertia
    body.ipos, body.iquat = list(com), [1, 0, 0, 0]


def prism(outline: np.ndarray, heights: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Vertices (k, 3) of a stack of scaled outlines (m, 2): the convex hull is a faceted turned part."""
    layers = [np.column_stack([outline * r, np.full(len(outline), h)]) for h, r in zip(heights, radii, strict=True)]
    return np.concatenate(layers)
