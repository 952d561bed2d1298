"""Worlds by what a study says: a name, a world file, or a class of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.registry import names, resolve
from foretell.scenario import Scenario, digest
from foretell.sim.params import load_world_file
from foretell.tasks.task import Task

__all__ = ["make_world", "params_of"]


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


def params_of(params: dict[str, Any], scenario: Scenario) -> dict[str, Any]:
    """A world's parameters as they stand in a row. Of the scenarios that the world was fitted to, the row says whether
    its own is one and how many there are. The list may be long: it is in the run's provenance."""
    if "fitted_to" not in params:
        return params
    listed = params["fitted_to"]
    seen = not {scenario.id, scenario.parent}.isdisjoint(listed)
    return {**params, "fitted_to": {"seen": seen, "count": len(listed), "digest": digest(listed)}}


def _kind(path: Path) -> str:
    contents = load_world_file(path)
    return str(contents.get("kind", "mujoco")) if isinstance(contents, dict) else "mujoco"
