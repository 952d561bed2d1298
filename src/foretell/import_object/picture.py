"""A picture of an imported object, as our cameras see it: its look, and beside it the parts by which it touches."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.arrays import Bytes
from foretell.camera import Camera
from foretell.errors import ForetellError
from foretell.objects import ObjectPhysics, arena, asset
from foretell.sim.render import View, shared_renderer

__all__ = ["picture_of"]

HEIGHT, WIDTH = 480, 720
COLOURS = ((0.90, 0.60, 0.00), (0.34, 0.71, 0.91), (0.00, 0.62, 0.45), (0.94, 0.89, 0.26), (0.84, 0.37, 0.00))
"""Of parts, one after the other."""


def picture_of(name: str) -> tuple[Bytes | None, str | None]:
    """(height, width, 3) of an asset, and why there is none where OpenGL is missing."""
    thing = asset(name)
    spec = mujoco.MjSpec()
    arena.room(spec)
    arena.table(spec)
    size = _sides(name)
    apart = 0.7 * float(np.hypot(size[0], size[1])) + 0.01
    for title, y in (("seen", apart), ("parts", -apart)):
        body = spec.worldbody.add_body(name=title, pos=[0, y, thing.rest])
        body.add_freejoint()
        thing.add(spec, body, np.ones(3), ObjectPhysics())
    number = 0
    for geom in spec.body("parts").geoms:
        touches = bool(geom.contype or geom.conaffinity)
        geom.group = 0 if touches else 3
        if touches:
            geom.rgba = [*COLOURS[number % len(COLOURS)], 1]
            number += 1
    model = spec.compile()
    far = 1.9 * max(2 * apart + size[1], 1.5 * size[2], 0.05)
    stand = Camera(pos=(0.80 * far, -0.15 * far, thing.rest + 0.50 * far), target=(0.0, 0.0, thing.rest), fovy=32.0)
    view = View(name="", height=HEIGHT, width=WIDTH, fine=True, stand=stand)
    try:
        return np.ascontiguousarray(shared_renderer().render(model, model.qpos0, view)), None
    except ForetellError as error:
        return None, f"no picture: {error}"


def _sides(name: str) -> np.ndarray:
    """(3,) of the bounding box, m."""
    from foretell.objects.imported import describe

    return np.array(describe(name).size)
