"""An arm as a LeRobot driver shows it: `waist.pos` in degrees, `gripper.pos` from 0 (shut) to 100 (open)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.robots.robot import Group, Robot
from foretell.scenario import Scenario
from foretell.spec import Stream
from foretell.world import World

__all__ = ["RehearsedArm"]

SLOT = np.zeros(1, dtype=np.int32)


class RehearsedArm:
    """The robot of a tabletop world. Its servos go to the last target as fast as they can, and hold it."""

    CONTROLLER = "joint"

    def __init__(self, robot: str, embodiment: Robot):
        self.robot = robot
        self.arm: Group = embodiment.groups[embodiment.first()]
        grippers = {name: group for name, group in embodiment.groups.items() if group.pads}
        self.gripper: tuple[str, Group] | None = next(iter(grippers.items()), None)
        self.keys = {f"{joint}.pos": joint for joint in self.arm.joints}
        turns = self.arm.unit == "rad"
        self._scale = math.degrees(1.0) if turns else 1000.0
        self.unit = "deg" if turns else "mm"
        self.action = [*self.keys, *(["gripper.pos"] if self.gripper else [])]
        self.observation = list(self.action)
        self._targets: dict[str, float] = {}

    def start(self, world: World, scenario: Scenario, moved: str) -> Scenario:
        """The scenario with the arm where it stands: who sets a table does not move the arm. `home`: moved there by
        hand."""
        self._targets = {}
        stands = {self.robot: self.arm.home}
        if moved != "home":
            stands = {self.robot: tuple(self._joints(world).tolist())}
            if self.gripper is not None:
                name, group = self.gripper
                share = min(max(self.read(world)["gripper.pos"] / 100.0, 0.0), 1.0)
                stands[f"{self.robot}/{name}"] = tuple(shut + share * (wide - shut) for _, shut, wide in group.spans)
        return scenario.model_copy(update={"start": {**scenario.start, **stands}})

    def read(self, world: World) -> dict[str, float]:
        """What the driver measures."""
        seen = dict(zip(self.keys, (self._scale * self._joints(world)).tolist(), strict=True))
        if self.gripper is not None:
            name, group = self.gripper
            stream = f"{self.robot}/{name}"
            opening = float(world.observe(SLOT, {stream: Stream()})[stream][0, 0])
            shut, wide = _ends(group)
            seen["gripper.pos"] = 100.0 * (opening - shut) / (wide - shut)
        return seen

    def clipped(self, action: Mapping[str, Any]) -> dict[str, float]:
        """The targets as servos take them, within their ranges."""
        for key in action:
            if key not in self.action:
                raise UsageError(f"action: {key!r} is no key of this arm; {suggest(str(key), self.action)}")
        limits = dict(zip(self.keys, zip(self.arm.low, self.arm.high, strict=True), strict=True))
        sent = {}
        for key, value in action.items():
            low, high = (self._scale * end for end in limits[key]) if key in limits else (0.0, 100.0)
            if not math.isfinite(float(value)):
                raise UsageError(f"action: {key} is {value}; it should be a finite number")
            sent[key] = min(max(float(value), low), high)
        return sent

    def drive(self, world: World, sent: Mapping[str, float]) -> None:
        """Go to targets. Joints that an action leaves out keep theirs."""
        measured = self._joints(world)
        if not self._targets:
            self._targets = self.read(world)
        self._targets |= sent
        goal = np.array([self._targets[key] for key in self.keys]) / self._scale
        longest = float(np.max(np.abs(goal - measured) / np.asarray(self.arm.speed)))
        numbers = list(goal)
        if self.gripper is not None:
            numbers.append(1.0 - 2.0 * self._targets["gripper.pos"] / 100.0)
        world.command(SLOT, np.array([numbers]), np.array([max(1, math.ceil(longest / world.tick))]))

    def go_on(self, world: World) -> None:
        """Servos hold."""

    def file(self) -> dict[str, Any]:
        """Its part of a world file."""
        joints: dict[str, Any] = {"arm": [{"key": key, "unit": self.unit} for key in self.keys]}
        if self.gripper is not None:
            joints[self.gripper[0]] = {"key": "gripper.pos", "open": 100, "closed": 0}
        return {"joints": joints}

    def _joints(self, world: World) -> np.ndarray:
        stream = f"{self.robot}/joint_pos"
        return np.asarray(world.observe(SLOT, {stream: Stream()})[stream][0], dtype=float)


def _ends(group: Group) -> tuple[float, float]:
    """The opening of a gripper that is shut, and of one that is open."""
    low, high = sum(group.low), sum(group.high)
    return (high, low) if group.shut == "high" else (low, high)
