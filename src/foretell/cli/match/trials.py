"""Measure where objects lay in every trial of a run on a robot.

Examples:
    foretell match trials runs/real
    foretell match trials runs/real --world lab.yaml --camera third
"""

from __future__ import annotations

import json
import sys
from typing import Annotated

from foretell.cli._flags import Json, Run, named

__all__ = ["main"]


def main(
    *,
    run: Run,
    task: Annotated[str | None, named("TASK", default="the only one of the run")],
    camera: Annotated[str | None, named("CAMERA", default="the robot's only one")],
    world: Annotated[str | None, named("WORLD", default="the overlay of the robot's world file")],
    object: Annotated[tuple[str, ...], named("NAME ...", default="all that move")],
    json_: Json = False,
) -> None:
    """Find where the objects lay in each trial, in the first frame that the robot's camera kept. No row changes.

    Args:
        task: The task. One of your own needs file.py:Class, because a run folder loads no code.
        camera: The camera of the world that took the frames.
        world: The world file with the matched camera.
        object: The objects to locate.
    """
    from foretell.match import trials

    measured = trials(
        run, task=task, camera=camera, world=world, object=object, notify=lambda text: print(text, file=sys.stderr)
    )
    print(json.dumps(measured.to_dict(), indent=2) if json_ else measured.text())
