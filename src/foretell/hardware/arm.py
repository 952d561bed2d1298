"""The body of an arm: the same controllers as in simulation, from measured joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foretell import factors
from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.hardware.body import Body, embodiment
from foretell.hardware.file import RobotFile
from foretell.hardware.mapping import ArmMap
from foretell.hardware.reading import Reading
from foretell.robots.controller import controllers, counted
from foretell.robots.kinematics import Kinematics
from foretell.rotation import multiply, rotate
from foretell.scenario import Scenario
from foretell.spec import Feature
from foretell.tasks.starts import check_start, startable
from foretell.tasks.task import Task
from foretell.world import Verdict

__all__ = ["ArmBody"]

SLOT = np.zeros(1, dtype=np.int32)
SMOOTH_S = 0.05
"""Time over which measured speeds are averaged, s: positions are read with steps of an encoder."""


class ArmBody(Body):
    """An arm in one trial. A person judges it: what happens to objects is not measured."""

    def __init__(self, file: RobotFile, task: Task, controller: str, tick: float):
        self.name, self.robot = embodiment(file, task)
        self.map = ArmMap(file, self.robot)
        self.controllers, self.action = controllers(controller, {self.name: self.robot}, 1, tick)
        for _, group in self.controllers:
            if group not in self.map.groups:
                raise UsageError(
                    f"{file.name}: joints: the controller {controller!r} moves group {group!r}, which is not listed; "
                    f"it has {', '.join(self.robot.groups[group].joints)}"
                )
        self._task, self._mount = task, task.robots[self.name]
        self._tools = {g: Kinematics(self.robot, 1, g) for g in self.map.groups if self.robot.groups[g].tool}
        own = {f: feature for f, feature in self.robot.features.items() if feature.group in self.map.groups}
        self.features: dict[str, Feature] = {f"{self.name}/{name}": feature for name, feature in own.items()}
        self._homes = startable({self.name: self.robot}, {})
        self._scenario: Scenario | None = None
        self._at = self._speed = np.zeros(len(self.map.channels))
        self._read_at = 0.0
        self._hold = self._at.copy()

    def begin(self, scenario: Scenario) -> None:
        own = {part: values for part, values in scenario.start.items() if part.partition("/")[0] == self.name}
        check_start(scenario.model_copy(update={"start": own}), self._homes)
        self._scenario = scenario

    @property
    def pose(self) -> Floats:
        """(k,) the channels where the scenario starts."""
        assert self._scenario is not None, "there is no trial"
        homes = {part: has.home for part, has in self._homes.items()}
        begins: Mapping[str, tuple[float, ...]] = factors.starts(self._scenario, homes, self._task)
        goal = np.zeros(len(self.map.channels))
        for name, where in self.map.groups.items():
            group = self.robot.groups[name]
            joints = np.asarray(begins[self.name if name == self.robot.first() else f"{self.name}/{name}"], dtype=float)
            joints = np.clip(joints, group.low, group.high)
            goal[where] = self.map.targets(name, group.measured(joints[None])[0])
        return goal

    def start(self, reading: Reading) -> None:
        self._at, self._speed, self._read_at = reading.channels, np.zeros_like(reading.channels), reading.at
        self._hold = reading.channels.copy()
        for (_, group), controller in self.controllers.items():
            controller.reset(SLOT, self._motors(group)[None], np.zeros(1, dtype=np.int64))

    def measure(self, reading: Reading) -> None:
        if (passed := reading.at - self._read_at) > 0:
            fresh = (reading.channels - self._at) / passed
            share = 1.0 - np.exp(-passed / SMOOTH_S)
            self._speed = self._speed + share * (fresh - self._speed)
            self._at, self._read_at = reading.channels, reading.at

    def _motors(self, group: str) -> Floats:
        """(width,) measured positions as the group's actuators have them."""
        motors: Floats = self.robot.groups[group].measured(self.map.joints(group, self._at)[None])[0]
        return motors

    def read(self, name: str) -> Floats:
        feature = self.features[name]
        assert feature.group is not None
        group = self.robot.groups[feature.group]
        joints = self.map.joints(feature.group, self._at)
        if feature.kind == "scalar":
            return np.array([joints.sum()])
        if feature.kind == "joint":
            if not feature.rate:
                return joints
            return self.map.joints(feature.group, self._at + self._speed) - joints
        pos, quat = self._tools[feature.group].forward(SLOT, joints[None])
        assert group.tool is not None
        base = np.asarray(self._mount.quat, dtype=float)[None]
        if feature.kind == "position":
            return np.asarray(np.asarray(self._mount.pos) + rotate(base, pos)[0])
        return np.asarray(multiply(base, quat)[0])

    def command(self, action: Floats, ticks: int) -> None:
        at = 0
        for (_, group), controller in self.controllers.items():
            speed = self.map.joints(group, self._at + self._speed) - self.map.joints(group, self._at)
            v = self.robot.groups[group].measured(speed[None])
            own = action[None, at : at + controller.size]
            controller.command(SLOT, own, self._motors(group)[None], v, np.array([ticks]))
            at += controller.size

    def targets(self, ticks: int) -> Floats:
        wanted = self._hold.copy()  # what no action commands holds its start
        for (_, group), controller in self.controllers.items():
            motors = controller.targets(SLOT, ticks)[0, -1]
            wanted[self.map.groups[group]] = self.map.targets(group, motors)
        return wanted

    def verdict(self) -> Verdict:
        return Verdict(success=None, score=None, stages={}, metrics=counted(self.controllers.values(), SLOT))

    def state(self) -> Floats:
        return np.concatenate([self._at, self._speed])

    def restore(self, state: Floats) -> None:
        self._at, self._speed = np.split(np.asarray(state, dtype=float), 2)

    def trace(self) -> dict[str, float]:
        return {f"measured/{name}": float(value) for name, value in zip(self.map.channels, self._at, strict=True)}
