"""What a native world is made of: θ, which may be fitted, and its physics, which may not. Read from a world file."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from foretell.document import load_yaml, parse_yaml
from foretell.errors import UsageError, suggest
from foretell.files import read_file
from foretell.objects import ObjectPhysics
from foretell.robots import ArmPhysics
from foretell.scenario import digest

__all__ = ["Physics", "Theta", "WorldFile", "explain", "load_world", "load_world_file"]

SHOWN = 8
"""Problems that an error lists."""
VERSION = 2
"""Raised whenever a change to the native simulation could alter an outcome; part of every world's hash."""


class Theta(BaseModel):
    """θ: what this world believes. Everything here is a number that `identify` and `tune` may fit."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kp_scale: float = Field(default=1.0, gt=0)
    """Multiplies the position gains of the arm."""
    kv_scale: float = Field(default=1.0, gt=0)
    """Multiplies its velocity gains."""
    damping_scale: float = Field(default=1.0, ge=0)
    """Multiplies the viscous friction of its joints."""
    pad_friction: float = Field(default=1.0, gt=0)
    """Sliding friction of the finger pads."""
    finger_force: float = Field(default=70.0, gt=0)
    """Largest force of each finger, N."""
    object_friction: float = Field(default=1.0, gt=0)
    """Multiplies the sliding friction of objects."""
    object_mass: float = Field(default=1.0, gt=0)
    """Multiplies the mass of objects."""
    actuation_delay: float = Field(default=0.0, ge=0, le=0.2)
    """Time between a target and the actuator that follows it, s."""
    sensor_delay: float = Field(default=0.0, ge=0, le=0.5)
    """Age of what robots, objects and cameras show, when it is looked at, s."""
    joint_noise: float = Field(default=0.0, ge=0)
    """Standard deviation of measured joint positions, rad."""
    pose_noise: float = Field(default=0.0, ge=0)
    """Standard deviation of measured object positions, m."""
    turn_noise: float = Field(default=0.0, ge=0)
    """Standard deviation of measured object orientations, rad."""
    shadows: int = Field(default=0, ge=0, le=8192)
    """Side of the shadow map in pixels; 0: no shadows. They dominate the cost of a frame on a CPU."""
    samples: int = Field(default=0, ge=0, le=16)
    """Multisampling of camera images."""


class Physics(BaseModel):
    """How this world computes: structure and numerics that no θ can express."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    timestep: float = Field(default=0.002, gt=0, le=0.01)
    integrator: Literal["implicitfast", "implicit", "euler", "rk4"] = "implicitfast"
    cone: Literal["elliptic", "pyramidal"] = "elliptic"
    impratio: float = Field(default=10.0, gt=0)
    contact_time: float = Field(default=0.005, gt=0)
    """Time constant of contacts, s (solref)."""
    geometry: Literal["primitive", "mesh"] = "primitive"
    """Collision shapes of objects: exact primitives, or faceted and bevelled ones."""
    pads: Literal["box", "beads"] = "box"
    joint_friction: float = Field(default=0.0, ge=0)
    """Coulomb friction of joints 1-4, N m."""
    backlash: float = Field(default=0.0, ge=0, le=0.05)
    """Half the free play of each joint, rad."""
    delay_spread: float = Field(default=0.0, ge=0, le=0.1)
    """The actuation delay differs from episode to episode by up to this, s."""
    placement_noise: float = Field(default=0.0, ge=0)
    """Standard deviation of where a person really puts an object, m."""


