"""A robot: an embodiment with joint groups, limits and a model. Every controller and every observation follows from it.

Units: metres, radians, kilograms, newtons, seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.spec import Feature

__all__ = ["Group", "Robot", "RobotPhysics", "Steps"]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Joints that one controller moves together."""

    joints: tuple[str, ...]
    """From the base outwards: hinges (rad) or slides (m)."""
    home: tuple[float, ...]
    """Where they start unless a scenario says otherwise."""
    low: tuple[float, ...]
    high: tuple[float, ...]
    speed: tuple[float, ...]
    """Largest speed of each joint. MuJoCo does not enforce it; controllers do."""
    actuators: tuple[str, ...] = ()
    """Those that take the targets; none: one for each joint, of its name. One for several joints moves them alike."""
    unit: str = "rad"
    tool: str | None = None
    """The site that end-effector controllers move. It is turned like the body it is on."""
    pads: tuple[str, ...] = ()
    """Bodies that hold an object between them."""
    shut: Literal["low", "high"] = "low"
    """The end of the joints' ranges at which a gripper is shut."""

    @property
    def motors(self) -> tuple[str, ...]:
        return self.actuators or self.joints

    @property
    def width(self) -> int:
        """Numbers in a target: one for each actuator."""
        return len(self.motors)

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        """(joint, shut, open) of each joint of a gripper."""
        ends = (self.high, self.low) if self.shut == "high" else (self.low, self.high)
        return list(zip(self.joints, *ends, strict=True))

    def measured(self, joints: Floats) -> Floats:
        """(n, width) positions as targets have them, of joints (n, joints)."""
        return joints if self.width == joints.shape[1] else joints.mean(axis=1, keepdims=True)


@dataclass(frozen=True)
class Steps:
    """How a world cuts time."""

    tick: float = 0.002
    """One physics step, s."""
    integrator: str = "implicitfast"
    sleep: bool = False
    """Whether physics leaves out what lies still until something touches it. Not with `rk4`."""

    @property
    def implicit(self) -> bool:
        """Whether the integrator takes the damping of actuators at the end of a tick."""
        return self.integrator in ("implicit", "implicitfast")


@dataclass(frozen=True, kw_only=True)
class RobotPhysics:
    """What a world believes of a robot. Numbers are multipliers of the robot's own, so 1 is the robot as published.
    A robot honours those that make sense for it, and lists the others in `ignores`."""

    kp_scale: float = 1.0
    """Position gains of the arm."""
    kv_scale: float = 1.0
    """Velocity gains of the arm."""
    damping_scale: float = 1.0
    """Viscous friction of the arm's joints."""
    pad_friction: float = 1.0
    """Sliding friction of the finger pads."""
    finger_force: float = 1.0
    """Largest force of the fingers."""
    joint_friction: float = 0.0
    """Coulomb friction of the strongest joints, N m; others in proportion to their torque."""
    backlash: float = 0.0
    """Half the free play of each joint, rad."""
    pads: str = "box"
    """Collision shape of the finger pads: `box` or `beads`."""
    own: Mapping[str, float] | None = None
    """Numbers that only this robot has, by the names in its `numbers`."""
    looks: str = "own"
    """What it looks like: our `own` shells, or those of the `menagerie`, where the robot has them."""
    steps: Steps = Steps()
    """How the world cuts time: what an actuator does within a tick depends on it."""


class Robot:
    """Base of all robots. Subclasses set `name` and `groups`, and override `spec`."""

    name: str
    version: int = 1
    """Of a robot that comes with foretell: raised whenever a change could alter what it does."""
    groups: Mapping[str, Group] = {}
    """Group -> its joints; the first is what a scenario calls by the robot's name alone."""
    numbers: Mapping[str, float] = {}
    """What only this robot has and a world may fit, with the published value."""
    ignores: tuple[str, ...] = ()
    """Fields of `RobotPhysics` that change nothing of this robot. Whoever sets one in a world file is told so."""
    controller: str = "ee_delta"
    """The controllers that its published experiments use, as a task or study names them."""
    action_rate: float = 20.0
    """Actions per second of these experiments."""
    steps: Steps | None = None
    """How time was cut where its numbers were identified. A world whose file does not say takes it."""
    frame: str | None = None
    """The site whose pose its published data give; None: the tool of the first group."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        every = [vars(base)["numbers"] for base in reversed(cls.__mro__) if "numbers" in vars(base)]
        cls.numbers = {name: value for own in every for name, value in own.items()}  # with those of its parents

    def __init__(self, physics: RobotPhysics = RobotPhysics()) -> None:
        self.physics = physics
        for name, group in self.groups.items():
            for field in ("home", "low", "high", "speed"):
                if (count := len(getattr(group, field))) != len(group.joints):
                    raise UsageError(
                        f"robot {self.name!r}: group {name!r}: {field} has {counted(count, 'value')}, and the group "
                        f"has {counted(len(group.joints), 'joint')} ({', '.join(group.joints)})"
                    )

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        """Build the model anew, alone: scenes attach it with a prefix. Without `visuals` shells are left out, and
        physics is the same. Loops close in its actuators. Options (time step, integrator) belong to the world."""
        raise NotImplementedError

    @classmethod
    def first(cls) -> str:
        """The group that a scenario calls by the robot's name alone."""
        return next(iter(cls.groups))

    def own(self, name: str) -> float:
        """One of its `numbers`, as this world believes it."""
        return (self.physics.own or {}).get(name, self.numbers[name])

    def lead(self, group: str) -> Floats:
        """(width,) damping over stiffness of a group's actuators, s. A target that runs ahead by this times its own
        velocity makes them follow the velocity too."""
        return np.zeros(self.groups[group].width)

    @cached_property
    def features(self) -> dict[str, Feature]:
        """What can be observed of it, besides its cameras. Of a gripper this is its opening, by the name of the group,
        and nothing else where it has one actuator. Of any other group it is positions and velocities of the joints, and
        the pose of the tool."""
        features: dict[str, Feature] = {}
        limits: dict[str, Any]
        for name, group in self.groups.items():
            if group.pads:  # metres between the pads; of turning fingers, the sum of their angles
                limits = {"low": (sum(group.low),), "high": (sum(group.high),)}
                fingers: dict[str, Any] = {"unit": group.unit, "source": group.joints, "group": name}
                features[name] = Feature(kind="scalar", shape=(1,), **fingers, **limits)
            if group.pads and group.width == 1:
                continue
            before = "" if name == self.first() else f"{name}/"
            joint: dict[str, Any] = {
                "kind": "joint",
                "shape": (len(group.joints),),
                "source": group.joints,
                "group": name,
            }
            limits = {"low": group.low, "high": group.high}
            features[f"{before}joint_pos"] = Feature(unit=group.unit, noise="joint", **joint, **limits)
            features[f"{before}joint_vel"] = Feature(unit=f"{group.unit}/s", rate=True, **joint)
            if group.tool:
                pose: dict[str, Any] = {"source": (group.tool,), "frame": "task", "group": name}
                features[f"{before}ee_pos"] = Feature(kind="position", shape=(3,), unit="m", **pose)
                features[f"{before}ee_quat"] = Feature(kind="orientation", shape=(4,), **pose)
        return features
