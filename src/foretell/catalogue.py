"""What can be named in a study."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.registry import BUILTIN, names, resolve
from foretell.world_file import SHIPPED, file_of

__all__ = ["catalogue"]


def catalogue(what: str) -> list[dict[str, Any]]:
    """Everything of a kind (tasks, suites, robots, factors, policies, adapters, presets, worlds, transforms): name and
    a line about it."""
    if what not in BUILTIN:
        raise UsageError(f"list: {what!r} cannot be listed; {suggest(what, BUILTIN)}")
    if what == "worlds":
        return [_world(name) for name in names("worlds")]
    entries = []
    for name in names(what):
        thing = resolve(what, name)
        about = thing.about if what == "suites" else (inspect.getdoc(thing) or "").partition("\n")[0]
        entry: dict[str, Any] = {"name": name, "about": about}
        if what == "suites":
            entry["tasks"] = list(thing.tasks)
        if what == "tasks":
            task = thing() if isinstance(thing, type) else thing
            entry |= {
                "instruction": thing.instruction,
                "stages": {stage.name: stage.threshold for stage in thing.stages},
                "time_limit": thing.time_limit,
                "action_rate": thing.action_rate,
                "controller": thing.controller,
                "layouts": len(task.layouts()),
            }
        if what == "factors":
            entry |= {
                "changes": thing.changes,
                "nominal": thing.nominal,
                "extreme": thing.extreme,
                "severity_at_most": thing.most,
                "source": thing.source,
            }
        entries.append(entry)
    if what == "policies":
        from foretell.zoo import about as zoo

        entries += [{"name": f"zoo:{name}", **card} for name, card in zoo().items()]
    return entries


def _world(name: str) -> dict[str, Any]:
    """A world that comes with foretell has a file that says what it is about; that of a plug-in is its class."""
    cls = resolve("worlds", name)
    file = file_of(name) if name in SHIPPED else None
    about = file.about if file is not None else (inspect.getdoc(cls) or "").partition("\n")[0]
    can, needs = (
        sorted(values) if isinstance(values := getattr(cls, a, ()), Collection) else [] for a in ("can", "needs")
    )
    return {"name": name, "about": " ".join(about.split()), "can": can, "needs": needs}
