"""Compare a real frame with the simulated one.

Examples:
    foretell match check real.png --task lift --camera front -o check.html
    foretell match check real.png --task lift --camera front --world lab.yaml
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, World, named

__all__ = ["main"]


def main(
    *,
    real: Annotated[Path, tyro.conf.Positional, named("REAL")],
    task: Annotated[str, named("TASK")],
    camera: Annotated[str, named("CAMERA")],
    world: World,
    layout: Annotated[int | None, named("K", default="the first scenario")],
    scenario: Annotated[Path | None, named("TRIAL.json", default="none")],
    mask: Annotated[Path | None, named("MASK.png", default="none")],
    plate: Annotated[Path | None, named("PLATE.png", default="the world's background")],
    keep: Annotated[tuple[str, ...], named("PART ...")],
    out: Annotated[Path | None, named("CHECK.html", default="nothing is written", short="-o")] = None,
    json_: Json = False,
) -> None:
    """Compare a real frame with what a camera of a world shows at the start of a task: silhouettes and colours.

    Args:
        real: A real frame, as PNG or JPEG.
        task: The task, as `foretell list tasks` names it.
        camera: The camera of the task that took the frame.
        world: The world to compare with: a world file with the matched camera and background.
        layout: The number of a published layout of the task, counted from 0.
        scenario: A file with one scenario, as `foretell match scenario` writes it from a frame.
        mask: A picture of the frame's size that is bright where the real robot and objects are.
        plate: The empty scene, from which the real silhouette is told by difference.
        keep: Parts that make up the silhouette.
        out: The page to write, with both frames side by side, in turn, and their difference.
    """
    from foretell.match import check

    if out is not None:
        from foretell.report.matched import require_page, write_check

        require_page(out)
    likeness = check(
        real, task=task, camera=camera, world=world, layout=layout, scenario=scenario, mask=mask, plate=plate, keep=keep
    )
    if out is not None:
        write_check(likeness, out)
    if json_:
        print(json.dumps(likeness.to_dict(), indent=2))
        return
    print(likeness.text())
    if out is not None:
        print(f"page: {out}")
