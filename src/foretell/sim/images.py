"""The one way of an image: rendered, then the world's transforms, then noise. Policies and films take it alike."""

from __future__ import annotations

import zlib
from dataclasses import replace

import mujoco
import numpy as np

from foretell.camera import Camera
from foretell.sim.noise import Noise
from foretell.sim.parts import Parts
from foretell.sim.render import View, shared_renderer
from foretell.sim.scene import Scene
from foretell.spec import Feature, Stream

__all__ = ["Images"]


class Images:
    """Draws for all slots of a world."""

    def __init__(self, scene: Scene, noise: Noise):
        self.noise, self._scene = noise, scene

    @property
    def parts(self) -> Parts:
        return self._scene.segments

    def see(
        self, slot: int, model: mujoco.MjModel, qpos: np.ndarray, stream: str, feature: Feature, asked: Stream
    ) -> np.ndarray:
        """(height, width, channels) what a camera's stream shows at joint positions qpos."""
        assert feature.frame is not None
        height, width, _ = asked.shape or feature.shape
        view = View(feature.frame, height, width)
        if feature.kind == "depth":
            image = shared_renderer().render(model, qpos, replace(view, kind="depth"))[..., None]
        elif feature.kind == "segmentation":
            image = self._segmented(model, qpos, view)[..., None]
        else:
            image = self._taken(model, qpos, view)
        return self.noise.blur_image(slot, feature.frame, feature, image, zlib.crc32(np.ascontiguousarray(qpos)))

    def film(
        self, model: mujoco.MjModel, qpos: np.ndarray, camera: str | Camera, height: int, width: int
    ) -> np.ndarray:
        """(height, width, 3) uint8, with shadows and smooth edges, without noise; the camera may stand anywhere."""
        stand = camera if isinstance(camera, Camera) else None
        name = camera if isinstance(camera, str) else "film"
        return self._taken(model, qpos, View(name, height, width, fine=True, stand=stand))

    def _taken(self, model: mujoco.MjModel, qpos: np.ndarray, view: View) -> np.ndarray:
        """(height, width, 3) uint8: rendered."""
        return shared_renderer().render(model, qpos, view)

    def _segmented(self, model: mujoco.MjModel, qpos: np.ndarray, view: View) -> np.ndarray:
        """(height, width) int32 ids of parts."""
        return self.parts.of(model, shared_renderer().render(model, qpos, replace(view, kind="segmentation")))
