"""List tasks, suites, robots, factors, policies or adapters.

Examples:
    foretell list tasks
    foretell list factors
    foretell list policies --json
"""

from __future__ import annotations

import json
from typing import Annotated

import tyro

from foretell.cli._flags import Json, choice

__all__ = ["main"]

KINDS = ("tasks", "suites", "robots", "factors", "policies", "adapters", "presets", "worlds", "transforms")


def main(
    *,
    what: Annotated[
        str,
        tyro.conf.Positional,
        choice(*KINDS),
    ],
    json_: Json = False,
) -> None:
    """List the names that a study may use, each with a line about it.

    Args:
        what: What to list.
    """
    from foretell.catalogue import catalogue

    answer = catalogue(what)
    if json_:
        print(json.dumps(answer, indent=2))
        return
    width = max(len(entry["name"]) for entry in answer)
    for entry in answer:
        print(f"{entry['name']:<{width}}  {entry['about']}")
    if what == "factors":
        from foretell.factors.arms import COMPOUND

        print(f"compound scenes, as arms: {', '.join(COMPOUND)}")
