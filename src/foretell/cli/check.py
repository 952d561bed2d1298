"""Check that a policy, a task or a world works as it must.

Examples:
    foretell check policy my_policy.py:MyPolicy --task can
    foretell check policy "{use: ws://127.0.0.1:8000, preset: libero}"
    foretell check policy expert --task widowx_stack_cube --pitfalls all
    foretell check task my_task.py:MyTask
    foretell check world my_robot.yaml --task widowx_carrot_on_plate --connect
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from foretell.cli._flags import Json, Switch, World, choice, named
from foretell.errors import UsageError

if TYPE_CHECKING:
    from foretell.checks.report import Finding

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
    probes: Switch,
    json_: Json = False,
) -> None:
    """Check a policy, a task or a world. The exit code is 1 if anything is wrong.

    Args:
        what: What to check.
        name: Its name, package.module:Class or file.py:Class. A world may be a world file, and a policy
            "{use: NAME, ...}" with options as in a study.
        task: The task on which a policy or a world is checked.
        world: The world in which a policy or a task is checked.
        controller: The controller that moves the robot while a policy is checked.
        pitfalls: Run a policy with mistakes in its conventions instead, and print what each costs: `all`, or names
            separated by commas.
        probes: Compare the policy's conventions with the scripted expert's. This is always done for a policy that a
            server or another process holds.
        connect: Connect to a robot and read it. Nothing is sent, and nothing moves.
    """
    from foretell.checks import check

    report = check(
        what,
        _read(name),
        task=task,
        world=world,
        controller=controller,
        pitfalls=pitfalls,
        connect=connect,
        probes=probes,
    )
    if json_:
        print(json.dumps(report.to_dict(), indent=2))
    else:
        print(report.subject)
        marks = "✗✓" if (sys.stdout.encoding or "").lower().startswith("utf") else "x+"
        wide = max(len(finding.name) for finding in report.findings)
        for finding in report.findings:
            print(f"  {marks[finding.passed]} {finding.name:<{wide}}  {finding.detail}{_code(finding)}")
        failed = sum(not finding.passed for finding in report.findings)
        print(f"{failed} of {len(report.findings)} failed" if failed else f"all {len(report.findings)} passed")
    if not report.ok:
        raise SystemExit(1)


def _read(name: str) -> str | dict[str, Any]:
    """A policy with its options may be written as in a study."""
    import yaml

    if not name.startswith("{"):
        return name
    try:
        given = yaml.safe_load(name)
    except yaml.YAMLError:
        given = None
    if not isinstance(given, dict) or not isinstance(given.get("use"), str):
        raise UsageError(f"name: {name!r:.200} should look like {{use: ws://127.0.0.1:8000, preset: libero}}")
    return given


def _code(finding: Finding) -> str:
    """What comes after a finding's words, if they do not end with the code."""
    return f" [code: {finding.code}]" if finding.code and "[code: " not in finding.detail else ""
