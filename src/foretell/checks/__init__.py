"""Does a policy, a task or a world keep its contract? `foretell.check` and `foretell check` ask here.

    foretell.check("policy", "onnx:model.onnx", task="can")
    foretell.check("task", "stack.py:Stack")
    foretell.check("world", "lab.yaml")

The package is `checks` because `foretell.check` is the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foretell.checks.policy import check_policy
from foretell.checks.report import Finding, Report
from foretell.checks.task import check_task
from foretell.checks.world import check_world
from foretell.errors import UsageError, suggest

__all__ = ["Finding", "Report", "check", "check_policy", "check_task", "check_world"]

CHECKS: dict[str, Callable[..., Report]] = {"policy": check_policy, "task": check_task, "world": check_world}


def check(what: str, name: Any, **options: Any) -> Report:
    """Check a policy, a task or a world, by name or as an object. `options` are those of `check_policy` (task,
    world, options, controller), `check_task` (world) or `check_world` (task)."""
    if what not in CHECKS:
        raise UsageError(f"check: {what!r} is not a kind of thing; {suggest(what, CHECKS)}")
    return CHECKS[what](name, **options)
