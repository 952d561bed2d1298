"""Worlds by what a study says: a name, a world file, or a class of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.registry import names, resolve
from foretell.sim.params import load_world_file
from foretell.tasks.task import Task

__all__ = ["make_world"]


def make_world(
    source: str | dict[str, Any], task: Task, *, slots: int, threads: int, controller: str | None = None
) -> Any:
    """The world of a name (`mujoco`, a plug-in's), of a world file, whose `kind` names its class, or of
    "package.module:Class". The class is called with (task, source, slots=, threads=, controller=)."""
    if isinstance(source, dict):
        kind = str(source.get("kind", "mujoco"))
    elif source.endswith((".yaml", ".yml")):
        kind = _kind(Path(source))
    else:
        kind = source
    if kind not in names("worlds") and ":" not in kind:
        raise UsageError(f"world: {kind!r:.200} is not known; {suggest(kind, names('worlds'))}, or a .yaml file")
    return resolve("worlds", kind)(task, source, slots=slots, threads=threads, controller=controller)


def _kind(path: Path) -> str:
    contents = load_world_file(path)
    return str(contents.get("kind", "mujoco")) if isinstance(contents, dict) else "mujoco"
