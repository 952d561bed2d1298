"""The one way of an image: rendered, then the world's transforms, then noise. Policies and films take it alike."""

from __future__ import annotations

import zlib

import mujoco
import numpy as np

from foretell.camera import Camera
from foretell.sim.noise import Noise
from foretell.sim.render import View, shared_renderer
from foretell.spec import Feature, Stream

__all__ = ["Images"]


class Images:
    """Draws for all slots of a world."""

    def __init__(self, noise: Noise):
        self.noise = noise

    def see(
        self, slot: int, model: mujoco.MjModel, qpos: np.ndarray, stream: str, feature: Feature, asked: Stream
    ) -> np.ndarray:
        """(height, width, channels) what a camera's stream shows at joint positions qpos."""
        assert feature.frame is not None
        height, width, _ = asked.shape or feature.shape
        image = shared_renderer().render(model, qpos, View(feature.frame, height, width))
        return self.noise.blur_image(slot, feature.frame, feature, image, zlib.crc32(np.ascontiguousarray(qpos)))

    def film(
        self, model: mujoco.MjModel, qpos: np.ndarray, camera: str | Camera, height: int, width: int
    ) -> np.ndarray:
        """(height, width, 3) uint8, with shadows and smooth edges; the camera may stand anywhere."""
        stand = camera if isinstance(camera, Camera) else None
        name = camera if isinstance(camera, str) else "film"
        return shared_renderer().render(model, qpos, View(name, height, width, fine=True, stand=stand))
