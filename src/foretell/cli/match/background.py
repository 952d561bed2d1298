"""Make a clean plate from a video in which the robot moves.

Examples:
    foretell match background table.mp4 -o plate.png
    foretell match background table.mp4 -o plate.png --hide 0 0 200 480
    foretell match background table.mp4 -o plate.png --free 0 0 320 480 0 2.5
    foretell match background table.mp4 -o plate.png --world lab.yaml
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, named

__all__ = ["main"]


def main(
    *,
    video: Annotated[Path, tyro.conf.Positional, named("VIDEO")],
    out: Annotated[Path | None, named("PLATE.png", default="nothing is written", short="-o")],
    free: Annotated[tuple[float, ...], named("LEFT TOP RIGHT BOTTOM FROM TO ...", default="always")],
    hide: Annotated[tuple[int, ...], named("LEFT TOP RIGHT BOTTOM ...", default="nothing")],
    mask: Annotated[Path | None, named("MASK.png", default="none")],
    camera: Annotated[str | None, named("CAMERA", default="all cameras")],
    world: Annotated[Path | None, named("WORLD.yaml", default="none")],
    task: Annotated[str | None, named("TASK", default="the camera is not checked")],
    json_: Json = False,
) -> None:
    """Take what moves out of a video of a fixed camera: each pixel gets its median colour.

    Args:
        video: A video of the scene, from a camera that stands still, in which the robot moves out of the way.
        out: The picture to write.
        free: Boxes, in pixels, and when each is free of the robot, in seconds.
        hide: Boxes, in pixels, around what rests for the whole video and should vanish.
        mask: A picture of the video's size that is bright there.
        camera: The camera of the world that the video was taken with.
        world: A world file to write or extend. It shows the plate behind simulated robots and objects.
        task: A task that should have this camera, as `foretell list tasks` names it.
    """
    from foretell.match import background

    plate = background(video, out=out, free=free, hide=hide, mask=mask, camera=camera, world=world, task=task)
    print(json.dumps(plate.to_dict(), indent=2) if json_ else plate.text())
