"""Where things start: objects and arm, moved from where the scenario has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given, targets
from foretell.registry import resolve
from foretell.rotation import from_yaw, multiply
from foretell.scenario import Placement, Scenario
from foretell.tasks.task import Task

__all__ = ["HeadTilt", "ObjectPose", "RobotInit"]


class ObjectPose(Factor):
    """Shift of the objects that are handled; a value is object -> {pos (x, y in m), yaw (rad)}."""

    name = "Object_Pose"
    changes = "physics"
    nominal, extreme = "0", "up to 0.02 m along x and y, 15 degrees"
    source = "LIBERO-PRO and Factor World move objects; the range is our own, within reach of all tasks"
    most = 1.5

    def obstacle(self, task: Task) -> str | None:
        return None if targets(task, "MO") else "it has no object with role MO"

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, Any]:
        reach = np.array([0.02, 0.02, math.radians(15)])
        drawn = {name: severity * rng.uniform(-reach, reach) for name in targets(task, "MO")}
        return {name: {"pos": [float(x), float(y)], "yaw": float(yaw)} for name, (x, y, yaw) in drawn.items()}

    def place(self, value: Any, placements: Mapping[str, Placement], task: Task) -> Mapping[str, Placement]:
        changed = dict(placements)
        for name, by in value.items():
            was = placements[name]
            (x, y, z), (dx, dy) = was.pos, by["pos"]
            quat = was.quat
            if by["yaw"]:
                w, i, j, k = multiply(from_yaw(np.asarray(by["yaw"])), np.asarray(was.quat)).tolist()
                quat = (w, i, j, k)
            changed[name] = was.model_copy(update={"pos": (x + dx, y + dy, z), "quat": quat})
        return changed

    def card(self, value: Any) -> str:
        return "; ".join(
            f"move {name} by x {100 * v['pos'][0]:+.1f}, y {100 * v['pos'][1]:+.1f} cm, "
            f"turn it by {math.degrees(v['yaw']):+.0f}°"
            for name, v in value.items()
        )


class RobotInit(Factor):
    """Where the arm starts; a value is robot -> rad added to each joint."""

    name = "Robot_Init"
    changes = "physics"
    nominal, extreme = "0", "up to 0.1 rad in every joint"
    source = "LIBERO-Plus: Robot Initial States; the range is our own, five standard deviations of the usual start"
    most = 1.5

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, list[float]]:
        return {
            name: (severity * rng.uniform(-0.1, 0.1, len(start))).tolist()
            for name, start in sorted(scenario.start.items())
            if name in task.robots
        }

    def start(self, value: Any, start: Mapping[str, tuple[float, ...]], task: Task) -> Mapping[str, tuple[float, ...]]:
        moved = {name: tuple(np.add(start[name], by).tolist()) for name, by in value.items() if name in start}
        return {**start, **moved}

    def card(self, value: Any) -> str:
        return "; ".join(
            f"start {name} with its joints moved by {', '.join(f'{math.degrees(v):+.1f}°' for v in joints)}"
            for name, joints in value.items()
        )


class HeadTilt(Factor):
    """How far the robot looks down; a value is robot -> rad added to the tilt of its head."""

    name = "Head_Tilt"
    changes = "physics"
    nominal, extreme = "0", "up to 0.15 rad, up or down"
    source = "SIMPLER: two camera variants, 0.15 rad down and 0.12 rad up"
    most = 2.0
    given, limits = "number", (-0.5, 0.5)

    def obstacle(self, task: Task) -> str | None:
        return super().obstacle(task) or (None if _heads(task) else "its robot has no head that tilts")

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, float]:
        low, high = self.span(task, (-0.15, 0.15))
        return {
            name: float(given.pick(rng)) if given else float(severity * rng.uniform(low, high)) for name in _heads(task)
        }

    def start(self, value: Any, start: Mapping[str, tuple[float, ...]], task: Task) -> Mapping[str, tuple[float, ...]]:
        turned = dict(start)
        for name, by in value.items():
            *pan, tilt = start[f"{name}/head"]
            turned[f"{name}/head"] = (*pan, tilt + by)
        return turned

    def card(self, value: Any) -> str:
        return "; ".join(
            f"tilt the head of {name} by {math.degrees(by):+.1f}° (down is positive)" for name, by in value.items()
        )


def _heads(task: Task) -> list[str]:
    """Robots of a task with a head whose last joint tilts it."""
    return sorted(name for name, mount in task.robots.items() if "head" in resolve("robots", mount.robot).groups)
