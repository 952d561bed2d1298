"""Colours: of the manipulated and the receiving object, and of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given, Setting, furniture, targets
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["COLOURS", "MOColor", "ROColor", "TableColor", "paint"]

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


class _Object(Factor):
    """A named colour for every object of a role; a value is {name, rgb, mix}."""

    role: str
    nominal, extreme = "the object's own", "any of 20 named colours, all over"
    source = "Colosseum 2a: 20 named RGB colours"
    given = "name"

    def obstacle(self, task: Task) -> str | None:
        return None if targets(task, self.role) else f"it has no object with role {self.role}"

    def names(self) -> Sequence[str]:
        return list(COLOURS)

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
        return f"{how} {what} {value['name']} (RGB {', '.join(f'{c:.2g}' for c in value['rgb'])})"


class MOColor(_Object):
    """Colour of the object that is handled."""

    name, role = "MO_Color", "MO"


class ROColor(_Object):
    """Colour of the object that receives it."""

    name, role = "RO_Color", "RO"


class TableColor(Factor):
    """Colour of the table top; a value is {rgb, mix}."""

    name = "Table_Color"
    nominal, extreme = "the table's own", "RGB uniform in 0.25-1 each"
    source = "Colosseum 2a: table_color [.25]*3-[1]*3"
    given = "name"

    def obstacle(self, task: Task) -> str | None:
        return None if f"body/{task.table}" in furniture(task) else f"its scene has no body {task.table!r}"

    def names(self) -> Sequence[str]:
        return list(COLOURS)

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, Any]:
        rgb = COLOURS[given.pick(rng)] if given else rng.uniform(0.25, 1.0, 3).tolist()
        return {"rgb": list(map(float, rgb)), "mix": float(severity)}

    def apply(self, value: Any, setting: Setting) -> None:
        if setting.seen:
            paint(setting.geoms(setting.task.table), value["rgb"], value["mix"])

    def card(self, value: Any) -> str:
        code = "".join(f"{round(255 * c):02x}" for c in value["rgb"])
        how = "cover the table with" if value["mix"] == 1 else f"tint the table by {value['mix']:.0%} towards"
        return f"{how} plain colour #{code}"
