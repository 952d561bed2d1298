"""Friction and mass of the object that is handled, and friction of joints, relative to what each world believes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given, Setting, targets
from foretell.objects import Fixture, asset
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["JointFriction", "ObjectFriction", "ObjectMass"]


class _Ratio(Factor):
    """A value is a ratio."""

    changes = "physics"
    nominal, given, limits = "1", "number", (0.01, 100.0)
    default: tuple[float, float]

    def obstacle(self, task: Task) -> str | None:
        return None if targets(task, "MO") else "it has no object with role MO"

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> float:
        if given:
            return float(given.pick(rng))
        return float(1 + severity * (rng.uniform(*self.span(task, self.default)) - 1))


class ObjectFriction(_Ratio):
    """Sliding friction of the object that is handled, against table and fingers alike."""

    name, default = "Object_Friction", (0.75, 1.0)
    extreme = "ratio uniform in 0.75-1"
    source = "Colosseum 2a: friction .75-1.0"
    most = 3.0

    def apply(self, value: Any, setting: Setting) -> None:
        # of two geoms in contact the one with the higher priority decides, pads (2) before objects (1): both change
        geoms = [g for name in targets(setting.task, "MO") for g in setting.geoms(name)]
        geoms += [g for g in setting.spec.geoms if g.priority == 2]
        for geom in geoms:
            friction = np.array(geom.friction)
            friction[0] *= value
            geom.friction = friction

    def card(self, value: Any) -> str:
        return f"treat the object's surface until its sliding friction is {value:.0%} of before"


class ObjectMass(_Ratio):
    """Mass of the object that is handled, spread as before."""

    name, default = "Object_Mass", (0.5, 2.5)
    extreme = "ratio uniform in 0.5-2.5"
    source = "Colosseum 2b: absolute masses per task; as ratio, those of reach_and_drag (.5-2.5)"
    most = 1.5

    def apply(self, value: Any, setting: Setting) -> None:
        for name in targets(setting.task, "MO"):
            body = setting.spec.body(name)
            body.mass, body.inertia = body.mass * value, np.asarray(body.inertia) * value

    def card(self, value: Any) -> str:
        return f"make the object weigh {value:.2f} times as much"


class JointFriction(_Ratio):
    """Dry friction in the joints of furniture, such as drawers."""

    name, default = "Joint_Friction", (0.25, 4.0)
    extreme = "ratio uniform in 0.25-4"
    source = "SIMPLER's Table X: a cabinet with 0.0125 to 0.20, where its own is 0.05"

    def obstacle(self, task: Task) -> str | None:
        return None if _jointed(task) else "it has no furniture with joints"

    def apply(self, value: Any, setting: Setting) -> None:
        for name in _jointed(setting.task):
            for joint in setting.spec.body(name).find_all("joint"):
                joint.frictionloss *= value

    def card(self, value: Any) -> str:
        return f"make drawers and lids move with {value:.2f} times the friction"


@lru_cache(maxsize=64)
def _jointed(task: Task) -> list[str]:
    """Furniture of a task that has joints."""
    if not task.robots:
        return []
    placed = {name: asset(placement.asset) for name, placement in task.scenario(0).placements.items()}
    return [name for name, part in placed.items() if isinstance(part, Fixture) and part.joints]
