"""The process that draws what cameras would see: `python -m foretell.person.overlay_process`, started by `Overlay`.

It is a module of its own, which nothing else imports: Python warns on the person's screen where a module that a package
has imported is run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import ForetellError
from foretell.process import serve
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.world import Drawing, World

__all__ = ["main"]


def main() -> None:
    """The process: an order a line in, an answer a line out. The world is kept for the next scene."""
    wire, orders = serve()
    os.nice(10)
    worlds: dict[str, World] = {}
    for line in os.fdopen(orders):
        order = json.loads(line)
        try:
            trouble = _draw(_world(worlds, order), order)
        except ForetellError as error:
            trouble = dict.fromkeys(order["files"], str(error))
        except Exception as error:  # a world of one's own may raise anything; a picture is no reason to end a study
            trouble = dict.fromkeys(order["files"], f"{type(error).__name__}: {error}")
        wire.write(json.dumps({"scene": order["scene"], "cameras": trouble}) + "\n")


def _world(worlds: dict[str, World], order: dict[str, Any]) -> World:
    from foretell.world_file import make_world

    name = json.dumps([order["task"], order["world"]])
    if name not in worlds:
        for old in worlds.values():
            old.close()
        worlds.clear()
        worlds[name] = make_world(
            order["world"], resolve("tasks", order["task"])(), slots=1, threads=1, controller=None
        )
    return worlds[name]


def _draw(world: World, order: dict[str, Any]) -> dict[str, str]:
    """Camera -> why it cannot be drawn, or nothing."""
    from foretell.objects.png import write_png
    from foretell.spec import Stream

    if not isinstance(world, Drawing):
        return dict.fromkeys(order["files"], f"world {order['world']!r} cannot draw")
    world.require_drawing()
    world.reset(np.array([0], dtype=np.int32), [Scenario.model_validate(order["scenario"])], [0])
    trouble: dict[str, str] = {}
    for camera, path in order["files"].items():
        if f"{camera}/rgb" not in world.features:
            trouble[camera] = f"world {order['world']!r} has no camera {camera!r}"
            continue
        height, width = order["sizes"][camera]
        picture = world.draw(0, f"{camera}/rgb", Stream((height, width, 3)))
        Path(f"{path}.part").write_bytes(write_png(picture, level=6))
        os.replace(f"{path}.part", path)
        trouble[camera] = ""
    return trouble


if __name__ == "__main__":
    main()
