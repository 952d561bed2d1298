"""Camera images on any machine: one GL context per process, shared by every model and slot.

A `mujoco.Renderer` per scenario costs 130-500 ms, so the context is kept, and only a scene with other textures makes
a new one. Nothing here runs unless a camera or a video is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
import zlib
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from foretell.errors import ForetellError

__all__ = ["Camera", "Renderer", "backends", "open_context", "shared_renderer"]


@dataclass(frozen=True)
class Camera:
    """A view to render. `fine` asks for shadows and smooth edges whatever the world's θ says (for videos)."""

    name: str
    height: int = 480
    width: int = 640
    fine: bool = False


BACKENDS = ("egl", "osmesa", "glfw")


def backends() -> tuple[str, ...]:
    """GL backends to try, best first: the one MUJOCO_GL names, else those that need no screen where there is none."""
    chosen = os.environ.get("MUJOCO_GL", "").lower()
    if chosen:
        return (chosen,)
    if sys.platform == "linux":
        return BACKENDS[::-1] if os.environ.get("DISPLAY") else BACKENDS[:2]
    return ("cgl",) if sys.platform == "darwin" else ("glfw",)


def open_context(backend: str, width: int, height: int) -> Any:
    """A GL context of a backend, made current. Raises whatever the backend raises."""
    # software rendering with several threads per process fights with the workers that already fill the cores
    os.environ.setdefault("LP_NUM_THREADS", "1")
    # not mujoco.gl_context: it decides when mujoco is imported, before anybody asked for a picture
    context = importlib.import_module(f"mujoco.{backend}").GLContext(width, height)
    context.make_current()
    return context


class Renderer:
    """Draws any model of any slot; keeps one MjrContext per set of textures and quality."""

    WIDEST, TALLEST = 1280, 960

    def __init__(self) -> None:
        self._gl: Any = None
        failures = []
        for backend in backends():
            try:
                self._gl = open_context(backend, self.WIDEST, self.TALLEST)
                break
            except Exception as error:
                failures.append(f"{backend}: {error or type(error).__name__}")
        if self._gl is None:
            raise ForetellError(
                f"cannot draw: no OpenGL here ({'; '.join(failures)}). On a machine without a screen install the "
                "packages libegl1 and libgl1-mesa-dri; `foretell doctor` says what works here"
            )
        self._contexts: dict[Any, mujoco.MjrContext] = {}
        self._scenes: dict[Any, mujoco.MjvScene] = {}
        self._owner: mujoco.MjModel | None = None
        self._data: Any = None
        self._option = mujoco.MjvOption()
        mujoco.mjv_defaultOption(self._option)
        self._option.geomgroup[3] = 0  # collision shapes

    def render(self, model: mujoco.MjModel, qpos: np.ndarray, camera: Camera) -> np.ndarray:
        """(height, width, 3) uint8, upright: what a camera of the model sees at joint positions qpos."""
        if camera.height > self.TALLEST or camera.width > self.WIDEST:
            raise ForetellError(f"camera {camera.name!r}: at most {self.WIDEST}x{self.TALLEST} pixels")
        if self._owner is not model:
            self._owner, self._data = model, mujoco.MjData(model)
        data = self._data
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        context, scene = self._prepare(model, camera.fine)
        view = mujoco.MjvCamera()
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        view.fixedcamid = model.camera(camera.name).id
        rectangle = mujoco.MjrRect(0, 0, camera.width, camera.height)
        mujoco.mjv_updateScene(model, data, self._option, None, view, mujoco.mjtCatBit.mjCAT_ALL.value, scene)
        scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = camera.fine or model.vis.quality.shadowsize > 1
        scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        # drawing goes to the buffer bound last, reading takes the context's own: with several contexts they differ
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
        mujoco.mjr_render(rectangle, scene, context)
        image = np.empty((camera.height, camera.width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, rectangle, context)
        return image[::-1]

    def _prepare(self, model: mujoco.MjModel, fine: bool) -> tuple[mujoco.MjrContext, mujoco.MjvScene]:
        # a context holds textures and meshes: models that share those, as all of one task do, share a context
        quality = model.vis.quality
        key = hash(
            (
                fine or (quality.shadowsize, quality.offsamples),
                model.ntexdata,
                model.nmeshvert,
                model.ngeom,
                zlib.crc32(model.tex_data),
                zlib.crc32(model.mesh_vert),
            )
        )
        if key not in self._contexts:
            if len(self._contexts) >= 4:  # a new scene family: give the oldest one's memory back
                oldest = next(iter(self._contexts))
                self._contexts.pop(oldest).free()
                del self._scenes[oldest]
            before = quality.shadowsize, quality.offsamples
            if fine:
                quality.shadowsize, quality.offsamples = 2048, 4
            model.vis.global_.offwidth, model.vis.global_.offheight = self.WIDEST, self.TALLEST
            context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
            quality.shadowsize, quality.offsamples = before
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
            self._contexts[key] = context
            self._scenes[key] = mujoco.MjvScene(model, maxgeom=2000)
        return self._contexts[key], self._scenes[key]


_shared: Renderer | None = None


def shared_renderer() -> Renderer:
    """The process's one renderer, made when first needed."""
    global _shared
    if _shared is None:
        _shared = Renderer()
    return _shared
