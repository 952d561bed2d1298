"""What passes between policy and world: observation streams and actions, with units, frames and ranges.

Both sides state their spec and the two are compared before the first episode, because a policy that speaks
metres to a world that hears radians fails in ways that look like a bad policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from foretell.errors import ConventionError, UsageError

__all__ = [
    "EE_DELTA",
    "GRIPPER",
    "IMAGES",
    "ActionSpec",
    "DimSpec",
    "Feature",
    "Kind",
    "Noise",
    "RotationFormat",
    "Stream",
    "check_streams",
    "compare",
    "ee_delta",
    "joint_positions",
]


Kind = Literal["joint", "position", "orientation", "scalar", "rgb", "depth", "segmentation", "rays", "text"]
RotationFormat = Literal["axis_angle", "quaternion", "quaternion_xyzw", "euler_xyz", "euler_zyx", "matrix_6d"]
Noise = Literal["joint", "position", "orientation", "image", "depth"]
"""Classes of sensor noise."""
IMAGES: dict[Kind, tuple[int, str]] = {"rgb": (3, "uint8"), "depth": (1, "float32"), "segmentation": (1, "int32")}
"""What a camera gives: kind -> channels and type of a pixel. A policy chooses the resolution."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One thing that a part of a scene (robot, object, fixture, camera, base) has. A world publishes the features of
    all its parts as `part/name`; what policies may read, and which noise it has, follows from them."""

    kind: Kind
    shape: tuple[int, ...]
    """Shape of one sample; of an image only the default, (height, width, channels)."""
    dtype: str = "float64"
    unit: str = "1"
    frame: str | None = None
    """`task`, `base`, a camera's name; None where it makes no sense."""
    low: float | tuple[float, ...] | None = None
    high: float | tuple[float, ...] | None = None
    """The range that a scenario may start it in; None where a scenario cannot set it."""
    group: str | None = None
    """The actuator group that drives it."""
    noise: Noise | None = None
    """The class of sensor noise it has; None for what is known exactly."""
    source: tuple[str, ...] = ()
    """What the world reads it from, by names of the part's own: joints, or the site or body of a pose."""
    rate: bool = False
    """Whether it is the rate of change of its source."""
    optional: bool = False
    """Whether only those get it who ask for it by name. Images are too."""
    legend: tuple[str, ...] = ()
    """Names of the parts in a segmentation. The id of a part is its place in this list; -1 is the background."""

    @property
    def image(self) -> bool:
        return self.kind in IMAGES

    def accepts(self, shape: tuple[int, ...] | None) -> bool:
        """Whether a policy may ask for samples of this shape."""
        if not self.image:
            return shape is None or tuple(shape) == self.shape
        return shape is not None and len(shape) == 3 and min(shape) > 0 and shape[2] == IMAGES[self.kind][0]

    @property
    def expected(self) -> str:
        """The shapes that `accepts` takes, in words."""
        return f"(height, width, {IMAGES[self.kind][0]})" if self.image else str(self.shape)


@dataclass(frozen=True)
class Stream:
    """One observation a policy reads."""

    shape: tuple[int, ...] | None = None
    """Shape of one sample; a camera's (height, width, 3) also asks for that resolution. None: as the world has it."""
    rate: float | None = None
    """Samples per simulated second; None: one at each action."""
    history: int = 1
    """How many samples the policy sees. Above 1 the arrays gain an axis, oldest first: (n, history, *shape)."""


@dataclass(frozen=True, kw_only=True)
class DimSpec:
    """The meaning of one or more neighbouring action dimensions."""

    meaning: str
    unit: str
    size: int = 1
    low: tuple[float, ...] | float = -1.0
    high: tuple[float, ...] | float = 1.0
    scale: float = 1.0
    """Physical units per unit of action: an action of 1 moves `scale` units."""
    mode: Literal["absolute", "delta"] = "absolute"
    frame: str | None = None
    rotation: RotationFormat | None = None
    """`adapters.formats` defines them. The order of a quaternion is (w, x, y, z) unless its name has another."""
    anchor: Literal["achieved", "target"] | None = None
    """What a delta is added to: the pose the robot has, or the pose it was last told to reach."""
    duration: Literal["fixed", "until_done"] = "fixed"
    """One action period, or until the robot reports that it arrived. No clock can do the latter yet: a study refuses
    it."""
    grips: Literal["closing", "opening"] | None = None
    """Of a gripper: what a larger number does. None for everything else, and where a policy leaves it to the world."""
    robot: str | None = None
    """The robot that these dimensions command, as the task calls it; None fits any."""
    group: str | None = None
    """The group of its joints; None fits any."""


