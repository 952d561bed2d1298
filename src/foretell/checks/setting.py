"""The task and the world that a check runs on, made as a study makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.policies.make import construct, make_policy
from foretell.study.plan import make_task
from foretell.tasks.task import Task
from foretell.world_file import make_world

__all__ = ["called", "made", "task_of", "world_of"]


def called(thing: Any) -> str:
    """What a report calls a thing that was given by name, as a class, or as an object."""
    if isinstance(thing, Mapping):
        return str(thing.get("use"))
    if isinstance(thing, str):
        return thing
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__


def made(policy: Any, options: Mapping[str, Any] | None) -> Any:
    """A policy by name, class or entry of a study, with its options, or as it is."""
    if isinstance(policy, Mapping):  # as a study writes it
        rest = {name: value for name, value in policy.items() if name not in ("use", "execute")}
        return make_policy(str(policy.get("use")), {**rest, **(options or {})})
    if isinstance(policy, str):
        return make_policy(policy, options)
    return construct(policy, (), options) if isinstance(policy, type) else policy


def task_of(task: Any) -> Any:
    """A task by name, as a class, or as it is."""
    if isinstance(task, str):
        return make_task(task)
    return task() if isinstance(task, type) else task


def world_of(task: Task, world: Any, slots: int, threads: int = 1, controller: str | None = None) -> Any:
    """A world by all that a study may say."""
    source = str(world) if isinstance(world, Path) else world
    return make_world(source, task, slots=slots, threads=threads, controller=controller)
