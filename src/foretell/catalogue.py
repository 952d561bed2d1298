"""What can be named in a study."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.registry import names, resolve
from foretell.world_file import SHIPPED, file_of

__all__ = ["KINDS", "catalogue"]

KINDS = {
    "tasks": "what a robot is asked to do",
    "suites": "tasks that are published together",
    "robots": "robots that a task can have",
    "rooms": "where a mobile robot drives; apartment:SEED is drawn from a seed",
    "controllers": "what the actions of a policy mean",
    "worlds": "where episodes run",
    "policies": "what acts; zoo:NAME is trained",
    "adapters": "what turns the inputs and outputs of a policy",
    "presets": "adapters that belong together",
    "factors": "what an arm (perturbation setting) of a study can change",
    "transforms": "what a world does to its pictures",
    "engines": "what runs the episodes of a study",
}
"""What can be listed -> what it is."""


def catalogue(what: str | None = None) -> list[dict[str, Any]]:
    """Everything of a kind (tasks, suites, robots, rooms, controllers, worlds, policies, adapters, presets,
    factors, transforms, engines): name and a line about it. Without a kind: the kinds, with their counts."""
    if what is None:
        return [{"name": kind, "about": about, "count": _count(kind)} for kind, about in KINDS.items()]
    if what not in KINDS:
        raise UsageError(f"list: {what!r} cannot be listed; {suggest(what, KINDS)}")
    if what == "worlds":
        return [_world(name) for name in names("worlds")]
    entries = []
    for name in names(what):
        thing = resolve(what, name)
        about = thing.about if what == "suites" else _sentence(inspect.getdoc(thing) or "")
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
                "layouts": task.layout_count(),
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


def _sentence(text: str) -> str:
    """The first sentence of a text, which may go on in the next line."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", paragraph)[0]


def _count(kind: str) -> int:
    """So many `catalogue(kind)` has. Cards of the zoo are not opened for it: there are many."""
    if kind != "policies":
        return len(names(kind))
    from foretell.zoo.card import MODELS

    return len(names(kind)) + len({path.stem for path in MODELS.glob("*/*.yaml")})


def _world(name: str) -> dict[str, Any]:
    """A world that comes with foretell has a file that says what it is about; that of a plug-in is its class."""
    cls = resolve("worlds", name)
    file = file_of(name) if name in SHIPPED else None
    about = file.about if file is not None else (inspect.getdoc(cls) or "").partition("\n")[0]
    can, needs = (
        sorted(values) if isinstance(values := getattr(cls, a, ()), Collection) else [] for a in ("can", "needs")
    )
    return {"name": name, "about": " ".join(about.split()), "can": can, "needs": needs}
