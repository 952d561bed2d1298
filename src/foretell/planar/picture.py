"""Pictures of the planar world, by MuJoCo's renderer. Nothing here runs unless a camera or a film is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell.camera import Camera, Intrinsics
from foretell.errors import UsageError, suggest
from foretell.planar.geometry import room_of, walls_of
from foretell.planar.params import PlanarFile
from foretell.robots.locobot import LoCoBot
from foretell.seeding import generator

__all__ = ["CAMERAS", "Pictures"]

CAMERAS = ("top", "locobot/camera")
"""From above, and what the robot sees."""
ROOMS = 32
"""Models that are kept."""
AWAY = 400.0
"""m: where the goal's mark is while a policy looks, which sees no mark."""


class Pictures:
    """Draws the rooms of one world. A snapshot is x, y and heading of the robot, and x and y of the goal."""

    def __init__(self, file: PlanarFile):
        self._file, self._models = file, dict[str, Any]()

    def see(
        self,
        room: str,
        seen: np.ndarray,
        *,
        camera: str,
        kind: str,
        shape: Sequence[int],
        key: tuple[str, int, int],
    ) -> np.ndarray:
        """(height, width, channels) what a policy sees in a camera; depth has this world's noise, keyed by scenario,
        trial and tick."""
        from foretell.sim.render import View, shared_renderer

        qpos = np.append(seen[:3], (AWAY, AWAY))
        if kind == "rgb":
            view = View(name=camera, height=shape[0], width=shape[1])
            return shared_renderer().render(self._model(room), qpos, view)
        view = View(name=camera, height=shape[0], width=shape[1], kind="depth")
        depth = shared_renderer().render(self._model(room), qpos, view).astype(np.float32)
        depth[depth == 0] = LoCoBot.FURTHEST  # above the walls there is nothing
        if (noise := self._file.theta.depth_noise) > 0:
            base, trial, tick = key
            draw = generator(base, trial, f"depth image {tick}").standard_normal(depth.shape, dtype=np.float32)
            depth = depth + np.float32(noise) * depth**2 * draw
        return np.asarray(np.clip(depth, 0.0, LoCoBot.FURTHEST), dtype=np.float32)[..., None]

    def film(self, room: str, seen: np.ndarray, camera: str | Camera, height: int, width: int) -> np.ndarray:
        """(height, width, 3) uint8, with shadows and the goal's mark."""
        from foretell.sim.render import View, shared_renderer

        stand = camera if isinstance(camera, Camera) else None
        name = camera if isinstance(camera, str) else "film"
        view = View(name=name, height=height, width=width, fine=True, stand=stand)
        return shared_renderer().render(self._model(room), seen, view)

    def lens(self, room: str, camera: str, height: int, width: int) -> Intrinsics:
        """The lens of a camera for pictures of a size."""
        from foretell.sim.scene import lens_of

        if camera not in CAMERAS:
            raise UsageError(f"camera: {camera!r} is not in this world; {suggest(camera, CAMERAS)}")
        return lens_of(self._model(room), camera, height, width)

    def require(self) -> None:
        """Raise ForetellError where nothing can be drawn."""
        from foretell.sim.render import shared_renderer

        shared_renderer()

    def _model(self, name: str) -> Any:
        if name not in self._models:
            from foretell.planar.scene import build

            room = room_of(name)
            if len(self._models) >= ROOMS:
                self._models.pop(next(iter(self._models)))
            self._models[name] = build(room, walls_of(room, self._file))
        return self._models[name]
