"""Check that a policy, a task or a world works as it must.

Examples:
    foretell check policy my_policy.py:MyPolicy --task can
    foretell check policy expert --task widowx_stack_cube --pitfalls all
    foretell check task my_task.py:MyTask
    foretell check world my_world.yaml
    foretell check world my_robot.yaml --task widowx_carrot_on_plate --connect
"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Switch, World, choice, named

__all__ = ["main"]


def main(
    *,
    what: Annotated[str, tyro.conf.Positional, choice("policy", "task", "world")],
    name: Annotated[str, tyro.conf.Positional, named("NAME")],
    task: Annotated[str, named("TASK")],
    world: World,
    controller: Annotated[str | None, named("NAME", default="the task's own")],
    pitfalls: Annotated[str | None, named("NAMES", default="none")],
    connect: Switch,
    json_: Json = False,
) -> None:
    """Check a policy, a task or a world. The exit code is 1 if anything is wrong.

    Args:
        what: What to check.
        name: Its name, package.module:Class or file.py:Class. A world may be a world file.
        task: The task on which a policy or a world is checked.
        world: The world in which a policy or a task is checked.
        controller: The controller that moves the robot while a policy is checked.
        pitfalls: Run a policy with mistakes in its conventions instead, and print what each costs: `all`, or names
            separated by commas.
        connect: Connect to a robot and read it. Nothing is sent, and nothing moves.
    """
    from foretell.checks import check

    report = check(what, name, task=task, world=world, controller=controller, pitfalls=pitfalls, connect=connect)
    if json_:
        print(json.dumps(report.to_dict(), indent=2))
    else:
        print(report.subject)
        marks = "✗✓" if (sys.stdout.encoding or "").lower().startswith("utf") else "x+"
        wide = max(len(finding.name) for finding in report.findings)
        for finding in report.findings:
            print(f"  {marks[finding.passed]} {finding.name:<{wide}}  {finding.detail}")
        failed = sum(not finding.passed for finding in report.findings)
        print(f"{failed} of {len(report.findings)} failed" if failed else f"all {len(report.findings)} passed")
    if not report.ok:
        raise SystemExit(1)
