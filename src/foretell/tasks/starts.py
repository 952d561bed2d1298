"""Where what has joints may start: the joints of robots and fixtures with their ranges, by the names of
`Scenario.start`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.counting import counted
from foretell.errors import UsageError, suggest
from foretell.objects import Asset, Fixture, asset
from foretell.registry import resolve
from foretell.robots import Robot
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["Startable", "check_start", "robot_kinds", "startable", "startable_of"]

ROUNDING = 1e-6
"""How far a start may lie outside its range, rad or m: files hold rounded numbers."""


@dataclass(frozen=True, kw_only=True)
class Startable:
    """Joints that a scenario may start somewhere."""

    joints: tuple[str, ...]
    """Full names."""
    home: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    units: tuple[str, ...]


def startable(robots: Mapping[str, Robot | type[Robot]], placed: Mapping[str, Asset]) -> dict[str, Startable]:
    """What has joints, by the names of `Scenario.start`. placed: object or fixture -> its asset."""
    starts: dict[str, Startable] = {}
    for name, robot in robots.items():
        for key, group in robot.groups.items():
            starts[name if key == robot.first() else f"{name}/{key}"] = Startable(
                joints=tuple(f"{name}/{joint}" for joint in group.joints),
                home=group.home,
                low=group.low,
                high=group.high,
                units=(group.unit,) * len(group.joints),
            )
    for name, part in placed.items():
        if isinstance(part, Fixture) and part.joints:
            joints = part.joints.values()
            starts[name] = Startable(
                joints=tuple(f"{name}/{joint}" for joint in part.joints),
                home=tuple(joint.home for joint in joints),
                low=tuple(joint.low for joint in joints),
                high=tuple(joint.high for joint in joints),
                units=tuple(joint.unit for joint in joints),
            )
    return starts


def startable_of(task: Task) -> dict[str, Startable]:
    """What has joints in the scene of a task."""
    placed = {name: asset(placement.asset) for name, placement in task.scenario(0).placements.items()}
    return startable(robot_kinds(task), placed)


def robot_kinds(task: Task) -> dict[str, type[Robot]]:
    """Name -> class of each robot of a task."""
    kinds: dict[str, type[Robot]] = {}
    for name, mount in task.robots.items():
        kind = resolve("robots", mount.robot)
        if not (isinstance(kind, type) and issubclass(kind, Robot) and kind.groups):
            raise UsageError(
                f"robots: {mount.robot!r:.200} should be a subclass of foretell.robots.Robot with `groups`"
            )
        kinds[name] = kind
    return kinds


def check_start(scenario: Scenario, known: Mapping[str, Startable]) -> None:
    """Raises UsageError for a start that the scene does not have, or that lies outside the range of its joint."""
    for name, values in scenario.start.items():
        if name not in known:
            raise UsageError(f"scenario: start: the scene has no {name!r}; {suggest(name, known)}")
        part = known[name]
        if len(values) != len(part.joints):
            joints = f"{counted(len(part.joints), 'joint')} ({', '.join(part.joints)})"
            raise UsageError(f"scenario: start: {name}: {counted(len(values), 'value')} given, but it has {joints}")
        for joint, value, low, high, unit in zip(part.joints, values, part.low, part.high, part.units, strict=True):
            if not low - ROUNDING <= value <= high + ROUNDING:
                raise UsageError(
                    f"scenario: start: {name}: joint {joint!r} cannot start at {value:g} {unit}: its range is "
                    f"{low:g} to {high:g} {unit}"
                )
