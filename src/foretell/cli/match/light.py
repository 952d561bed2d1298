"""Take the direction and colour of the light from a picture.

Examples:
    foretell match light a.png --task lift --camera front -o light.png
    foretell match light a.png --task lift --camera front --world lab.yaml
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Switch, named

__all__ = ["main"]


def main(
    *,
    image: Annotated[Path, tyro.conf.Positional, named("IMAGE")],
    task: Annotated[str, named("TASK")],
    camera: Annotated[str, named("CAMERA")],
    parts: Annotated[tuple[str, ...], named("PART ...", default="all that the camera sees")],
    object: Annotated[str | None, named("NAME", default="none")],
    mask: Annotated[Path | None, named("MASK.png", default="none")],
    box: Annotated[tuple[int, ...], named("LEFT TOP RIGHT BOTTOM")],
    layout: Annotated[int | None, named("N", default="the middle of where the task puts objects")],
    insist: Switch,
    world: Annotated[Path | None, named("WORLD.yaml", default="none")],
    out: Annotated[Path | None, named("PICTURE.png", default="nothing is drawn", short="-o")],
    json_: Json = False,
) -> None:
    """Fit light from everywhere and one light from far away to the shading of parts whose shape is known.

    Args:
        image: A picture of the camera. Of a video, the first frame counts.
        task: The task, as `foretell list tasks` names it.
        camera: The camera of the world that took the picture.
        parts: Robots, objects or furniture to fit to. Round ones tell most.
        object: An object that does not lie as in the layout. It is located as `foretell match scenario` does it.
        mask: A picture that is bright where this object is seen.
        box: A box around it, in pixels, if there is no mask.
        layout: The published layout that says where objects are.
        insist: Take a pose at which mask and silhouette do not agree (an overlap below 85 %), and write a light that
            explains little.
        world: A world file to write or extend. Its camera and its looks hold already.
        out: The picture to write: the photograph, the world before, and the world after.
    """
    from foretell.match import light

    lit = light(
        image, task=task, camera=camera, parts=parts, object=object, mask=mask, box=box, layout=layout, insist=insist,
        world=world, out=out,
    )  # fmt: skip
    print(json.dumps(lit.to_dict(), indent=2) if json_ else lit.text())
