"""Distractors: things of no use to the task, put where they are in nobody's way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError, suggest
from foretell.factors.factor import Factor, Given, Setting
from foretell.objects import ASSETS, CANS, DISTRACTORS, asset
from foretell.rotation import from_yaw, multiply
from foretell.scenario import Placement, Scenario
from foretell.tasks.task import Clutter, Task

__all__ = ["Distractor", "FewerObjects"]

COUNT, MOST = 2, 4
RADIUS = 0.06
"""Of a thing that is no distractor by trade, m, unless listed here."""
RADII = {
    "pepsi-can": 0.034,
    "7up-can": 0.034,
    "sprite-can": 0.034,
    "fanta-can": 0.034,
    "coke-can": 0.034,
    "toy-apple": 0.041,
    "toy-orange": 0.036,
    "kitchen-sponge": 0.064,
    "bridge-spoon": 0.074,
}
UPRIGHT = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
"""How a can stands: its own axis is y."""
APART = 0.015
"""Least gap between two distractors, m."""
GROWN = 0.03
"""Room left for what other factors do to the task's objects: they may grow, and be shifted by up to 3 cm."""
LAYOUTS, MANY, TRIES = 30, 300, 60
"""How often a whole layout is begun anew (of a list of things: MANY), and a place is sought for each thing in it."""


class Distractor(Factor):
    """Things about the task's objects; a value is a list of {asset, pos (x, y in m), yaw (rad)}."""

    name = "Distractor"
    changes = "physics"
    nominal, extreme = "none", f"{COUNT} of {len(DISTRACTORS)} things"
    source = "Colosseum 2b: 2 in most tasks, of 78 YCB models; these are our own"
    most = MOST / COUNT
    given = "name"

    def obstacle(self, task: Task) -> str | None:
        return None if task.clutter else "it declares no space for other things (`clutter`)"

    def names(self) -> Sequence[str]:
        return list(DISTRACTORS)

    def check(self, given: Given) -> None:
        """A name, or several in a list, which are then put down together."""
        several = [name for value in given.values if isinstance(value, tuple) for name in value]
        for name in several:
            if name not in ASSETS:
                raise UsageError(f"{self.name}: {name!r:.80} is not known; {suggest(str(name), list(ASSETS))}")
        if single := tuple(value for value in given.values if not isinstance(value, tuple)):
            super().check(Given(values=single))

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> list[dict[str, Any]]:
        area = task.clutter
        assert area is not None
        taken = [(*p.pos[:2], area.clearance + GROWN) for p in scenario.placements.values()]
        taken += area.keep_out
        if given and any(isinstance(value, tuple) for value in given.values):
            together = given.pick(rng)
            together = together if isinstance(together, tuple) else (together,)
            near = [
                *((*p.pos[:2], area.clearance) for p in scenario.placements.values()),
                *area.keep_out,
            ]  # nothing else changes in such an arm
            for _ in range(MANY):
                if (spots := _lay_out(rng, area, together, near)) is not None:
                    return spots
            raise UsageError(
                f"{self.name}: no room for {', '.join(together)} in scenario {scenario.id} of {task.name!r}"
            )
        wanted = max(round(COUNT * severity), 1 if severity > 0 else 0)  # an arm that changes nothing would be no arm
        # as many as there can be are drawn whatever the severity: a milder scene has the first few of them
        for count in range(MOST, wanted - 1, -1):
            for _ in range(LAYOUTS):
                things = [given.pick(rng) if given else str(rng.choice(list(DISTRACTORS))) for _ in range(count)]
                if (spots := _lay_out(rng, area, things, taken)) is not None:
                    return spots[:wanted]
        raise UsageError(f"{self.name}: no room for {wanted} things in scenario {scenario.id} of {task.name!r}")

    def apply(self, value: Any, setting: Setting) -> None:
        area = setting.task.clutter
        assert area is not None
        for index, thing in enumerate(value):
            model = asset(thing["asset"])
            body = setting.spec.worldbody.add_body(
                name=f"distractor{index}",
                pos=[*thing["pos"], area.height + model.rest],
                quat=_standing(thing),
            )
            body.add_freejoint(name=f"distractor{index}/free")
            model.add(setting.spec, body, np.ones(3), setting.physics)

    def card(self, value: Any) -> str:
        parts = [
            f"{v['asset']} at x {v['pos'][0]:+.3f} m, y {v['pos'][1]:+.3f} m, turned {math.degrees(v['yaw']):+.0f}°"
            for v in value
        ]
        return "put down " + "; ".join(parts) if parts else "nothing to put down"


class FewerObjects(Factor):
    """Objects of no use to the task are taken away; a value lists them."""

    name = "Fewer_Objects"
    changes = "physics"
    nominal, extreme = "all are there", "none that the task can do without"
    source = "SIMPLER: the variant no_distractor of move_near"

    def obstacle(self, task: Task) -> str | None:
        return super().obstacle(task) or (None if task.bystanders else "all its objects are of use")

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> list[str]:
        return list(task.bystanders[: math.ceil(severity * len(task.bystanders))])

    def place(self, value: Any, placements: Mapping[str, Placement], task: Task) -> Mapping[str, Placement]:
        x, y, z = task.aside
        moved = {name: placements[name] for name in value}
        return {**placements, **{n: p.model_copy(update={"pos": (x, y, z + p.pos[2])}) for n, p in moved.items()}}

    def card(self, value: Any) -> str:
        return f"take away: {', '.join(value)}" if value else "nothing to take away"


def _standing(thing: Mapping[str, Any]) -> Floats:
    """How a thing stands."""
    turn = from_yaw(np.asarray(thing["yaw"]))
    return multiply(turn, np.array(UPRIGHT)) if thing["asset"] in CANS else turn


def _lay_out(
    rng: np.random.Generator, area: Clutter, things: Sequence[str], taken: Sequence[tuple[float, float, float]]
) -> list[dict[str, Any]] | None:
    """Places for things within an area and outside circles (x, y, radius), or None where none were found."""
    circles, spots = list(taken), []
    for name in things:
        radius = DISTRACTORS[name].radius if name in DISTRACTORS else RADII.get(name, RADIUS)
        yaw = float(rng.uniform(-math.pi, math.pi))
        low, high = np.array([area.x, area.y]).T
        for x, y in rng.uniform(low + radius, high - radius, (TRIES, 2)):
            if all(math.hypot(x - a, y - b) > r + radius for a, b, r in circles):
                circles.append((x, y, radius + APART))
                spots.append({"asset": name, "pos": [float(x), float(y)], "yaw": yaw})
                break
        else:
            return None
    return spots
