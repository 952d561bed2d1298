"""Measure where objects lie in the first frame of a trial.

Examples:
    foretell match scenario a.png --task lift --camera front --box 90 80 130 120
    foretell match scenario *.png --task lift --camera front --mask masks -o out
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Switch, World, named

__all__ = ["main"]


def main(
    *,
    image: Annotated[tuple[Path, ...], tyro.conf.Positional, named("IMAGE ...")],
    task: Annotated[str, named("TASK")],
    camera: Annotated[str, named("CAMERA")],
    world: World,
    object: Annotated[tuple[str, ...], named("NAME ...", default="the only object that moves")],
    mask: Annotated[tuple[Path, ...], named("MASK.png|FOLDER ...")],
    box: Annotated[tuple[int, ...], named("LEFT TOP RIGHT BOTTOM ...")],
    layout: Annotated[int | None, named("N", default="the middle of where the task puts objects")],
    insist: Switch,
    out: Annotated[Path | None, named("FILE.json|FOLDER", default="nothing is written", short="-o")],
    json_: Json = False,
) -> None:
    """Find the place and turn at which each object looks as in the picture, by its silhouette, and say how sure it is.

    Args:
        image: Pictures of the camera, before the robot moves. Of a video, the first frame counts.
        task: The task, as `foretell list tasks` names it.
        camera: The camera of the world that took the picture.
        world: The world file with the matched camera.
        object: The objects to locate.
        mask: For each object a picture that is bright where it is seen, or a folder of masks named like the pictures.
        box: For each object a box around it, in pixels, if there is no mask.
        layout: The published layout that says whether objects lie or stand, and where the others are.
        insist: Take a pose at which mask and silhouette do not agree (an overlap below 85 %).
        out: The file to write, with a picture of the result beside it. For several pictures, a folder.
    """
    from foretell.match import scenario

    measured = scenario(
        image, task=task, camera=camera, world=world, object=object, mask=mask, box=box, layout=layout, insist=insist,
        out=out,
    )  # fmt: skip
    print(json.dumps([m.to_dict() for m in measured], indent=2) if json_ else "\n".join(m.text() for m in measured))
