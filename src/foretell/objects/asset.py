"""An asset: the model of one kind of object, added to a scene once for each placement that names it."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import mujoco
import numpy as np

from foretell.errors import UsageError, suggest
from foretell.spec import Feature

__all__ = ["ASSETS", "Asset", "Assets", "Fixture", "Joint", "ObjectPhysics", "Round", "asset", "box_inertia", "prism"]


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

    free: ClassVar[bool] = True
    """Whether it moves freely. What does not stands where its placement puts it."""

    name: str
    mass: float
    """kg at nominal size."""
    rest: float
    """Height of the origin above a surface the object stands on, m at nominal size."""
    add: Callable[[mujoco.MjSpec, mujoco.MjsBody, np.ndarray, ObjectPhysics], None]
    """(spec, body, scale (3,), physics)"""

    @property
    def features(self) -> dict[str, Feature]:
        """What can be observed of each."""
        return {
            "pos": Feature(kind="position", shape=(3,), unit="m", frame="task", noise="position"),
            "quat": Feature(kind="orientation", shape=(4,), frame="task", noise="orientation"),
            "size": Feature(kind="scalar", shape=(1,), optional=True),
        }


@dataclass(frozen=True, kw_only=True)
class Round(Asset):
    """An object that rolls, which is not to be knocked over (see `tasks.events`)."""

    about: Literal["x", "y", "z", "any"]
    """The axis of its own frame that it is round about; `any` is a ball."""


@dataclass(frozen=True)
class Joint:
    """A joint of a fixture."""

    low: float
    high: float
    home: float = 0.0
    """Where it starts unless a scenario says otherwise."""
    unit: str = "m"
    """`m` of a joint that slides, `rad` of one that turns."""


@dataclass(frozen=True, kw_only=True)
class Fixture(Asset):
    """Furniture with joints: a drawer, a lid, a knob. `add` builds it into a body that has its pose; bodies, joints and
    sites of its own are called `<body>/<name>`. It stands where its placement puts it."""

    free: ClassVar[bool] = False
    joints: Mapping[str, Joint] = field(default_factory=dict)
    sites: tuple[str, ...] = ()
    """Sites or bodies whose pose can be observed, such as a handle."""

    @property
    def features(self) -> dict[str, Feature]:
        features = super().features
        for name, joint in self.joints.items():
            limits: dict[str, Any] = {"low": joint.low, "high": joint.high, "unit": joint.unit}
            features[name] = Feature(kind="joint", shape=(1,), source=(name,), noise="joint", **limits)
        for name in self.sites:
            features[f"{name}/pos"] = Feature(
                kind="position", shape=(3,), unit="m", frame="task", noise="position", source=(name,)
            )
            features[f"{name}/quat"] = Feature(
                kind="orientation", shape=(4,), frame="task", noise="orientation", source=(name,)
            )
        return features


class Assets(UserDict[str, Asset]):
    """Name -> asset. Those of foretell keep their names: scenarios of its tasks place them by name, and rows would not
    say that another object was there."""

    def __init__(self) -> None:
        super().__init__()
        self._own: frozenset[str] = frozenset()

    def seal(self) -> None:
        """From now on, what is there stays."""
        self._own = frozenset(self)

    def __setitem__(self, name: str, asset: Asset) -> None:
        if name in self._own and asset is not self[name]:
            raise UsageError(f"ASSETS: {name!r} is an asset of foretell: give yours another name")
        super().__setitem__(name, asset)


ASSETS = Assets()
"""Every asset. One's own is added by `ASSETS["my-mug"] = Asset("my-mug", ...)`."""


def asset(name: str) -> Asset:
    """The asset of a name, or of an imported object (`objects.imported`)."""
    try:
        return ASSETS[name]
    except KeyError:
        from foretell.objects.imported import imported_asset, is_imported  # which is made of assets

        if is_imported(name):
            return imported_asset(name)
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
