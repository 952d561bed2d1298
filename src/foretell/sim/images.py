"""The one way of an image: rendered, then the world's transforms, then noise. Policies and films take it alike."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property

import mujoco
import numpy as np

from foretell.camera import Camera
from foretell.errors import UsageError
from foretell.sim.noise import Noise
from foretell.sim.parts import Parts
from foretell.sim.render import View, shared_renderer
from foretell.sim.scene import Scene
from foretell.sim.transforms import FILM, Shot, Transform
from foretell.spec import Feature, Stream

__all__ = ["Images"]


class Images:
    """Draws for all slots of a world."""

    def __init__(self, scene: Scene, noise: Noise):
        self.noise, self._scene = noise, scene
        self._transforms: Sequence[Transform] = scene.world.transforms
        for number, transform in enumerate(self._transforms):
            try:
                transform.check(scene.cameras, self.parts)
            except UsageError as error:
                where = f"{scene.world.name}: transforms.{number}: {transform.use}"
                raise UsageError(f"{where}: {error}") from None

    @property
    def parts(self) -> Parts:
        return self._scene.segments

    def see(
        self, slot: int, model: mujoco.MjModel, qpos: np.ndarray, stream: str, feature: Feature, wanted: Stream
    ) -> np.ndarray:
        """(height, width, channels) what a camera's stream shows at joint positions qpos."""
        assert feature.frame is not None
        height, width, _ = wanted.shape or feature.shape
        view = View(name=feature.frame, height=height, width=width)
        if feature.kind == "depth":
            image = shared_renderer().render(model, qpos, replace(view, kind="depth"))[..., None]
        elif feature.kind == "segmentation":
            image = self._segmented(model, qpos, view)[..., None]
        else:
            image = self._taken(model, qpos, view)
        return self.noise.blur_image(slot, feature.frame, feature, image, zlib.crc32(np.ascontiguousarray(qpos).data))

    def film(
        self, model: mujoco.MjModel, qpos: np.ndarray, camera: str | Camera, height: int, width: int
    ) -> np.ndarray:
        """(height, width, 3) uint8, with shadows, without noise; the camera may stand anywhere. One that is not part of
        the scene turns and widens to keep the hand in the picture."""
        stand = camera if isinstance(camera, Camera) else None
        name = camera if isinstance(camera, str) else FILM
        view = View(name=name, height=height, width=width, fine=True, stand=stand, keep=self._hand)
        return self._taken(model, qpos, view)

    @cached_property
    def _hand(self) -> str | None:
        """The site that films keep in the picture; None where there are several."""
        tools = [
            f"{name}/{group.tool}"
            for name, robot in self._scene.robots.items()
            for group in robot.groups.values()
            if group.tool
        ]
        return tools[0] if len(tools) == 1 else None

    def _taken(self, model: mujoco.MjModel, qpos: np.ndarray, view: View) -> np.ndarray:
        """(height, width, 3) uint8: rendered and transformed."""
        acting = [transform for transform in self._transforms if transform.acts_on(view.name)]
        renderer, front = shared_renderer(), None
        if any(transform.splits(self.parts) for transform in acting):
            front = renderer.split(model, qpos, view, self.parts.still(model))
        image = renderer.render(model, qpos, view) if front is None else front[0]
        shot = Shot(
            camera=view.name,
            parts=self.parts,
            front=None if front is None else front[1],
            see=cache(lambda: self._segmented(model, qpos, view)),
            measure=cache(lambda: shared_renderer().render(model, qpos, replace(view, kind="depth"))),
        )
        for transform in acting:
            image = transform.apply(image, shot)
        return image

    def _segmented(self, model: mujoco.MjModel, qpos: np.ndarray, view: View) -> np.ndarray:
        """(height, width) int32 ids of parts."""
        numbers, things = shared_renderer().segment(model, qpos, view)
        return self.parts.of(model, things).take(numbers)
