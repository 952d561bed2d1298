"""Take the looks of an object, a robot or a table from a picture.

Examples:
    foretell match texture a.png --task can --camera top --object can --mask m.png
    foretell match texture a.png --task lift --camera front --parts table panda
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
    object: Annotated[str | None, named("NAME", default="none")],
    mask: Annotated[Path | None, named("MASK.png", default="none")],
    box: Annotated[tuple[int, ...], named("LEFT TOP RIGHT BOTTOM")],
    parts: Annotated[tuple[str, ...], named("PART ...", default="none")],
    layout: Annotated[int | None, named("N", default="the middle of where the task puts objects")],
    insist: Switch,
    world: Annotated[Path | None, named("WORLD.yaml", default="none")],
    out: Annotated[Path | None, named("PICTURE.png", default="nothing is drawn", short="-o")],
    json_: Json = False,
) -> None:
    """Put the pixels of an object onto its model, and give parts the colours of theirs.

    Args:
        image: A picture of the camera. Of a video, the first frame counts.
        task: The task, as `foretell list tasks` names it.
        camera: The camera of the world that took the picture.
        object: The object whose looks are taken. It is located as `foretell match scenario` does it.
        mask: A picture that is bright where the object is seen.
        box: A box around the object, in pixels, if there is no mask.
        parts: Robots or furniture, such as `table`, which get the median colours of their pixels.
        layout: The published layout that says whether objects lie or stand.
        insist: Take a pose at which mask and silhouette do not agree (an overlap below 85 %).
        world: A world file to write or extend. Its camera and its light hold already.
        out: The picture to write: the photograph, the world before, and the world after.
    """
    from foretell.match import texture

    textured = texture(
        image, task=task, camera=camera, object=object, mask=mask, box=box, parts=parts, layout=layout, insist=insist,
        world=world, out=out,
    )  # fmt: skip
    print(json.dumps(textured.to_dict(), indent=2) if json_ else textured.text())
