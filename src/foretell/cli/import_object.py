"""Turn a mesh into an object that any task can use.

Examples:
    foretell import-object mug.glb --mass 0.31
    foretell import-object soap.stl --scale 0.001 --density 400  # in millimetres
    foretell import-object bowl.obj --up y --parts 32 -o objects/kitchen
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
    mesh: Annotated[Path, tyro.conf.Positional, named("MESH")],
    out: Annotated[str, named("FOLDER", short="-o")],
    name: Annotated[str | None, named("NAME", default="that of the file")],
    words: Annotated[str | None, named("WORDS", default="the name")],
    scale: Annotated[float | None, named("METRES", default="what the file says, else 1")],
    up: Annotated[str | None, choice("x", "y", "z", default="y for GLB, z for others")],
    mass: Annotated[float | None, named("KG")],
    density: Annotated[float | None, named("KG/M3", default="500")],
    friction: Annotated[float, named("FRICTION")],
    parts: Annotated[int, named("N")],
    threshold: Annotated[float, named("SHARE")],
    json_: Json = False,
) -> None:
    """Write a folder with convex parts, mass, looks and a picture of a mesh (GLB, OBJ, COLLADA or STL). A study names
    it with `scenarios: {objects: FOLDER}`.

    Args:
        mesh: The mesh. Materials and textures are read only from beside it.
        out: The folder for objects. The object gets a folder of its name in it.
        name: The name of the object. It is the unit that pairs simulated with real trials.
        words: The name as an instruction says it.
        scale: How long one unit of the file is: 0.001 for millimetres.
        up: The axis of the file that points up.
        mass: How much the object weighs. Give this or the density.
        density: How much a cubic metre of it weighs.
        friction: Sliding friction on a table.
        parts: The largest number of convex parts. 1 is the convex hull.
        threshold: How far parts may stray from the shape, as CoACD measures it: 0.01 to 1. Smaller is closer.
    """
    from foretell.import_object import import_object
    from foretell.study.progress import Bar

    with Bar() as bar:
        made = import_object(
            mesh, out=out, name=name, words=words, scale=scale, up=cast(Literal["x", "y", "z"] | None, up), mass=mass,
            density=density, friction=friction, parts=parts, threshold=threshold, notify=bar.say,
        )  # fmt: skip
    print(json.dumps(made.to_dict(), indent=2) if json_ else made.text())
