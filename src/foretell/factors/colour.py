"""Colours: of the manipulated and the receiving object, and of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given, Setting, targets, without_table
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["COLOURS", "MOColor", "ROColor", "TableColor", "in_words", "paint"]

COLOURS: dict[str, tuple[float, float, float]] = {
    "red": (1, 0, 0),
    "maroon": (0.5, 0, 0),
    "lime": (0, 1, 0),
    "green": (0, 0.5, 0),
    "blue": (0, 0, 1),
    "navy": (0, 0, 0.5),
    "yellow": (1, 1, 0),
    "cyan": (0, 1, 1),
    "magenta": (1, 0, 1),
    "silver": (0.75, 0.75, 0.75),
    # not (0.5, 0.5, 0.5): MuJoCo takes exactly that to mean "the material's colour"
    "gray": (0.502, 0.502, 0.502),
    "orange": (1, 0.5, 0),
    "olive": (0.5, 0.5, 0),
    "purple": (0.5, 0, 0.5),
    "teal": (0, 0.5, 0.5),
    "azure": (0, 0.5, 1),
    "violet": (0.5, 0, 1),
    "rose": (1, 0, 0.5),
    "black": (0, 0, 0),
    "white": (1, 1, 1),
}
"""RLBench's 20 named colours, which THE COLOSSEUM draws from."""


def paint(geoms: Sequence[Any], rgb: Sequence[float], mix: float) -> None:
    """Move the colour of geoms towards `rgb`: by all the way at mix 1."""
    for geom in geoms:
        before = np.asarray(geom.rgba, dtype=float)
        mixed = before[:3] + mix * (np.asarray(rgb, dtype=float) - before[:3])
        if np.allclose(mixed, 0.5, atol=1e-3):
            mixed += 0.002
        geom.rgba = [*mixed, before[3]]
        if mix > 0:
            geom.material = ""  # its texture would be multiplied by the colour


def in_words(value: Any) -> str:
    """A colour in words: `teal (RGB 0, 0.5, 0.5)`, or `#ffcc00` where it has no name."""
    if "name" in value:
        return f"{value['name']} (RGB {', '.join(f'{c:.2g}' for c in value['rgb'])})"
    return "#" + "".join(f"{round(255 * c):02x}" for c in value["rgb"])


class _Colour(Factor):
    """A value has rgb and mix."""

    given = "name"

    def names(self) -> Sequence[str]:
        return list(COLOURS)

    def card_among(self, value: Any, factors: Mapping[str, Any]) -> str | None:
        texture = factors.get(self.name.replace("Color", "Texture"))
        return None if texture and texture["mix"] > 0 else self.card(value)  # a texture lies on it


class _Object(_Colour):
    """A named colour for every object of a role; a value is {name, rgb, mix}."""

    role: str
    nominal, extreme = "the object's own", "any of 20 named colours, all over"
    source = "Colosseum 2a: 20 named RGB colours"

    def obstacle(self, task: Task) -> str | None:
        return None if targets(task, self.role) else f"it has no object with role {self.role}"

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, Any]:
        name = given.pick(rng) if given else list(COLOURS)[int(rng.integers(len(COLOURS)))]
        return {"name": name, "rgb": list(map(float, COLOURS[name])), "mix": float(severity)}

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            for name in targets(setting.task, self.role):
                paint(setting.geoms(name), value["rgb"], value["mix"])

    def card(self, value: Any) -> str:
        what = {"MO": "the object to handle", "RO": "the receiving object"}[self.role]
        how = "paint or wrap" if value["mix"] == 1 else f"tint by {value['mix']:.0%}"
        return f"{how} {what} {in_words(value)}"


class MOColor(_Object):
    """Colour of the object that is handled."""

    name, role = "MO_Color", "MO"


class ROColor(_Object):
    """Colour of the object that receives it."""

    name, role = "RO_Color", "RO"


class TableColor(_Colour):
    """Colour of the table top; a value is {rgb, mix}."""

    name = "Table_Color"
    nominal, extreme = "the table's own", "RGB uniform in 0.25-1 each"
    source = "Colosseum 2a: table_color [.25]*3-[1]*3"

    def obstacle(self, task: Task) -> str | None:
        return without_table(task)

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, Any]:
        rgb = COLOURS[given.pick(rng)] if given else rng.uniform(0.25, 1.0, 3).tolist()
        return {"rgb": list(map(float, rgb)), "mix": float(severity)}

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            paint(setting.table(), value["rgb"], value["mix"])

    def card(self, value: Any) -> str:
        how = "cover the table with" if value["mix"] == 1 else f"tint the table by {value['mix']:.0%} towards"
        return f"{how} plain colour {in_words(value)}"