class WorldFile(BaseModel):
    """A world as a file: kind, θ, physics. What is left out is the native world's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["mujoco", "standin"] = "mujoco"
    about: str = ""
    theta: Theta = Theta()
    physics: Physics = Physics()
    fitted_to: tuple[str, ...] = ()
    """Scenarios whose real trials θ or physics were fitted to: ids, or of a child its parent's. No answer judges this
    world by these trials. In a file, also the name of a text file beside it with one id a line."""

    @field_validator("fitted_to")
    @classmethod
    def _once(cls, ids: tuple[str, ...]) -> tuple[str, ...]:
        if not all(one.strip() for one in ids):
            raise ValueError("every entry should be the id of a scenario, and one is blank")
        return tuple(sorted({one.strip() for one in ids}))

    @property
    def hash(self) -> str:
        """Names all that decides outcomes, and what they may be used for; the file's name and description do not."""
        parts = [VERSION, self.theta.model_dump(), self.physics.model_dump()]
        return digest([*parts, list(self.fitted_to)] if self.fitted_to else parts)

    def arm(self) -> ArmPhysics:
        t, p = self.theta, self.physics
        return ArmPhysics(
            kp_scale=t.kp_scale,
            kv_scale=t.kv_scale,
            damping_scale=t.damping_scale,
            frictionloss=p.joint_friction,
            backlash=p.backlash,
            pad_friction=t.pad_friction,
            pads=p.pads,
            finger_force=t.finger_force,
        )

    def objects(self) -> ObjectPhysics:
        return ObjectPhysics(
            self.theta.object_friction,
            self.theta.object_mass,
            self.physics.geometry,
            (self.physics.contact_time, 1.0),
        )


BUILTIN = ("mujoco", "standin")


def load_world(source: str | Path | dict[str, Any] | WorldFile) -> WorldFile:
    """A world by built-in name (`mujoco`, `standin`), by path of a world file, or as its contents."""
    if isinstance(source, WorldFile):
        return source
    if isinstance(source, dict):
        contents, where = source, "world"
    elif str(source) in BUILTIN:
        text = (files("foretell") / "worlds" / f"{source}.yaml").read_text()
        contents, where = parse_yaml(text, f"world {source}"), str(source)
    else:
        path = Path(source)
        if path.suffix not in (".yaml", ".yml"):
            raise UsageError(f"world: {str(source)!r} is not known; {suggest(str(source), BUILTIN)}, or a .yaml file")
        contents, where = load_world_file(path), str(path)
        if isinstance(contents, dict):
            contents.setdefault("name", path.stem)
            if isinstance(seen := contents.get("fitted_to"), str):
                contents["fitted_to"] = _listed(path.parent / seen, where)
    if not isinstance(contents, dict):
        raise UsageError(f"world: {where} should be a mapping with name, theta and physics")
    try:
        return WorldFile.model_validate(contents)
    except ValidationError as error:
        raise UsageError(explain(error, where, WorldFile)) from None


def load_world_file(path: Path) -> Any:
    """What a world file holds."""
    try:
        return load_yaml(path)
    except UsageError as error:
        raise UsageError(f"world: {error}") from None


def _listed(path: Path, where: str) -> list[str]:
    """Ids in a text file, one a line."""
    try:
        lines = read_file(path, follow=True).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"{where}: fitted_to: cannot read the list of scenarios in {path}: {why}") from None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def explain(error: ValidationError, where: str, model: type[BaseModel]) -> str:
    """A validation error as one line per problem: the field, what was expected, what was given."""
    lines = []
    found = error.errors(include_url=False)
    for problem in found[:SHOWN]:
        path = ".".join(_short(str(part), repr=str) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            known = _fields(model, problem["loc"][:-1])
            lines.append(f"{where}: {path} is not a field; {suggest(str(problem['loc'][-1]), known)}")
        else:
            whole = problem["type"] == "missing" and len(problem["loc"]) == 1  # what was given is the whole file
            given = "" if whole else f" (given: {_short(problem.get('input'))})"
            said = _short(problem["msg"].removeprefix("Value error, "), 300, repr=str)
            lines.append(f"{where}: {path}: {said}{given}")
    return "\n".join([*lines, f"and {len(found) - SHOWN} problems more"] if len(found) > SHOWN else lines)


def _short(value: Any, most: int = 120, repr: Callable[[Any], str] = repr) -> str:
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def _fields(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """Names of the fields at a path into nested models, lists and mappings of models."""
    kind: Any = model
    for step in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            info = kind.model_fields.get(str(step))
            kind = info.annotation if info is not None else None
        else:  # an item of a list or mapping: its type is the last argument
            kind = get_args(kind)[-1] if get_args(kind) else None
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []
