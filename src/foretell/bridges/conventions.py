"""What a policy server takes and gives, declared: presets for openpi's checkpoints, and one's own.

A preset says which keys the server reads, in which size and format, and what its actions mean. `{robot}`, `{camera}`
and `{wrist}` in it stand for the task's robot, its camera and the camera at the robot's wrist.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.registry import resolve
from foretell.robots.controller import controllers
from foretell.spec import ActionSpec, DimSpec
from foretell.tasks.task import Task

__all__ = ["PRESETS", "Convention", "declared", "filled", "named"]


@dataclass(frozen=True, kw_only=True)
class Convention:
    """How one family of servers speaks."""

    observation: Mapping[str, Any]
    action: tuple[Mapping[str, Any], ...] | str
    """For each part of an action the fields of `DimSpec` that are known; or the name of a controller that takes such
    actions."""
    action_rate: float
    chunk: int
    execute: int
    about: str = field(default="", compare=False)


def _picture(stream: str, **more: Any) -> dict[str, Any]:
    return {"stream": stream, "size": [224, 224], **more}


_EE = [{"stream": "{robot}/ee_pos"}, {"stream": "{robot}/ee_quat", "as": "axis_angle"}]
PRESETS: dict[str, Convention] = {
    "libero": Convention(
        about="LIBERO checkpoints of openpi: end-effector deltas in [-1, 1], 20 Hz; left and right are exchanged",
        observation={
            "observation/image": _picture("{camera}/rgb", mirror=True),
            "observation/wrist_image": _picture("{wrist}/rgb", mirror=True),
            "observation/state": [*_EE, {"stream": "{robot}/gripper", "times": [0.5, -0.5]}],
            "prompt": "instruction",
        },
        action=(
            {
                "meaning": "translation",
                "size": 3,
                "unit": "m",
                "scale": 0.05,
                "mode": "delta",
                "low": -1.0,
                "high": 1.0,
            },
            {
                "meaning": "rotation",
                "size": 3,
                "unit": "rad",
                "scale": 0.5,
                "mode": "delta",
                "rotation": "axis_angle",
                "low": -1.0,
                "high": 1.0,
            },
            {"meaning": "gripper", "size": 1, "grips": "closing", "mode": "absolute", "low": -1.0, "high": 1.0},
        ),
        action_rate=20.0,
        chunk=10,
        execute=5,
    ),
    "droid": Convention(
        about="DROID checkpoints of openpi: Panda, joint velocities in [-1, 1] and gripper 1 closed, 15 Hz",
        observation={
            "observation/exterior_image_1_left": _picture("{camera}/rgb"),
            "observation/wrist_image_left": _picture("{wrist}/rgb"),
            "observation/joint_position": ["{robot}/joint_pos"],
            "observation/gripper_position": [{"stream": "{robot}/gripper", "times": -12.5, "plus": 1.0}],
            "prompt": "instruction",
        },
        action=(
            {"meaning": "joint velocity", "size": 7, "unit": "rad/s", "low": -1.0, "high": 1.0},
            {"meaning": "gripper", "size": 1, "grips": "closing", "mode": "absolute", "low": 0.0, "high": 1.0},
        ),
        action_rate=15.0,
        chunk=10,
        execute=8,
    ),
    "aloha": Convention(
        about="ALOHA checkpoints of openpi: two arms of 6 joints with a gripper each, 50 Hz; pictures channel first",
        observation={
            "state": ["left/joint_pos", "left/gripper", "right/joint_pos", "right/gripper"],
            "images/cam_high": _picture("{camera}/rgb", layout="chw"),
            "images/cam_left_wrist": _picture("left/wrist/rgb", layout="chw"),
            "images/cam_right_wrist": _picture("right/wrist/rgb", layout="chw"),
            "prompt": "instruction",
        },
        action=(
            {"meaning": "joint position", "size": 6, "unit": "rad", "mode": "absolute"},
            {"meaning": "gripper opening", "size": 1, "grips": "opening", "mode": "absolute", "low": 0.0, "high": 1.0},
            {"meaning": "joint position", "size": 6, "unit": "rad", "mode": "absolute"},
            {"meaning": "gripper opening", "size": 1, "grips": "opening", "mode": "absolute", "low": 0.0, "high": 1.0},
        ),
        action_rate=50.0,
        chunk=25,
        execute=25,
    ),
    "bridge": Convention(
        about="BridgeData policies: metres, roll pitch yaw, gripper 1 open, 0 closed, 5 Hz; use with `adapt: bridge`",
        observation={
            "observation/image": _picture("{camera}/rgb"),
            "observation/state": [
                "{robot}/ee_pos",
                {"stream": "{robot}/ee_quat", "as": "euler_xyz"},
                "{robot}/gripper",
            ],
            "prompt": "instruction",
        },
        action=(
            {"meaning": "translation", "size": 3, "unit": "m", "scale": 1.0, "mode": "delta"},
            {"meaning": "rotation", "size": 3, "unit": "rad", "scale": 1.0, "mode": "delta", "rotation": "euler_xyz"},
            {"meaning": "gripper opening", "size": 1, "grips": "opening", "mode": "absolute", "low": 0.0, "high": 1.0},
        ),
        action_rate=5.0,
        chunk=4,
        execute=4,
    ),
}
"""Name -> how servers of that kind speak, from openpi's client examples and SIMPLER's adapters."""


def declared(parts: Sequence[Mapping[str, Any]] | str, wanted: ActionSpec, task: Task) -> ActionSpec:
    """The action that a policy is said to give. What is left open is as the controller has it. Raises UsageError."""
    if isinstance(parts, str):
        return named(parts, wanted, task)
    if not isinstance(parts, list | tuple):
        raise UsageError(
            f"action: {parts!r:.80} should be the name of a controller, such as ee_delta, or a list of parts"
        )
    known = {f.name for f in dataclasses.fields(DimSpec)}
    dims = []
    for index, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise UsageError(
                f"action: part {index} is {part!r:.80}, it should be a mapping such as {{meaning: gripper}}"
            )
        for name in part:
            if name not in known:
                raise UsageError(f"action: part {index}: {name!r:.60} is not known; {suggest(str(name), known)}")
        if "meaning" not in part:
            raise UsageError(f"action: part {index}: `meaning` is missing, such as translation or gripper")
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in part.items()
        }
        same = wanted.dims[index] if index < len(wanted.dims) else None
        if same is not None and given.get("size", 1) == same.size and len(parts) == len(wanted.dims):
            dims.append(dataclasses.replace(same, **given))
        else:  # the two do not fit, and the comparison says how
            own: dict[str, Any] = {"unit": "1", **given}
            dims.append(DimSpec(**own))
    return ActionSpec("the server's", tuple(dims))


def named(controller: str, wanted: ActionSpec, task: Task, field: str = "action") -> ActionSpec:
    """The action that a controller takes from the robots of a task. Raises UsageError."""
    if controller == wanted.name:
        return wanted
    robots = {called: resolve("robots", mount.robot)() for called, mount in task.robots.items()}
    try:
        return controllers(controller, robots, 1, 0.002)[1]
    except UsageError as error:
        raise UsageError(f"{field}: {error}") from None


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """A preset with the task's own names in it."""
    if isinstance(value, str):
        for name, own in names.items():
            value = value.replace(f"{{{name}}}", own)
        return value
    if isinstance(value, Mapping):
        return {key: filled(item, names) for key, item in value.items()}
    return [filled(item, names) for item in value] if isinstance(value, list | tuple) else value
