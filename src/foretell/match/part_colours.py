"""Colours of robots and furniture, from the pixels of a picture that show them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import mujoco
import numpy as np

from foretell.arrays import Bools, Bytes, Ints
from foretell.errors import UsageError, suggest
from foretell.match.opencv import opencv
from foretell.sim.bench import Bench
from foretell.sim.render import View, shared_renderer

__all__ = ["looks_of", "part_colours"]

LEAST = 60
"""Pixels of a colour that are needed to take it from a picture."""
ROUNDS = 4
"""Of drawing, comparing and correcting: gloss is added to colours, not multiplied."""
GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)
Colour = tuple[float, float, float]


def part_colours(bench: Bench, camera: str, frame: Bytes, parts: Sequence[str]) -> tuple[dict[str, Colour], Bools]:
    """Geom or material -> its colour, 0 to 1, with which the world shows the median colour of the picture; and (height,
    width) where these are seen."""
    height, width = frame.shape[:2]
    shown = np.zeros((height, width), dtype=bool)
    if not parts:
        return {}, shown
    model, qpos = copy(bench.drawn), bench.layout.qpos[bench.slot]
    view = View(name=camera, height=height, width=width)
    looks, labels = looks_of(bench, camera, height, width)
    wanted: dict[int, Bools] = {}
    for part in parts:
        known = sorted({owner for owner, _ in looks})
        mine = [number for number, (owner, _) in enumerate(looks) if owner == part]
        if part not in known:
            raise UsageError(f"parts: {part!r:.100} is not seen by camera {camera!r}; {suggest(part, known)}")
        wanted |= {number: _sure(labels == number) for number in mine}
    wanted = {number: pixels for number, pixels in wanted.items() if pixels.sum() >= LEAST}
    if not wanted:
        raise UsageError(f"parts: fewer than {LEAST} pixels show each colour of {', '.join(parts)}: none can be told")
    for _ in range(ROUNDS):
        drawn = shared_renderer().render(model, qpos, view)
        for number, pixels in wanted.items():
            real, now = (np.median(image[pixels], axis=0) for image in (frame, drawn))
            change = np.clip((real + 1) / (now + 1), 0.2, 5.0)
            _recolour(model, looks[number][1], change)
    colours = {}
    for number, pixels in wanted.items():
        r, g, b = (round(float(c), 4) for c in _colour(model, looks[number][1])[:3])
        colours[looks[number][1]] = (r, g, b)
        shown |= pixels
    return colours, shown


def _sure(pixels: Bools) -> Bools:
    """Pixels that are not at an edge: there a small error of the pose shows something else."""
    sure: Bools = opencv().erode(pixels.astype(np.uint8), np.ones((5, 5), dtype=np.uint8)).astype(bool)
    return sure


def looks_of(
    bench: Bench, camera: str, height: int, width: int, pictures: bool = False
) -> tuple[list[tuple[str, str]], Ints]:
    """The colours that a camera sees: part and geom or material of each; and (height, width) which of them, -1 for
    none. `pictures`: also surfaces that show a picture and not one colour."""
    model, qpos = bench.drawn, bench.layout.qpos[bench.slot]
    view = View(name=camera, height=height, width=width, kind="segmentation")
    things = shared_renderer().render(model, qpos, view)
    geoms = np.where(things[..., 1] == GEOM, things[..., 0], -1)
    looks: dict[tuple[str, str], int] = {}
    labels = np.full(geoms.shape, -1, dtype=np.int64)
    for g in np.unique(geoms[geoms >= 0]).tolist():
        material, name = int(model.geom_matid[g]), model.geom(g).name
        look = model.mat(material).name if material >= 0 else name
        if not look or (not pictures and material >= 0 and model.mat_texid[material].max() >= 0):
            continue
        root = model.body(int(model.body_rootid[model.geom_bodyid[g]])).name
        owner = (name if root == "world" else root).partition("/")[0]
        labels[geoms == g] = looks.setdefault((owner, look), len(looks))
    return list(looks), labels


def _colour(model: mujoco.MjModel, look: str) -> np.ndarray:
    """(4,) the colour of a geom or material, to be changed."""
    names = [model.mat(i).name for i in range(model.nmat)]
    colour: np.ndarray = model.mat_rgba[names.index(look)] if look in names else model.geom(look).rgba
    return colour


def _recolour(model: mujoco.MjModel, look: str, change: np.ndarray) -> None:
    colour = _colour(model, look)
    colour[:3] = np.clip(np.maximum(colour[:3], 0.01) * change, 0.0, 1.0)
