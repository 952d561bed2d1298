"""Textures: on objects, table, background and robot. The pictures themselves are made in `patterns`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Bytes
from foretell.factors.colour import in_words
from foretell.factors.factor import Factor, Given, Setting, furniture, targets, without_table
from foretell.factors.patterns import PLAIN, TEXTURES, texture
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["BackgroundTexture", "MOTexture", "ROTexture", "RobotTexture", "TableTexture"]

FACE, FLAT = 64, 128
"""Pixels along a side: of each face of an object, of a table or floor."""
ROLE = mujoco.mjtTextureRole.mjTEXROLE_RGB


def blended(name: str, size: int, nominal: Sequence[float], mix: float) -> Bytes:
    """(size, size, 3) uint8: a texture, faded towards a plain colour below mix 1."""
    image = texture(name, size)
    if mix == 1:
        return image
    plain = 255 * np.asarray(nominal[:3])
    faded: Bytes = np.clip(plain + mix * (image - plain), 0, 255).astype(np.uint8)
    return faded


def cover(setting: Setting, label: str, geoms: Sequence[Any], value: Any, tinted: bool, flat: float | None) -> None:
    """Give geoms a material with a texture: wrapped around each (flat None), or `flat` copies a metre from above.
    `tinted`: another factor has chosen their colour, and it shines through."""
    spec, mix = setting.spec, value["mix"]
    if mix == 0 or not geoms:
        return
    size = FACE if flat is None else FLAT
    image = blended(value["name"], size, geoms[0].rgba, mix)
    if flat is None:
        added = spec.add_texture(
            name=label, type=mujoco.mjtTexture.mjTEXTURE_CUBE, width=size, height=6 * size, nchannel=3
        )
        added.data = np.tile(image, (6, 1, 1)).tobytes()
        material = spec.add_material(name=label)
    else:
        added = spec.add_texture(name=label, type=mujoco.mjtTexture.mjTEXTURE_2D, width=size, height=size, nchannel=3)
        added.data = image.tobytes()
        material = spec.add_material(name=label, texrepeat=[flat, flat], texuniform=True)
    material.textures[ROLE] = label
    for geom in geoms:
        colour = np.asarray(geom.rgba, dtype=float)
        # a geom's colour multiplies its texture: white leaves it as it is
        geom.rgba, geom.material = [*(tint(colour[:3]) if tinted else np.ones(3)), colour[3]], label


def tint(rgb: Sequence[float] | np.ndarray) -> np.ndarray:
    """What a texture's red, green and blue are multiplied by on a colour."""
    return 0.4 + 0.6 * np.asarray(rgb)


class _Texture(Factor):
    """A value is {name, mix}."""

    nominal, extreme = "plain", f"any of {len(TEXTURES)} generated textures"
    source = "Colosseum 2a: 213 textures; these are our own"
    given = "name"
    where: str

    def names(self) -> Sequence[str]:
        return [*TEXTURES, *PLAIN]

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, Any]:
        name = given.pick(rng) if given else TEXTURES[int(rng.integers(len(TEXTURES)))]
        return {"name": name, "mix": float(severity)}

    def card(self, value: Any) -> str:
        faded = "" if value["mix"] == 1 else f", faded to {value['mix']:.0%}"
        return f"cover {self.where} with a print of texture {value['name']!r}{faded}"

    def card_among(self, value: Any, factors: Mapping[str, Any]) -> str | None:
        colour = factors.get(self.name.replace("Texture", "Color"))
        if colour is None or value["mix"] == 0:
            return self.card(value)
        how = "tinted" if colour["mix"] == 1 else f"tinted by {colour['mix']:.0%} towards"
        text = f"{self.card(value)}, {how} {in_words(colour)} as in simulation"
        if colour["mix"] < 1:  # how much depends on the colour below, which only the world knows
            return text
        return f"{text}: its red, green and blue times {', '.join(f'{c:.2f}' for c in tint(colour['rgb']))}"


class _ObjectTexture(_Texture):
    role: str

    def obstacle(self, task: Task) -> str | None:
        return None if targets(task, self.role) else f"it has no object with role {self.role}"

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            tinted = f"{self.role}_Color" in setting.scenario.factors
            for name in targets(setting.task, self.role):
                cover(setting, f"{self.name}/{name}", setting.geoms(name), value, tinted, None)


class MOTexture(_ObjectTexture):
    """Texture of the object that is handled."""

    name, role, where = "MO_Texture", "MO", "the object to handle"


class ROTexture(_ObjectTexture):
    """Texture of the object that receives it."""

    name, role, where = "RO_Texture", "RO", "the receiving object"


class TableTexture(_Texture):
    """Texture of the table top."""

    name, where = "Table_Texture", "the table"

    def obstacle(self, task: Task) -> str | None:
        return without_table(task)

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            tinted = "Table_Color" in setting.scenario.factors
            cover(setting, self.name, setting.table(), value, tinted, 2.5)


class BackgroundTexture(_Texture):
    """Texture of floor and walls."""

    name, where = "Background_Texture", "floor and walls behind the table"

    def obstacle(self, task: Task) -> str | None:
        missing = {"geom/floor", "texture/sky"} - furniture(task)
        return f"its scene has no {min(missing)}" if missing else None

    def apply(self, value: Any, setting: Setting) -> None:
        if not setting.seen or value["mix"] == 0:
            return
        cover(setting, self.name, [setting.spec.geom("floor")], value, False, 1.0)
        sky = setting.spec.texture("sky")
        image = blended(value["name"], sky.width, (0.8, 0.82, 0.85), value["mix"])
        sky.builtin, sky.nchannel = mujoco.mjtBuiltin.mjBUILTIN_NONE, 3
        sky.data = np.tile(image, (6, 1, 1)).tobytes()


class RobotTexture(_Texture):
    """Texture of the arm (SIMPLER's arm-colour shift)."""

    name, where = "Robot_Texture", "the arm's shells"
    source = "SIMPLER: arm texture shifts"

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            for robot in setting.task.robots:
                cover(setting, f"{self.name}/{robot}", list(_shells(setting, robot)), value, False, None)


def _shells(setting: Setting, robot: str) -> Iterable[Any]:
    """The arm's visible geoms: not its pads, which are collision shapes, nor its pedestal."""
    for geom in setting.spec.geoms:
        if geom.group == 2 and geom.material.startswith(f"{robot}/"):
            yield geom
