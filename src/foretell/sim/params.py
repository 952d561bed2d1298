"""What a native world is made of: θ, which may be fitted, and its physics, which may not. Read from a world file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, field_validator

from foretell.errors import UsageError, suggest
from foretell.objects import ObjectPhysics
from foretell.robots import Robot, RobotPhysics, Steps
from foretell.sim.transforms import Transform, read_transform
from foretell.world_file import WorldFile

__all__ = ["MujocoFile", "Physics", "Theta", "load_world"]

FINGER_FORCE = 70.0
"""N; only names are made with it."""
STEPS = Steps()
"""Where neither the world file nor a robot says otherwise."""
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
    """Multiplies the sliding friction of the finger pads."""
    finger_force: float = Field(default=1.0, gt=0)
    """Multiplies the largest force of the fingers, at most by 4."""
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
    robots: dict[str, dict[str, Annotated[float, Field(ge=0)]]] = {}
    """Robot -> multipliers for it alone: of the numbers above, on top of them, or of numbers that only it has."""

    @field_validator("finger_force")
    @classmethod
    def _multiplier(cls, value: float) -> float:
        if value > 4:
            advice = f"it is a multiplier of the robot's own force now, at most 4; {value:g} N of the Panda's 70 N are"
            raise ValueError(f"{advice} {value / FINGER_FORCE:.4g}")
        return value


class Physics(BaseModel):
    """How this world computes: structure and numerics that no θ can express."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    timestep: float | None = Field(default=None, ge=1e-5, le=0.01)
    """Physics step, s; shorter ones would take hours. None: that of the robots, where they have one, or else 0.002."""
    integrator: Literal["implicitfast", "implicit", "euler", "rk4"] | None = None
    """None: that of the robots, where they agree, or else `implicitfast`."""
    cone: Literal["elliptic", "pyramidal"] = "elliptic"
    impratio: float = Field(default=10.0, gt=0)
    contact_time: float = Field(default=0.005, gt=0)
    """Time constant of contacts, s (solref)."""
    geometry: Literal["primitive", "mesh"] = "primitive"
    """Collision shapes of objects: exact primitives, or faceted and bevelled ones."""
    pads: Literal["box", "beads"] = "box"
    joint_friction: float = Field(default=0.0, ge=0)
    """Coulomb friction of a robot's strongest joints, N m; its others have it in proportion to their torque. It is no
    multiplier, because robots as published have none."""
    backlash: float = Field(default=0.0, ge=0, le=0.05)
    """Half the free play of each joint, rad."""
    coriolis: float = Field(default=0.0, ge=0, le=1)
    """Share of the Coriolis and centrifugal forces of a robot's links that its controller compensates. Gravity is
    compensated where the robot says so, whatever this is."""
    delay_spread: float = Field(default=0.0, ge=0, le=0.1)
    """The actuation delay differs from episode to episode by up to this, s."""
    placement_noise: float = Field(default=0.0, ge=0)
    """Standard deviation of where a person really puts an object, m."""


