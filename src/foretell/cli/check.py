"""Check that a policy, a task or a world keeps its contract.

Examples:
    foretell check policy my_policy.py:MyPolicy --task can
    foretell check policy onnx:model.onnx
    foretell check task my_task.py:MyTask
    foretell check world my_world.yaml
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import tyro

__all__ = ["main"]


def main(
    what: Annotated[Literal["policy", "task", "world"], tyro.conf.Positional],
    name: Annotated[str, tyro.conf.Positional],
    task: str = "lift",
    world: str = "mujoco",
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Check a policy, a task or a world. Exit code 1 if anything is wrong with it.

    Args:
        what: Which kind of thing.
        name: Its name, or "package.module:Class", or "file.py:Class"; a world may be a world file.
        task: The task a policy or a world is checked on.
        world: The world a policy or a task is checked in.
        json_: Print what was found as JSON.
    """
    from foretell.checks import check_policy, check_task, check_world

    checks = {
        "policy": lambda: check_policy(name, task=task, world=world),
        "task": lambda: check_task(name, world=world),
        "world": lambda: check_world(name, task=task),
    }
    report = checks[what]()
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
