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

__all__ = ["Colours", "Light", "Painted"]

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

    def decides(self) -> dict[str, Any]:
        return {**super().decides(), "image": f"sha256:{self._photo.sha256}"}  # wherever the file is


def paint(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, pieces: Sequence[SurfaceChart], image: np.ndarray, scale: np.ndarray
) -> None:
    """Show the charts of an object in place of its own look."""
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