@dataclass(frozen=True)
class ActionSpec:
    """A named sequence of dimensions, as one robot's controller takes them."""

    name: str
    dims: tuple[DimSpec, ...]

    @property
    def size(self) -> int:
        return sum(d.size for d in self.dims)

    @property
    def low(self) -> npt.NDArray[np.float64]:
        return np.concatenate([np.broadcast_to(np.asarray(d.low, float), d.size) for d in self.dims])

    @property
    def high(self) -> npt.NDArray[np.float64]:
        return np.concatenate([np.broadcast_to(np.asarray(d.high, float), d.size) for d in self.dims])


GRIPPER = DimSpec(meaning="gripper", unit="1", size=1, grips="closing")
"""-1 opens, +1 closes, as robosuite and robomimic have it."""


def ee_delta(anchor: Literal["achieved", "target"] = "achieved") -> ActionSpec:
    """Seven numbers in [-1, 1]: translation (0.05 m at 1), rotation (0.5 rad at 1, axis-angle), gripper."""
    return ActionSpec(
        "ee_delta",
        (
            DimSpec(meaning="translation", unit="m", size=3, scale=0.05, mode="delta", frame="base", anchor=anchor),
            DimSpec(
                meaning="rotation",
                unit="rad",
                size=3,
                scale=0.5,
                mode="delta",
                frame="base",
                rotation="axis_angle",
                anchor=anchor,
            ),
            GRIPPER,
        ),
    )


EE_DELTA = ee_delta()


def joint_positions(low: tuple[float, ...], high: tuple[float, ...]) -> ActionSpec:
    """Absolute joint positions in rad, then the gripper."""
    return ActionSpec(
        "joint", (DimSpec(meaning="joint position", unit="rad", size=len(low), low=low, high=high), GRIPPER)
    )


CODES = {
    "meaning": "action-meaning",
    "unit": "units",
    "size": "action-size",
    "low": "action-range",
    "high": "action-range",
    "scale": "action-scale",
    "mode": "action-mode",
    "frame": "frame",
    "rotation": "rotation-format",
    "anchor": "action-anchor",
    "duration": "action-duration",
    "grips": "gripper-sign",
    "robot": "robot",
    "group": "group",
}
"""Field of a `DimSpec` -> the code of the error where two sides differ in it."""


def compare(policy: ActionSpec, world: ActionSpec, who: str = "policy") -> None:
    """Raise UsageError unless a policy returns the actions that the controller takes.

    `scale`, ranges and units must agree; `anchor` too, because it changes what a repeated action does.
    """
    if [d.size for d in policy.dims] != [d.size for d in world.dims]:
        raise ConventionError(
            f"{who}: its action {policy.name!r} has dimensions {_sizes(policy)}, "
            f"the controller {world.name!r} takes {_sizes(world)}; set `controller:` on the task",
            "action-size",
        )
    for index, (ours, theirs) in enumerate(zip(policy.dims, world.dims, strict=True)):
        for field in fields(DimSpec):
            a, b = getattr(ours, field.name), getattr(theirs, field.name)
            if field.name in ("robot", "group", "grips") and None in (a, b):
                continue
            same = np.allclose(a, b) if field.name in ("low", "high", "scale") else a == b
            if not same:
                raise ConventionError(
                    f"{who}: action part {index} ({ours.meaning}): {field.name} is {a!r}, "
                    f"but the controller {world.name!r} takes {b!r}",
                    CODES[field.name],
                )


def _sizes(spec: ActionSpec) -> str:
    return ", ".join(f"{d.meaning} {d.size}" for d in spec.dims)


def check_streams(reads: Mapping[str, Stream], who: str = "policy") -> None:
    """Raise UsageError where a stream's own numbers make no sense."""
    for name, stream in reads.items():
        if stream.history < 1:
            raise UsageError(f"{who}: stream {name!r}: history is {stream.history}, it must be at least 1")
        if stream.rate is not None and not stream.rate > 0:
            raise UsageError(f"{who}: stream {name!r}: rate is {stream.rate}, it must be above 0")
