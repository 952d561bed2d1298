"""What a lab keeps the same in all scenarios that are drawn: one cube for all, nothing turned, the robot at home."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from foretell.objects import asset
from foretell.registry import resolve
from foretell.rotation import turned
from foretell.scenario import Placement, Scenario
from foretell.tasks.task import Task

__all__ = ["FIXES", "fixed", "home"]


def _size(scenario: Scenario, task: Task) -> Scenario:
    """Every object at its own size, resting where it lay."""

    def own(p: Placement) -> Placement:
        x, y, z = p.pos
        rest = asset(p.asset).rest
        return p.model_copy(update={"pos": (x, y, z + rest * (1.0 - p.scale[2])), "scale": (1.0, 1.0, 1.0)})

    return scenario.model_copy(update={"placements": {name: own(p) for name, p in scenario.placements.items()}})


def _turn(scenario: Scenario, task: Task) -> Scenario:
    """No object turned about the vertical."""
    straight = {n: p.model_copy(update={"quat": turned(p.quat, -p.yaw)}) for n, p in scenario.placements.items()}
    return scenario.model_copy(update={"placements": straight})


def _start(scenario: Scenario, task: Task) -> Scenario:
    """Every robot at home."""
    return scenario.model_copy(update={"start": {**scenario.start, **home(task)}})


def home(task: Task) -> dict[str, tuple[float, ...]]:
    """Where the first groups of a task's robots are at home, as `Scenario.start` has it."""
    robots = {name: resolve("robots", mount.robot) for name, mount in task.robots.items()}
    return {name: tuple(map(float, robot.groups[robot.first()].home)) for name, robot in robots.items()}


FIXES: dict[str, Callable[[Scenario, Task], Scenario]] = {"size": _size, "turn": _turn, "start": _start}
"""What `scenarios: {fix: [...]}` may name."""


def fixed(scenario: Scenario, task: Task, names: Iterable[str]) -> Scenario:
    """The scenario with these the same as in all others."""
    for name in names:
        scenario = FIXES[name](scenario, task)
    return Scenario.model_validate(scenario.model_dump())