class MujocoFile(WorldFile):
    """A native world as a file: θ, physics, and what becomes of pictures. What is left out is the native world's."""

    theta: Theta = Theta()
    physics: Physics = Physics()
    looks: Literal["own", "menagerie"] = "own"
    """Shells of robots: our own, or the meshes of MuJoCo Menagerie, where they can be had. Physics does not change."""
    transforms: tuple[SerializeAsAny[Annotated[Transform, BeforeValidator(read_transform)]], ...] = ()
    """What happens to rendered pictures, in this order."""

    def decides(self) -> list[Any]:
        theta = self.theta.model_dump(mode="json")
        theta["finger_force"] *= FINGER_FORCE  # it was in N, and worlds keep their names
        if not theta["robots"]:
            del theta["robots"]
        decides = [VERSION, theta, self._physics()]
        # to ask for what is usual is not the same as to ask for nothing, which leaves it to the robots
        usual = {"timestep": STEPS.tick, "integrator": STEPS.integrator}
        if stated := {name: value for name, value in usual.items() if getattr(self.physics, name) == value}:
            decides.append(stated)
        if self.looks != "own":  # worlds without it keep their names
            decides.append({"looks": self.looks})
        return [*decides, self._transformed()] if self.transforms else decides  # worlds without any keep their names

    @property
    def params(self) -> dict[str, Any]:
        params = {**super().params, "physics": self._physics()}
        del params["transforms"]
        if self.looks == "own":
            del params["looks"]
        return {**params, "transforms": self._transformed()} if self.transforms else params

    def _physics(self) -> dict[str, Any]:
        """How this world computes; what is left to the robots is as without any."""
        steps = self.steps([])
        physics = self.physics.model_dump(mode="json") | {"timestep": steps.tick, "integrator": steps.integrator}
        if not self.physics.coriolis:  # worlds without it keep their names
            del physics["coriolis"]
        return physics

    def _transformed(self) -> list[dict[str, Any]]:
        return [transform.decides() for transform in self.transforms]

    def steps(self, kinds: Collection[type[Robot]]) -> Steps:
        """How time is cut in a scene with robots of these kinds: as the file says, or else as the robots ask."""
        tick, integrator = self.physics.timestep, str(self.physics.integrator or "")
        asked = [kind.steps or STEPS for kind in kinds] or [STEPS]
        if tick is None:
            tick = min((kind.steps.tick for kind in kinds if kind.steps is not None), default=STEPS.tick)
        if not integrator:
            same = len({steps.integrator for steps in asked}) == 1
            integrator = asked[0].integrator if same else STEPS.integrator
        sleep = integrator != "rk4" and all(steps.sleep for steps in asked)
        return Steps(tick, integrator, sleep)

    def robot(self, kind: type[Robot], steps: Steps | None = None) -> RobotPhysics:
        """What this world believes of a kind of robot. `steps`: those of the scene; None: those of the robot alone."""
        t, p = self.theta, self.physics
        named = {n: getattr(t, n) for n in ("kp_scale", "kv_scale", "damping_scale", "pad_friction", "finger_force")}
        for name, value in t.robots.get(kind.name, {}).items():
            if name not in {**named, **kind.numbers}:
                known = [*named, *kind.numbers]
                raise UsageError(f"{self.name}: theta.robots.{kind.name}.{name} is not a field; {suggest(name, known)}")
            if name in kind.ignores:
                raise UsageError(f"{self.name}: theta.robots.{kind.name}.{name}: this robot ignores it: leave it out")
            if name in named:
                named[name] *= value
        own = {n: v * t.robots.get(kind.name, {}).get(n, 1.0) for n, v in kind.numbers.items()}
        structure: dict[str, Any] = {"joint_friction": p.joint_friction, "backlash": p.backlash, "pads": p.pads}
        return RobotPhysics(own=own, looks=self.looks, steps=steps or self.steps([kind]), **structure, **named)

    def without_effect(self, kinds: Collection[type[Robot]]) -> list[str]:
        """What this file sets and a robot of these kinds ignores, in words."""
        usual = {**Theta().model_dump(), **Physics().model_dump()}
        stated = {**self.theta.model_dump(), **self.physics.model_dump()}
        changed = {name for name in usual if stated[name] != usual[name]}
        return [
            f"world {self.name!r} sets {' and '.join(names)}: robot {kind.name!r} ignores this"
            for kind in dict.fromkeys(kinds)
            if (names := [name for name in kind.ignores if name in changed])
        ]

    def objects(self) -> ObjectPhysics:
        return ObjectPhysics(
            self.theta.object_friction,
            self.theta.object_mass,
            self.physics.geometry,
            (self.physics.contact_time, 1.0),
        )


def load_world(source: str | Path | Mapping[str, Any] | WorldFile) -> MujocoFile:
    """A native world by built-in name (`mujoco`, `standin`), by path of a world file, or as its contents."""
    return MujocoFile.load(source)
