"""Size of the manipulated and the receiving object: whole objects, the same along every axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given, Setting, targets
from foretell.objects import asset
from foretell.scenario import Placement, Scenario
from foretell.tasks.task import Task

__all__ = ["MOSize", "ROSize"]


class _Size(Factor):
    """A value is a ratio to the scenario's own size. Mass and inertia follow, as the material stays the same."""

    role: str
    changes = "physics"
    nominal, extreme = "1", "ratio uniform in 0.75-1.25; tasks narrow it"
    source = "Colosseum 2b: scale_range, per task"
    most = 1.5
    given, limits = "number", (0.2, 3.0)

    def obstacle(self, task: Task) -> str | None:
        return None if targets(task, self.role) else f"it has no object with role {self.role}"

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> float:
        if given:
            return float(given.pick(rng))
        return float(1 + severity * (rng.uniform(*self.span(task, (0.75, 1.25))) - 1))

    def place(self, value: Any, placements: Mapping[str, Placement], task: Task) -> Mapping[str, Placement]:
        changed = dict(placements)
        for name in targets(task, self.role):
            if name in placements:
                was = placements[name]
                x, y, z = was.pos
                sits = asset(was.asset).rest * was.scale[2] * (value - 1)  # it still stands on the same surface
                scale = tuple(s * value for s in was.scale)
                changed[name] = was.model_copy(update={"pos": (x, y, z + sits), "scale": scale})
        return changed

    def sizes(self, value: Any, task: Task) -> Mapping[str, float]:
        return dict.fromkeys(targets(task, self.role), value)

    def apply(self, value: Any, setting: Setting) -> None:
        for name in targets(setting.task, self.role):
            if name not in setting.scenario.placements:  # it stands still: about its own origin, on the table
                for geom in setting.geoms(name):
                    geom.size = np.asarray(geom.size) * value
                    geom.pos = np.asarray(geom.pos) * value

    def card(self, value: Any) -> str:
        what = {"MO": "the object to handle", "RO": "the receiving object"}[self.role]
        return f"print {what} at {value:.1%} of its size"


class MOSize(_Size):
    """Size of the object that is handled."""

    name, role = "MO_Size", "MO"


class ROSize(_Size):
    """Size of the object that receives it."""

    name, role = "RO_Size", "RO"
