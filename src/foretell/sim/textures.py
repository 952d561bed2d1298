"""Textures in OpenGL, kept by content: scenes that look alike share them, and going from one scene to another and back
uploads nothing."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

__all__ = ["Textures", "contents"]

FLAT = mujoco.mjtTexture.mjTEXTURE_2D
RGB = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)
BLOCK = 32
"""Number of texture objects of a kind that are made at a time."""


@dataclass(frozen=True)
class Content:
    """A texture by what is in it."""

    flat: bool
    """Two-dimensional; else a cube's six faces, or a sky's. OpenGL never lets one become the other."""
    about: Any
    """Size, channels, colour space and a digest of the pixels: equal for equal textures only."""
    bytes: int
    """In OpenGL, about: four for each pixel, and a third more for the smaller copies."""


def contents(model: mujoco.MjModel) -> tuple[Content, ...]:
    """A model's textures, in its order."""
    textures = []
    for i in range(model.ntex):
        kind, width, height = (int(field[i]) for field in (model.tex_type, model.tex_width, model.tex_height))
        channels, start = int(model.tex_nchannel[i]), int(model.tex_adr[i])
        flat = kind == FLAT
        about: Any = object()  # of a file that OpenGL is to read, only this model knows
        if start >= 0:
            pixels = np.ascontiguousarray(model.tex_data[start : start + width * height * channels])
            digest = hashlib.blake2b(pixels.data, digest_size=16).digest()
            about = (kind, width, height, channels, int(model.tex_colorspace[i]), digest)
        textures.append(Content(flat, about, (width * height if flat else 6 * width * width) * 16 // 3))
    return tuple(textures)


class Textures:
    """All textures of one OpenGL context. At most `limit` bytes are kept, besides what the scene now drawn needs."""

    def __init__(self, limit: int = 32 * 2**20):
        self.limit, self.bytes = limit, 0
        self._kept: OrderedDict[Content, int] = OrderedDict()
        self._spare: dict[bool, list[int]] = {True: [], False: []}
        self._blank: mujoco.MjModel | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def use(self, model: mujoco.MjModel, needed: tuple[Content, ...], context: mujoco.MjrContext) -> None:
        """Have a context draw a model's textures, `needed`, on its materials. The context does not own them: before
        it is freed it must have its own names back."""
        context.ntexture = len(needed)
        context.textureType[: len(needed)] = model.tex_type
        for index, content in enumerate(needed):
            if content in self._kept:
                self._kept.move_to_end(content)
                context.texture[index] = self._kept[content]
                continue
            context.texture[index] = self._kept[content] = self._name(content, needed)
            self.bytes += content.bytes
            mujoco.mjr_uploadTexture(model, context, index)
        while self.bytes > self.limit and (oldest := next(iter(self._kept))) not in needed:
            self._delete(self._take(oldest))
        _lay(model, context)

    def _take(self, content: Content) -> int:
        self.bytes -= content.bytes
        return self._kept.pop(content)

    def _name(self, content: Content, needed: tuple[Content, ...]) -> int:
        """A texture object for a new content: where room is short, that of the oldest of its kind and size."""
        if self.bytes + content.bytes > self.limit:
            for old in self._kept:
                if (old.flat, old.bytes) == (content.flat, content.bytes) and old not in needed:
                    return self._take(old)
        if not self._spare[content.flat]:
            self._make()
        return self._spare[content.flat].pop()

    def _make(self) -> None:
        """Another block of texture objects: MuJoCo makes them with a context only, of which just they are kept."""
        if self._blank is None:
            spec = mujoco.MjSpec()
            for i in range(2 * BLOCK):
                kind, tall = (FLAT, 1) if i < BLOCK else (mujoco.mjtTexture.mjTEXTURE_CUBE, 6)
                texture = spec.add_texture(name=str(i), type=kind, width=1, height=tall, nchannel=3)
                texture.data = bytes(3 * tall)
            spec.visual.global_.offwidth = spec.visual.global_.offheight = 1
            spec.visual.quality.shadowsize = spec.visual.quality.offsamples = 0
            self._blank = spec.compile()
        block = mujoco.MjrContext(self._blank, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        self._spare[True] += block.texture[:BLOCK].tolist()
        self._spare[False] += block.texture[BLOCK : 2 * BLOCK].tolist()
        block.ntexture = 0
        block.free()

    def _delete(self, name: int) -> None:
        """Give a texture's memory back."""
        doomed = mujoco.MjrContext()
        doomed.texture[0], doomed.ntexture = name, 1
        doomed.free()


def _lay(model: mujoco.MjModel, context: mujoco.MjrContext) -> None:
    """Which texture is on which material, as a context made for this model would have it."""
    count, roles = model.mat_texid.shape
    covered = model.mat_texid[:, RGB] >= 0
    context.mat_texid[:], context.mat_texuniform[:], context.mat_texrepeat[:] = -1, 0, 0
    context.mat_texuniform[:count] = np.where(covered, model.mat_texuniform, 0)
    context.mat_texrepeat[: 2 * count] = np.where(covered[:, None], model.mat_texrepeat, 0).ravel()
    context.mat_texid[: roles * count] = np.where(covered[:, None], model.mat_texid, -1).ravel()
    skies = np.flatnonzero(model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX))
    if len(skies):  # the last material is the sky's
        context.mat_texid[-roles + RGB] = skies[0]
