"""Make a task from what a study says of it."""

from __future__ import annotations

from copy import copy
from typing import Any

from foretell.errors import UsageError
from foretell.fingerprint.loaded import loading, remember
from foretell.registry import resolve
from foretell.tasks.task import Task

__all__ = ["make_task"]


def make_task(use: str, time_limit: float | None = None) -> Any:
    """The task of a name, with its own time limit or another one."""
    made = resolve("tasks", use)
    try:
        with loading() as opened:
            task = made() if isinstance(made, type) else made
    except Exception as error:
        raise UsageError(f"tasks: {use} could not be made: {type(error).__name__}: {error}") from error
    if not isinstance(task, Task):
        raise UsageError(f"tasks: {use} is a {type(task).__name__}, it should be a foretell.Task")
    if time_limit is not None:
        task = copy(task)  # the registry may hold the task itself
        task.time_limit = time_limit
    remember(task, opened)
    return task
