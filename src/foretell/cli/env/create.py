"""Make the environment of a simulator, with pinned versions.

Examples:
    foretell env create robosuite
    foretell env create metaworld --path envs/metaworld
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, named

__all__ = ["main"]


def main(
    *,
    name: Annotated[str, tyro.conf.Positional, named("NAME")],
    path: Annotated[Path | None, named("FOLDER", default="foretell/envs/NAME in the user's cache folder")],
    json_: Json = False,
) -> None:
    """Make a Python environment and install a simulator in it, with the versions that foretell expects. It uses uv if
    that is installed, else pip. One that is there already stays as it is.

    Args:
        name: The environment, as `foretell env list` names it.
        path: The folder to make. A world file names it as `env`.
    """
    from foretell.env import create

    made = create(name, path, notify=lambda text: print(text, file=sys.stderr))
    if json_:
        print(json.dumps(made.to_dict(), indent=2))
        return
    print(f"{made.name}: {'made' if made.fresh else 'it is there'}, Python {made.python}, in {made.path}")
    for package, version in made.versions.items():
        print(f"  {package} {version}")
