"""What can be named in a study."""

from __future__ import annotations

import inspect
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.registry import BUILTIN, names, resolve

__all__ = ["catalogue"]


def catalogue(what: str) -> list[dict[str, Any]]:
    """Everything of a kind (tasks, robots, factors, policies, worlds, transforms): its name and a line about it."""
    if what not in BUILTIN:
        raise UsageError(f"list: {what!r} is not a kind of thing; {suggest(what, BUILTIN)}")
    if what == "worlds":
        from foretell.sim.params import load_world

        return [{"name": name, "about": " ".join(load_world(name).about.split())} for name in BUILTIN["worlds"]]
    found = []
    for name in names(what):
        thing = resolve(what, name)
        about = (inspect.getdoc(thing) or "").partition("\n")[0]
        entry: dict[str, Any] = {"name": name, "about": about}
        if what == "tasks":
            entry |= {
                "instruction": thing.instruction,
                "stages": {stage.name: stage.threshold for stage in thing.stages},
                "time_limit": thing.time_limit,
                "action_rate": thing.action_rate,
                "controller": thing.controller,
            }
        if what == "factors":
            entry |= {
                "changes": thing.changes,
                "nominal": thing.nominal,
                "extreme": thing.extreme,
                "severity_at_most": thing.most,
                "source": thing.source,
            }
        found.append(entry)
    if what == "policies":
        from foretell.zoo import about

        found += [{"name": f"zoo:{name}", **said} for name, said in about().items()]
    return found
