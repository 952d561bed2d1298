"""What a fit may change: numbers of a world file, each with a range and a scale on which it is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError, suggest
from foretell.robots import Group, Robot
from foretell.sim.params import MujocoFile, Physics, Theta

__all__ = ["VARIES", "Parameter", "Space", "space"]

VARIES = {
    "gains": "stiffness (kp) and damping (kv) of every joint of the arm",
    "kp": "stiffness of every joint of the arm",
    "kv": "damping of every joint of the arm",
    "gripper": "stiffness and damping of the fingers, or their force where the robot has no such gains",
    "friction": "Coulomb friction of the arm's joints, N m",
    "armature": "inertia that the motors add to their joints",
    "delay": "time between a target and the actuator that follows it, s",
}
"""What `vary` may name."""
MOST_DELAY = 0.1
"""s."""
MOST_FRICTION = 20.0
"""N m, of the strongest joints."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One number of a world file."""

    name: str
    path: tuple[str, ...]
    """Where it stands in the world file."""
    value: float
    """In the world before the fit."""
    low: float
    high: float
    log: bool = True
    """Searched on a logarithmic scale: a multiplier."""
    step: float = 0.02
    """Half the finite difference that a derivative is taken from, on the scale of the search."""
    unit: str = "x"

    def coded(self, value: float) -> float:
        """On the scale of the search."""
        return float(np.log(value)) if self.log else value

    def decoded(self, x: float) -> float:
        return float(np.exp(x)) if self.log else float(x)


class Space:
    """The parameters of a fit, around a world. Points are (parameters,), on the scales of the search."""

    def __init__(self, world: MujocoFile, parameters: Sequence[Parameter]):
        self.world, self.parameters = world, tuple(parameters)
        self.start = np.array([p.coded(p.value) for p in self.parameters])
        self.low = np.array([p.coded(p.low) for p in self.parameters])
        self.high = np.array([p.coded(p.high) for p in self.parameters])
        self.step = np.array([p.step for p in self.parameters])

    def values(self, x: Floats) -> dict[str, float]:
        """Parameter -> its number at a point."""
        return {p.name: p.decoded(v) for p, v in zip(self.parameters, x.tolist(), strict=True)}

    def at(self, x: Floats) -> MujocoFile:
        """The world at a point."""
        contents: dict[str, Any] = {"theta": self.world.theta.model_dump(), "physics": self.world.physics.model_dump()}
        for parameter, value in zip(self.parameters, np.clip(x, self.low, self.high).tolist(), strict=True):
            section = contents
            for key in parameter.path[:-1]:
                section = section.setdefault(key, {})
            section[parameter.path[-1]] = parameter.decoded(value)
        theta, physics = Theta.model_validate(contents["theta"]), Physics.model_validate(contents["physics"])
        return self.world.model_copy(update={"theta": theta, "physics": physics})

    @property
    def most_delay(self) -> float:
        """The longest delay of any point, s."""
        return max(MOST_DELAY, self.world.theta.actuation_delay)


def space(world: MujocoFile, kind: type[Robot], vary: Sequence[str], width: float, tick: float) -> Space:
    """What `vary` names of a kind of robot in a world. Multipliers may go from 1 / `width` to `width` times their
    present value."""
    if not vary:
        raise UsageError(f"identify: vary names nothing; choose from {', '.join(VARIES)}")
    if not width > 1:
        raise UsageError(f"identify: width should be above 1, as 5 for a fifth to five times; {width:g} was given")
    parameters: dict[str, Parameter] = {}
    for word in vary:
        if word not in VARIES:
            raise UsageError(f"identify: vary: {word!r:.100} is not known; {suggest(word, list(VARIES))}")
        for parameter in _named(word, world, kind, width, tick):
            parameters[parameter.name] = parameter
    return Space(world, list(parameters.values()))


def _named(word: str, world: MujocoFile, kind: type[Robot], width: float, tick: float) -> list[Parameter]:
    if word == "delay":
        value = world.theta.actuation_delay
        # whole ticks are all that a world knows, so the difference must span some
        path = ("theta", "actuation_delay")
        return [_linear("delay", path, value, high=max(MOST_DELAY, value), step=2.0 * tick, unit="s")]
    if word == "friction":
        value = world.physics.joint_friction
        path = ("physics", "joint_friction")
        return [_linear("friction", path, value, high=max(MOST_FRICTION, value), step=0.25, unit="N m")]
    if word == "armature":
        if "armature" not in kind.numbers:
            raise UsageError(f"identify: vary: {kind.name} has no armature that a world may fit")
        return [_multiplier("armature", world, kind, width)]
    group = _fingers(kind) if word == "gripper" else kind.groups[kind.first()]
    gains = ("kp", "kv") if word in ("gains", "gripper") else (word,)
    named = [f"{gain}_{joint}" for gain in gains for joint in group.joints]
    known = [name for name in named if name in kind.numbers]
    if not known:
        known = ["finger_force"] if word == "gripper" else [f"{gain}_scale" for gain in gains]
    return [_multiplier(name, world, kind, width) for name in known]


def _fingers(kind: type[Robot]) -> Group:
    group = next((group for group in kind.groups.values() if group.pads), None)
    if group is None:
        raise UsageError(f"identify: vary: {kind.name} has no gripper")
    return group


def _multiplier(name: str, world: MujocoFile, kind: type[Robot], width: float) -> Parameter:
    value = world.theta.robots.get(kind.name, {}).get(name, 1.0)
    if not value > 0:
        raise UsageError(f"identify: theta.robots.{kind.name}.{name} is {value:g}, and a fit begins above 0")
    path = ("theta", "robots", kind.name, name)
    return Parameter(name=name, path=path, value=value, low=value / width, high=value * width)


def _linear(name: str, path: tuple[str, ...], value: float, *, high: float, step: float, unit: str) -> Parameter:
    return Parameter(name=name, path=path, value=value, low=0.0, high=high, log=False, step=step, unit=unit)
