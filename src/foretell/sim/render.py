"""Camera images on any machine: one GL context per process, shared by every model and slot.

A `mujoco.Renderer` per scenario costs 130-500 ms, so what OpenGL holds is kept: shapes for all models that have the
same, textures by content. Nothing here runs unless a camera or a video is asked for.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections import OrderedDict
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal
from weakref import WeakKeyDictionary

import mujoco
import numpy as np

from foretell.camera import Camera, framing
from foretell.errors import ForetellError
from foretell.rotation import rotate
from foretell.sim.scene import signature
from foretell.sim.textures import Content, Textures, contents

__all__ = ["FINE", "Renderer", "View", "backends", "open_context", "shared_renderer"]


@dataclass(frozen=True, kw_only=True)
class View:
    """A view to render. `fine` asks for shadows whatever the world's θ says (for videos). `stand` is a place to look
    from that is no camera of the model. Depth and segmentation are never multisampled: an edge halfway between two
    things would be at a distance where there is nothing."""

    name: str
    height: int = 480
    width: int = 640
    fine: bool = False
    stand: Camera | None = None
    keep: str | None = None
    """A site that stays in the picture of a stand, which turns and widens for it."""
    kind: Literal["rgb", "depth", "segmentation"] = "rgb"


FINE = 1024, 0
"""Side of the shadow map and multisampling of `fine` views. A 640x480 frame of `can` takes 75 ms of one core with
these, and 207 ms with 2048 and 4."""
SLEEP = int(mujoco.mjtEnableBit.mjENBL_SLEEP)
"""Scenes in which things sleep."""
AROUND = 0.15
"""Radians around what a film keeps in its picture: a hand that is 30 cm wide at 1 m."""
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


@dataclass(frozen=True)
class Look:
    """What OpenGL is told of a model, once."""

    sizes: tuple[tuple[str, int], ...]
    """Models of the same sizes can take turns on one MjData."""
    shapes: bytes
    """Names meshes, planes and all else that a context fixes when it is made, but for quality and textures."""
    textures: tuple[Content, ...]


class Canvas:
    """A context and a scene for all models with the same shapes."""

    def __init__(self, model: mujoco.MjModel):
        self.context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        self._own = self.context.texture[: self.context.ntexture].copy()
        self.context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR.value  # as it is kept: the most exact
        self.scene = mujoco.MjvScene(model, maxgeom=2000)
        self._flags = self.scene.flags.copy()

    def prepare(self, kind: str, shadows: bool) -> None:
        """What to draw next."""
        flags, flag = self.scene.flags, mujoco.mjtRndFlag
        flags[:] = self._flags
        flags[flag.mjRND_SHADOW] = shadows
        flags[flag.mjRND_REFLECTION] = 0
        if kind != "rgb":
            flags[flag.mjRND_SKYBOX] = flags[flag.mjRND_HAZE] = 0
        flags[flag.mjRND_SEGMENT] = flags[flag.mjRND_IDCOLOR] = kind == "segmentation"

    def free(self) -> None:
        """Give its memory back: that of its own textures, not of those it was lent."""
        self.context.ntexture = len(self._own)
        self.context.texture[: len(self._own)] = self._own
        self.context.free()


class Renderer:
    """Draws any model of any slot. A model that was drawn must keep its shapes and textures; where things are, colours,
    lights and cameras may change."""

    WIDEST, TALLEST = 1280, 960
    CONTEXTS, LAYOUTS = 4, 4
    """How many to keep: sets of shapes in one quality, each with buffers of its own; layouts of MjData."""

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
        self._looks: WeakKeyDictionary[mujoco.MjModel, Look] = WeakKeyDictionary()
        self._contexts: OrderedDict[Any, Canvas] = OrderedDict()
        self._posed: OrderedDict[Any, tuple[mujoco.MjModel, mujoco.MjData]] = OrderedDict()
        self._textures = Textures()
        self._ratios: dict[tuple[int, ...], np.ndarray] = {}
        self._behind: WeakKeyDictionary[mujoco.MjModel, dict[View, tuple[bytes, np.ndarray]]] = WeakKeyDictionary()
        self._option = mujoco.MjvOption()
        mujoco.mjv_defaultOption(self._option)
        self._option.geomgroup[3] = 0  # collision shapes

    def render(self, model: mujoco.MjModel, qpos: np.ndarray, camera: View) -> np.ndarray:
        """What a camera of the model sees at joint positions qpos, upright. rgb: (height, width, 3) uint8. depth:
        (height, width) float32, m along the axis of the lens, 0 where there is nothing. segmentation: (height, width,
        2) int32, MuJoCo's object id and object type, -1 where there is nothing."""
        if camera.kind == "segmentation":
            numbers, things = self.segment(model, qpos, camera)
            return np.asarray(things[numbers])
        context, _, rectangle = self._draw(model, qpos, camera)
        if camera.kind == "depth":
            ratio = np.empty((camera.height, camera.width), dtype=np.float32)
            mujoco.mjr_readPixels(None, ratio, rectangle, context)
            return _metres(model, ratio[::-1])
        image = np.empty((camera.height, camera.width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, rectangle, context)
        return image[::-1]

    def segment(self, model: mujoco.MjModel, qpos: np.ndarray, camera: View) -> tuple[np.ndarray, np.ndarray]:
        """A segmentation as (height, width) numbers and (n, 2) MuJoCo's object id and object type of each number. To
        look things up in the short table first saves time."""
        context, scene, rectangle = self._draw(model, qpos, replace(camera, kind="segmentation"))
        image = np.empty((camera.height, camera.width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, rectangle, context)
        things = _things(scene)
        numbers = np.ascontiguousarray(image[::-1, :, 0])
        if len(things) > 256:  # colours are numbers, the lowest byte first; a scene has at most 2000 things
            numbers = numbers + 256 * image[::-1, :, 1].astype(np.uint16)
        return numbers, things

    def split(
        self, model: mujoco.MjModel, qpos: np.ndarray, camera: View, still: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """What a camera sees (height, width, 3), and where (height, width) that is anything but the `still` geoms
        (ngeom,), which do not move: there the depth is another one than without the rest. That depth is drawn once for
        as long as the camera stands still, so that this costs no second pass. None where depth cannot tell: a view of
        several samples, a stand, or things that one can see through."""
        if camera.stand is not None or (not camera.fine and model.vis.quality.offsamples) or _see_through(model, still):
            return None
        context, _, rectangle = self._draw(model, qpos, camera)
        image = np.empty((camera.height, camera.width, 3), dtype=np.uint8)
        ratio = self._ratios.setdefault(
            image.shape, np.empty(image.shape[:2], dtype=np.float32)
        )  # fresh memory is slow
        mujoco.mjr_readPixels(image, ratio, rectangle, context)
        data, at = self._posed[self._looks[model].sizes][1], model.camera(camera.name).id
        places = (data.cam_xpos[at], data.cam_xmat[at], data.geom_xpos[still], data.geom_xmat[still])
        key = b"".join(place.tobytes() for place in places)
        kept = self._behind.setdefault(model, {})
        if kept.get(camera, (b"", ratio))[0] != key:
            self._draw(model, qpos, camera, only=still)
            behind = np.empty_like(ratio)
            mujoco.mjr_readPixels(None, behind, rectangle, context)
            kept[camera] = key, behind
        return image[::-1], np.ascontiguousarray((ratio != kept[camera][1])[::-1])

    def _draw(
        self, model: mujoco.MjModel, qpos: np.ndarray, camera: View, only: np.ndarray | None = None
    ) -> tuple[mujoco.MjrContext, mujoco.MjvScene, mujoco.MjrRect]:
        """Draw into the buffer of a context, from which pixels can be read. `only`: these geoms (ngeom,) alone."""
        if camera.height > self.TALLEST or camera.width > self.WIDEST:
            raise ForetellError(f"camera {camera.name!r}: at most {self.WIDEST}x{self.TALLEST} pixels")
        look = self._looks.get(model)
        if look is None:
            look = self._looks[model] = Look(signature(model), _shapes(model), contents(model))
        data = self._pose(model, look, qpos)
        if camera.stand is not None and camera.stand.quat is None and camera.keep is not None:
            seen = data.site(camera.keep).xpos
            camera = replace(camera, stand=framing(camera.stand, seen, camera.height, camera.width, AROUND))
        canvas = self._prepare(model, look, camera)
        context, scene = canvas.context, canvas.scene
        view = mujoco.MjvCamera()
        if camera.stand is not None:
            _stand(view, camera.stand)
            model.vis.global_.fovy = camera.stand.fovy  # only such views read it
        else:
            view.type = mujoco.mjtCamera.mjCAMERA_FIXED
            view.fixedcamid = model.camera(camera.name).id
        rectangle = mujoco.MjrRect(0, 0, camera.width, camera.height)
        mujoco.mjv_updateScene(model, data, self._option, None, view, mujoco.mjtCatBit.mjCAT_ALL.value, scene)
        if only is not None:
            _hide_others(scene, only)
        if model.opt.enableflags & SLEEP:  # elsewhere pictures are as they were, to the bit
            _floor_last(scene)
        if camera.stand is not None and (camera.stand.intrinsics or camera.stand.quat):
            _aim(scene, camera)
        canvas.prepare(camera.kind, camera.kind == "rgb" and (camera.fine or model.vis.quality.shadowsize > 1))
        # drawing goes to the buffer bound last, reading takes the context's own: with several contexts they differ
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
        mujoco.mjr_render(rectangle, scene, context)
        return context, scene, rectangle

    def _pose(self, model: mujoco.MjModel, look: Look, qpos: np.ndarray) -> mujoco.MjData:
        """Everything where it is at joint positions qpos."""
        owner, data = self._posed.pop(look.sizes, (None, None))
        if data is None:
            data = mujoco.MjData(model)
        elif owner is not model:
            mujoco.mj_resetData(model, data)
        self._posed[look.sizes] = model, data
        if len(self._posed) > self.LAYOUTS:
            self._posed.popitem(last=False)
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        return data

    def _prepare(self, model: mujoco.MjModel, look: Look, camera: View) -> Canvas:
        """A context with the model's shapes, and its textures in place."""
        quality = model.vis.quality
        before = quality.shadowsize, quality.offsamples
        wanted = (before[0], 0) if camera.kind != "rgb" else FINE if camera.fine else before
        canvas = self._contexts.get((look.shapes, wanted))
        if canvas is None:
            if len(self._contexts) >= self.CONTEXTS:  # other robots or qualities: give the oldest one's memory back
                self._contexts.popitem(last=False)[1].free()
            model.vis.global_.offwidth, model.vis.global_.offheight = self.WIDEST, self.TALLEST
            quality.shadowsize, quality.offsamples = wanted
            try:
                canvas = self._contexts[look.shapes, wanted] = Canvas(model)
            finally:
                quality.shadowsize, quality.offsamples = before
        self._contexts.move_to_end((look.shapes, wanted))
        self._textures.use(model, look.textures, canvas.context)
        return canvas


def _floor_last(scene: mujoco.MjvScene) -> None:
    """Swap the first geom, where it is a plane, with the last. What stands on a floor hides most of it, and pixels that
    are hidden when they are drawn cost nothing. Where two things meet, a pixel may differ."""
    if scene.ngeom < 2 or scene.geoms[0].type != int(mujoco.mjtGeom.mjGEOM_PLANE):
        return
    first, last = scene.geoms[0], scene.geoms[scene.ngeom - 1]
    for name in _drawn():
        a, b = copy(getattr(first, name)), copy(getattr(last, name))
        setattr(first, name, b)
        setattr(last, name, a)


@cache
def _drawn() -> tuple[str, ...]:
    """Names of all that a scene has of a geom."""
    return tuple(name for name in dir(mujoco.MjvGeom) if not name.startswith("_"))


def _stand(view: mujoco.MjvCamera, stand: Camera) -> None:
    """Look from a place at its target, the horizon level."""
    ahead = np.asarray(stand.target, dtype=float) - np.asarray(stand.pos, dtype=float)
    view.type = mujoco.mjtCamera.mjCAMERA_FREE
    view.lookat[:] = stand.target
    view.distance = np.linalg.norm(ahead)
    view.azimuth = np.degrees(np.arctan2(ahead[1], ahead[0]))
    view.elevation = np.degrees(np.arcsin(ahead[2] / view.distance))


def _aim(scene: mujoco.MjvScene, camera: View) -> None:
    """Give a view from a stand of its own the orientation and the lens that no target and no angle say."""
    stand = camera.stand
    assert stand is not None
    lens = stand.lens(camera.height, camera.width)
    turn = np.broadcast_to(stand.orientation, (2, 4))
    forward, up = rotate(turn, np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]))
    for eye in scene.camera:
        near = eye.frustum_near
        eye.pos, eye.forward, eye.up = stand.pos, forward, up
        eye.frustum_top, eye.frustum_bottom = near * lens.cy / lens.fy, near * (lens.cy - lens.height) / lens.fy
        eye.frustum_center = near * (lens.width / 2 - lens.cx) / lens.fx
        eye.frustum_width = near * lens.width / 2 / lens.fx


def _metres(model: mujoco.MjModel, ratio: np.ndarray) -> np.ndarray:
    """Distance along the axis of the lens from a depth buffer, in which 1 is the near plane and 0 infinity."""
    near = float(np.float32(model.vis.map.znear * model.stat.extent))
    far = float(np.float32(model.vis.map.zfar * model.stat.extent))
    depth = far * near / (ratio.astype(np.float64) * (far - near) + near)
    return np.where(ratio > 0, depth, 0.0).astype(np.float32)


def _hide_others(scene: mujoco.MjvScene, only: np.ndarray) -> None:
    """Leave out all but some geoms of the model."""
    geoms = int(mujoco.mjtObj.mjOBJ_GEOM)
    for thing in scene.geoms[: scene.ngeom]:
        if thing.objtype != geoms or not only[thing.objid]:
            thing.type = int(mujoco.mjtGeom.mjGEOM_NONE)


def _see_through(model: mujoco.MjModel, still: np.ndarray) -> bool:
    """Whether something in front of the `still` geoms leaves no depth."""
    drawn = ~still & (model.geom_group < 3)
    alpha = np.where(model.geom_matid >= 0, model.mat_rgba[model.geom_matid, 3], model.geom_rgba[:, 3])
    return bool(((alpha > 0) & (alpha < 1) & drawn).any() or model.nskin or model.nflex)


def _things(scene: mujoco.MjvScene) -> np.ndarray:
    """(n + 1, 2) int32: MuJoCo's object id and object type of each number of a segmentation; 0 is nothing."""
    table = np.full((scene.ngeom + 1, 2), -1, dtype=np.int32)
    for geom in scene.geoms[: scene.ngeom]:
        if geom.segid >= 0:
            table[geom.segid + 1] = geom.objid, geom.objtype
    return table


@cache
def _shaping() -> tuple[str, ...]:
    """Names of the arrays that display lists are made from, and of more, but of none that tells of other geoms."""
    wide = (name for name in dir(mujoco.MjModel) if name.startswith(("mesh_", "hfield_", "skin_", "flex_")))
    return tuple(name for name in wide if not name.endswith(("_bvhadr", "_octadr", "_pathadr", "_matid")))


def _shapes(model: mujoco.MjModel) -> bytes:
    vis, planes = model.vis, model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
    size = model.geom_size[planes]
    # a plane without end is cut where its texture repeats
    cut = np.where((size[:, :2] <= 0).any(axis=1), model.geom_matid[planes], -1)
    numbers = (
        (vis.quality.numslices, vis.quality.numstacks, vis.quality.numquads, vis.global_.linewidth, model.stat.extent),
        (vis.map.shadowclip, vis.map.shadowscale, vis.map.fogstart, vis.map.fogend, vis.map.haze, vis.map.zfar),
        (*vis.rgba.fog, *vis.rgba.haze),
        (model.nskin, model.nflex, model.nhfield, model.nmesh, len(size)),
    )
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=16)
    for array in (size, cut >= 0, model.mat_texrepeat[cut[cut >= 0]]):
        digest.update(np.ascontiguousarray(array).data)
    for name in _shaping():
        if isinstance(array := getattr(model, name), np.ndarray):
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


_shared: Renderer | None = None


def shared_renderer() -> Renderer:
    """The process's one renderer, made when first needed."""
    global _shared
    if _shared is None:
        _shared = Renderer()
    return _shared
