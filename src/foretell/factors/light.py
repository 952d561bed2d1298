"""Light: its colour, and where it comes from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given, Setting, furniture
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["LightColor", "LightingPosition"]


class _Lamp(Factor):
    def obstacle(self, task: Task) -> str | None:
        return None if "light" in furniture(task) else "its scene has no lamp"


class LightColor(_Lamp):
    """Colour and strength of the lamps; a value is a gain for red, green, blue. Ambient light stays."""

    name = "Light_Color"
    nominal, extreme = "1, 1, 1", "gain uniform in 0-1 per channel"
    source = "Colosseum 2a: light RGB [0]*3-[.5]*3, half being its lamps' full strength"
    given, limits = "number", (0.0, 2.0)

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> list[float]:
        if given:
            return [float(given.pick(rng)) for _ in range(3)]
        low, high = self.span(task, (0.0, 1.0))
        gains: list[float] = (1 + severity * (rng.uniform(low, high, 3) - 1)).tolist()
        return gains

    def apply(self, value: Any, setting: Setting) -> None:
        if not setting.seen:
            return
        gain, head = np.asarray(value, dtype=float), setting.spec.visual.headlight
        for light in setting.spec.lights:
            light.diffuse, light.specular = np.asarray(light.diffuse) * gain, np.asarray(light.specular) * gain
        head.diffuse, head.specular = np.asarray(head.diffuse) * gain, np.asarray(head.specular) * gain

    def card(self, value: Any) -> str:
        red, green, blue = (f"{100 * g:.0f} %" for g in value)
        return f"set the lamps to {red} red, {green} green, {blue} blue of their usual light"


class LightingPosition(_Lamp):
    """Where the lamp stands; a value is {turn, tilt}: degrees about the vertical, and from it."""

    name = "Lighting_Position"
    nominal, extreme = "0, 0", "turned up to 90 degrees, tilted up to 25"
    source = "robosuite and RoboTwin vary light poses; the range is our own"
    most = 1.5

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, float]:
        turn, tilt = severity * rng.uniform((-90, -25), (90, 25))
        return {"turn": float(turn), "tilt": float(tilt)}

    def apply(self, value: Any, setting: Setting) -> None:
        if not setting.seen:
            return
        for light in setting.spec.lights:
            x, y, z = np.asarray(light.dir, dtype=float)
            away = math.atan2(math.hypot(x, y), -z) + math.radians(value["tilt"])
            turn = math.atan2(y, x) + math.radians(value["turn"])
            sideways = math.sin(away)
            light.dir = [sideways * math.cos(turn), sideways * math.sin(turn), -math.cos(away)]

    def card(self, value: Any) -> str:
        return f"move the lamp by {value['turn']:+.0f}° around the table, {value['tilt']:+.0f}° lower"
