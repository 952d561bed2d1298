"""Turn an occupancy map or a mesh into a room for mobile robots.

Examples:
    foretell import-room map.yaml --spots A=1,1 B=4,2.5,90
    foretell import-room flat.glb --at 0.1 0.3 0.5 -o flat.json
    foretell import-room scan.stl --scale 0.001 --inside 2 3  # in millimetres
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, cast

import tyro

from foretell.cli._flags import Json, choice, named

__all__ = ["main"]


def main(
    *,
    source: Annotated[Path, tyro.conf.Positional, named("MAP.yaml|MESH")],
    out: Annotated[Path | None, named("ROOM.json", default="the name and .json", short="-o")],
    name: Annotated[str | None, named("NAME", default="that of the file")],
    spots: Annotated[tuple[str, ...], named("NAME=X,Y[,YAW] ...", default="none")],
    inside: Annotated[tuple[float, ...], named("X Y", default="the largest floor")],
    radius: Annotated[float, named("METRES")],
    unknown: Annotated[str, choice("wall", "floor")],
    height: Annotated[float, named("METRES")],
    at: Annotated[tuple[float, ...], named("METRES ...")],
    gap: Annotated[float, named("METRES")],
    scale: Annotated[float | None, named("METRES", default="what the file says, else 1")],
    up: Annotated[str | None, choice("x", "y", "z", default="y for GLB, z for others")],
    json_: Json = False,
) -> None:
    """Write a room as polygons, and a picture of it, from an occupancy map (ROS: YAML and image) or a mesh (GLB, OBJ,
    COLLADA or STL) that is cut level.

    Args:
        source: The map or the mesh.
        out: The file to write. The picture goes beside it, as SVG.
        name: The name of the room.
        spots: Places in the room, in metres and degrees. The robot must reach each from the first.
        inside: A point of the floor that is meant, if there are several.
        radius: The radius of the robot.
        unknown: What the unknown cells of a map are.
        height: How high the walls of a map are.
        at: Heights above the lowest point of a mesh at which it is cut.
        gap: Holes in the walls of a mesh that are closed.
        scale: How long one unit of a mesh is: 0.001 for millimetres.
        up: The axis of a mesh that points up.
    """
    from foretell.import_room import import_room

    made = import_room(
        source, out=out, name=name, spots=spots, inside=inside, radius=radius,
        unknown=cast(Literal["wall", "floor"], unknown), height=height, at=at, gap=gap, scale=scale,
        up=cast(Literal["x", "y", "z"] | None, up),
    )  # fmt: skip
    print(json.dumps(made.to_dict(), indent=2) if json_ else made.text())
