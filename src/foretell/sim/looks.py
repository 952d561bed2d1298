"""Looks that were matched to a photograph: a picture around an object, colours of parts, one light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import mujoco
import numpy as np
from pydantic import Field, PrivateAttr, ValidationInfo, field_validator

from foretell.errors import UsageError, suggest
from foretell.objects import asset
from foretell.objects.chart import HIDDEN, WIDTH, SurfaceChart, charts, picture_size
from foretell.objects.piece import SEEN
from foretell.scenario import Placement
from foretell.sim.parts import Parts
from foretell.sim.transforms import Photo, Transform, open_photo

__all__ = ["Colours", "Light", "Painted", "brighten"]

PICTURE = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)
USUAL = [0.5, 0.5, 0.5, 1.0]
"""The colour of a geom that has none of its own."""

Colour = tuple[
    Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]
]
Strength = tuple[
    Annotated[float, Field(ge=0, le=4)], Annotated[float, Field(ge=0, le=4)], Annotated[float, Field(ge=0, le=4)]
]


class Painted(Transform):
    """A picture around an object, as `foretell match texture` makes it. Physics does not change."""

    asset: str
    """The asset that it is painted on, wherever a scenario places it."""
    image: str
    """PNG with the charts of the asset (`foretell.objects.chart`). Its path is relative to the world file."""
    glow: float = Field(default=0.0, ge=0, le=20)
    """Light of the object's own, from everywhere: for what is brighter in the photograph than under the world's."""
    dim: float = Field(default=1.0, gt=0, le=1)
    """Share of all light that it sends back."""

    _photo: Photo = PrivateAttr()

    @field_validator("asset")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            free = asset(name).free
        except UsageError as error:
            raise ValueError(str(error).removeprefix("placements: ")) from None
        if not free:
            raise ValueError(f"{name!r} is furniture, whose parts move: give them colours instead (use: colours)")
        return name

    @field_validator("image")
    @classmethod
    def _fits(cls, image: str, info: ValidationInfo) -> str:
        photo = open_photo(image, info.context)
        if "asset" in info.data:
            height, width = picture_size(charts(info.data["asset"]))
            if photo.pixels.shape[:2] != (height, width):
                given = f"{photo.pixels.shape[1]}x{photo.pixels.shape[0]}"
                raise ValueError(
                    f"{image} has {given} pixels, and the charts of {info.data['asset']!r} {width}x{height}: take the "
                    "texture again with foretell match texture"
                )
        return image

    def model_post_init(self, context: Any) -> None:
        self._photo = open_photo(self.image, context)

    def dress_objects(self, spec: mujoco.MjSpec, placed: Mapping[str, Placement]) -> None:
        for name, placement in placed.items():
            if placement.asset == self.asset:
                paint(spec, spec.body(name), charts(self.asset), self._photo.pixels, np.asarray(placement.scale))
                spec.materials[-1].emission = self.glow
                spec.materials[-1].rgba = [self.dim, self.dim, self.dim, 1]

    def decides(self) -> dict[str, Any]:
        decides = {**super().decides(), "image": f"sha256:{self._photo.sha256}"}  # wherever the file is
        for name, usual in (("glow", 0.0), ("dim", 1.0)):  # worlds without them keep their names
            if decides[name] == usual:
                del decides[name]
        return decides


def paint(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, pieces: Sequence[SurfaceChart], image: np.ndarray, scale: np.ndarray
) -> None:
    """Show the charts of an object in place of its own look, in a new material, the last."""
    for geom in body.geoms:
        geom.group = HIDDEN
    label = f"{body.name}/painted{len(spec.textures)}"  # what is painted twice shows the last
    height, width, _ = image.shape
    texture = spec.add_texture(name=label, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = np.ascontiguousarray(image).tobytes()
    material = spec.add_material(name=label, specular=0.0, shininess=0.0)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = label
    for number, piece in enumerate(pieces):
        count = 3 * len(piece.corners)
        mesh = spec.add_mesh(name=f"{label}/{number}")
        mesh.uservert = (piece.corners * scale).reshape(count, 3).ravel()
        mesh.usernormal = piece.normals.reshape(count, 3).ravel()
        mesh.usertexcoord = (piece.places.reshape(count, 2) / [WIDTH, height]).ravel()
        mesh.userface = np.arange(count)
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        body.add_geom(name=mesh.name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, material=label, **SEEN)


class Colours(Transform):
    """Colours of what the scene is made of, as `foretell match texture --parts` takes them from a photograph."""

    colours: Mapping[str, Colour]
    """Geom or material -> red, green and blue."""

    def dress(self, spec: mujoco.MjSpec) -> None:
        geoms = {geom.name: geom for geom in spec.geoms if geom.name}
        materials = {material.name: material for material in spec.materials}
        for name, colour in self.colours.items():
            if name in materials:
                materials[name].rgba = [*shade(colour), materials[name].rgba[3]]
            elif name in geoms:
                geoms[name].rgba, geoms[name].material = [*shade(colour), geoms[name].rgba[3]], ""
            else:
                known = [*materials, *geoms]
                raise UsageError(f"colours: {name!r:.100} is no geom or material of this scene; {suggest(name, known)}")


def shade(colour: Sequence[float]) -> list[float]:
    """A colour of a geom. MuJoCo takes exactly half of each for none at all."""
    return [0.502, 0.502, 0.502] if np.allclose(colour, 0.5, atol=1e-3) else [float(c) for c in colour]


class Light(Transform):
    """One light from far away, and light from everywhere, as `foretell match light` takes them from a photograph. They
    take the place of all lights of the scene."""

    ambient: Strength
    """Red, green and blue of the light from everywhere; 1 shows things in their own colour."""
    colour: Strength
    """Red, green and blue of the light from far away."""
    direction: tuple[float, float, float]
    """Where it shines, in the task frame."""

    @field_validator("direction")
    @classmethod
    def _somewhere(cls, direction: tuple[float, float, float]) -> tuple[float, float, float]:
        if np.linalg.norm(direction) < 1e-6:
            raise ValueError("should not be 0 0 0")
        return direction

    def check(self, cameras: Sequence[str], parts: Parts) -> None:
        super().check(cameras, parts)
        if self.cameras != "all":
            raise UsageError("cameras: a light shines for all cameras; leave it out")

    def dress(self, spec: mujoco.MjSpec) -> None:
        head = spec.visual.headlight
        head.ambient, head.diffuse, head.specular = list(self.ambient), [0, 0, 0], [0, 0, 0]
        lamps = list(spec.lights) or [spec.worldbody.add_light(name="key")]
        for lamp in lamps[1:]:
            lamp.active = False
        lamp = lamps[0]
        lamp.type, lamp.dir = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, list(self.direction)
        lamp.ambient, lamp.diffuse = [0, 0, 0], list(self.colour)

    def finish(self, model: mujoco.MjModel) -> None:
        brighten(model, self._beyond())

    def _beyond(self) -> np.ndarray:
        return np.add(self.ambient, self.colour)

    def decides(self) -> dict[str, Any]:
        """A light that is brighter than 1 once left pictures on surfaces as they are: that was another world."""
        return {**super().decides(), **({"brightens": True} if self._beyond().max() > 1 else {})}


def brighten(model: mujoco.MjModel, light: np.ndarray) -> None:
    """Let surfaces that show a picture be as bright as a light (3,) above 1 makes them: OpenGL cuts the light on a
    surface at 1 before it multiplies it with a picture. So the picture gets brighter, and its material darker."""
    most = model.mat_rgba[:, :3] * (light + model.mat_emission[:, None])
    for texture in np.unique(model.mat_texid[:, PICTURE]).tolist():
        users = np.flatnonzero(model.mat_texid[:, PICTURE] == texture)
        start, channels = int(model.tex_adr[texture]), int(model.tex_nchannel[texture])
        gain = np.maximum(most[users].max(axis=0), 1.0)
        if texture < 0 or start < 0 or channels < 3 or gain.max() <= 1:
            continue
        size = int(model.tex_width[texture]) * int(model.tex_height[texture]) * channels
        pixels = model.tex_data[start : start + size].reshape(-1, channels)
        pixels[:, :3] = np.minimum(np.rint(pixels[:, :3] * gain), 255)
        model.mat_rgba[users, :3] /= gain
        own = np.isin(model.geom_matid, users) & (model.geom_rgba != USUAL).any(axis=1)  # in place of the material's
        model.geom_rgba[own, :3] /= gain
