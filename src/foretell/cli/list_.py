"""List tasks, suites, robots, factors, policies or adapters.

Examples:
    foretell list
    foretell list tasks
    foretell list factors
    foretell list policies --json
"""

from __future__ import annotations

import json
from typing import Annotated

import tyro

from foretell.cli._flags import Json, named

__all__ = ["main"]


def main(
    *,
    what: Annotated[str | None, tyro.conf.Positional, named("[KIND]", default="an overview")],
    json_: Json = False,
) -> None:
    """List the names that a study may use, each with a line about it. Without KIND, list the kinds.

    Args:
        what: What to list: tasks, suites, robots, rooms, controllers, worlds, policies, adapters, presets, factors,
            transforms or engines.
    """
    from foretell.catalogue import catalogue

    answer = catalogue(what)
    if json_:
        print(json.dumps(answer, indent=2))
        return
    width = max(len(entry["name"]) for entry in answer)
    if what is None:
        for kind in answer:
            print(f"foretell list {kind['name']:<{width}}  {kind['count']:>3}  {kind['about']}")
        return
    for entry in answer:
        print(f"{entry['name']:<{width}}  {entry['about']}")
    if what == "factors":
        from foretell.factors.arms import COMPOUND

        print(f"compound scenes, as arms: {', '.join(COMPOUND)}")
