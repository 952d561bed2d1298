"""List what there is: tasks, robots, factors, policies, worlds, transforms.

Examples:
    foretell list tasks
    foretell list factors
    foretell list policies --json
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

import tyro

__all__ = ["main"]


def main(
    what: Annotated[Literal["tasks", "robots", "factors", "policies", "worlds", "transforms"], tyro.conf.Positional],
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """List what can be named in a study.

    Args:
        what: Which kind of thing.
        json_: Print a list of objects instead of lines.
    """
    from foretell.catalogue import catalogue

    found = catalogue(what)
    if json_:
        print(json.dumps(found, indent=2))
        return
    width = max(len(entry["name"]) for entry in found)
    for entry in found:
        print(f"{entry['name']:<{width}}  {entry['about']}")
    if what == "factors":
        from foretell.factors.arms import COMPOUND

        print(f"compound scenes, as arms: {', '.join(COMPOUND)}")
