"""Find pose and lens of a real camera from a picture.

Examples:
    foretell match camera table.png --points points.csv -o residuals.png
    foretell match camera table.png --points points.csv --click
    foretell match camera table.png --board charuco:5x7:0.04:0.03
    foretell match camera table.png --points points.csv --lines lines.csv
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
    points: Annotated[Path | None, named("POINTS", default="none")],
    board: Annotated[str | None, named("BOARD", default="none")],
    at: Annotated[tuple[float, ...], named("X Y Z YAW")],
    lines: Annotated[Path | None, named("LINES", default="none")],
    lens: Annotated[tuple[float, ...], named("FX FY CX CY", default="the focal length is fitted")],
    fit: Annotated[str | None, named("pose|focal|lens", default="pose with --lens, else focal")],
    out: Annotated[Path | None, named("PICTURE.png", default="nothing is drawn", short="-o")],
    camera: Annotated[str | None, named("CAMERA", default="none")],
    world: Annotated[Path | None, named("WORLD.yaml", default="none")],
    task: Annotated[str | None, named("TASK", default="none")],
    click: Switch = False,
    port: Annotated[int, named("PORT")] = 0,
    open: Switch = False,
    json_: Json = False,
) -> None:
    """Find where the camera of a picture stands in the task frame, its lens, and how certain that is.

    Args:
        image: A picture of the scene, as PNG or JPEG.
        points: Points of the scene: a CSV file with the columns name, x, y, z (m, task frame) and u, v (pixels), or a
            JSON list of such objects.
        board: A printed board in the picture: checkerboard:9x6:0.025 (inner corners, m), charuco:5x7:0.04:0.03 or
            aruco:0.05.
        at: Where the board lies in the task frame, m and rad.
        lines: Lines of the picture along the axes of the task frame: a CSV file with the columns axis, u1, v1, u2, v2.
        lens: A calibration of the lens, in pixels.
        fit: What is fitted: the pose, one focal length too, or fx, fy, cx and cy too.
        out: The picture to write, with the residuals.
        camera: The camera of the world that took the picture.
        world: A world file to write or extend with the camera.
        task: The task, if the camera is on a robot.
        click: Click the points in a page. Their pixels are written into the file of the points.
        port: The port of that page. 0 takes a free one.
        open: Open that page in a browser.
    """
    from foretell.match import camera as match_camera

    if click:
        from foretell.errors import UsageError
        from foretell.view.clicks import click_points

        if points is None:
            raise UsageError("click: give the points to click (--points FILE, with the columns name, x, y, z)")
        click_points(image, points, lens=lens, fit=fit, port=port, open=open)
    match = match_camera(
        image, points=points, board=board, at=at, lines=lines, lens=lens, fit=fit, out=out, camera=camera, world=world,
        task=task,
    )  # fmt: skip
    print(json.dumps(match.to_dict(), indent=2) if json_ else match.text())
