"""Does a policy, a task or a world keep its contract? `foretell.check` and `foretell check` ask here.

    foretell.check("policy", "onnx:model.onnx", task="can")
    foretell.check("task", "stack.py:Stack")
    foretell.check("world", "lab.yaml")

The package is `checks` because `foretell.check` is the function.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.checks.pitfalls import check_pitfalls
from foretell.checks.policy import check_policy
from foretell.checks.report import Finding, Report
from foretell.checks.robot import check_robot
from foretell.checks.task import check_task
from foretell.checks.world import check_world
from foretell.errors import UsageError, suggest
from foretell.hardware.world import RobotWorld
from foretell.tasks.task import Task
from foretell.world_file import world_class

__all__ = ["Finding", "Report", "check", "check_pitfalls", "check_policy", "check_robot", "check_task", "check_world"]

CHECKS = ("policy", "task", "world")


def check(
    what: str,
    name: Any,
    *,
    task: str | Task | type[Task] = "lift",
    world: Any = "mujoco",
    controller: str | None = None,
    options: Mapping[str, Any] | None = None,
    pitfalls: str | None = None,
    connect: bool = False,
    probes: bool = False,
) -> Report:
    """Check a policy, a task or a world. Give a name or an object.

    `task`: the task on which a policy or a world is checked. `world`: the world in which a policy or a task is checked.
    `controller` moves the robot while a policy is checked (default: the controller of the task). `options` go to the
    policy. `pitfalls` (`all`, or names separated by commas) runs a policy with mistakes in its conventions instead, to
    see what each costs. `connect` connects to a robot and reads it, for a world of kind robot; nothing is sent.
    `probes` compares a policy's conventions with the scripted expert's, which is always done for a policy that a server
    or another process holds.
    """
    if what not in CHECKS:
        raise UsageError(f"check: {what!r} cannot be checked; {suggest(what, CHECKS)}")
    if pitfalls and what != "policy":
        raise UsageError(f"check: `pitfalls` is for a policy, not for a {what}")
    robot = what == "world" and _drives(name)
    if connect and not robot:
        raise UsageError(f"check: `connect` is for a world of kind robot, and {name!s:.100} is none")
    if pitfalls:
        return check_pitfalls(name, task=task, world=world, options=options, controller=controller, pitfalls=pitfalls)
    if what == "policy":
        return check_policy(name, task=task, world=world, options=options, controller=controller, probes=probes)
    if robot:
        return check_robot(name, task, connect=connect)
    return check_task(name, world=world) if what == "task" else check_world(name, task=task)


def _drives(world: Any) -> bool:
    """Whether a world is a robot's."""
    try:
        return isinstance(world, str | Path | Mapping) and world_class(world) is RobotWorld
    except UsageError:  # the check says why
        return False
