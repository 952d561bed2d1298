"""A factor: a fact a person could set on the table, true in every world, applied relative to the world's nominal.

A factor's value is drawn when a study is planned and kept in `Scenario.factors`; running draws nothing but noise.
Severity scales how far a value lies from nominal: 0 is nominal, 1 the published extreme. The draw itself is the same
at every severity, so a curve over severity follows one and the same situation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import mujoco
import numpy as np

from foretell.errors import UsageError, suggest
from foretell.objects import ObjectPhysics, asset
from foretell.scenario import Placement, Scenario
from foretell.spec import ActionSpec, Feature
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task

__all__ = ["Factor", "Given", "Reason", "Setting", "furniture", "targets", "without_table"]


@dataclass(frozen=True)
class Reason:
    """Why a factor cannot be applied to a task."""

    factor: str
    task: str
    why: str

    def __str__(self) -> str:
        return f"{self.factor} does not apply to {self.task!r}: {self.why}"


@dataclass(frozen=True)
class Given:
    """Values that an arm asks for instead of a factor's own range: an interval, or a list to choose from."""

    low: float | None = None
    high: float | None = None
    values: tuple[Any, ...] = ()

    def pick(self, rng: np.random.Generator) -> Any:
        if self.values:
            return self.values[int(rng.integers(len(self.values)))]
        assert self.low is not None and self.high is not None, "an interval has two ends"
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The scene of one scenario, while it is built."""

    spec: mujoco.MjSpec
    task: TabletopTask
    scenario: Scenario
    seen: bool
    """Whether this model is drawn. The one that physics runs on has no look."""
    physics: ObjectPhysics
    """What this world believes of objects."""

    def geoms(self, body: str) -> list[Any]:
        """Geoms of a part that a factor may change. The legs of a table are a body of their own (`arena.legs`)."""
        part = self.spec.body(body)
        placed = self.scenario.placements.get(body)
        whole = placed is not None and not asset(placed.asset).free  # a fixture is made of several bodies
        return list(part.find_all("geom") if whole else part.geoms)

    def table(self) -> list[Any]:
        """Geoms of the table."""
        return self.geoms(self.task.table)


class Factor:
    """One factor. `draw`, `instruct`, `place`, `sizes` and `start` work on data, `apply` on a scene, `sense` and `act`
    on what passes between world and policy. Each is called only where `applies` is None."""

    name: ClassVar[str]
    changes: ClassVar[str] = "look"
    """What it may alter: look (nothing but images), physics, or sensing (what robot and policy are told)."""
    nominal: ClassVar[str] = ""
    extreme: ClassVar[str] = ""
    """The range at severity 1, in words."""
    source: ClassVar[str] = ""
    most: ClassVar[float] = 1.0
    """Largest severity that makes sense."""
    given: ClassVar[str | None] = None
    """What an arm may set it to: `number`, `name` or None."""
    limits: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    """Numbers that an arm may ask for."""

    def applies(self, task: Task) -> Reason | None:
        """None where the factor can be applied to a task, else why not."""
        why = task.fixed.get(self.name) or self.obstacle(task)
        return Reason(self.name, task.name, why) if why else None

    def obstacle(self, task: Task) -> str | None:
        """What in the task stands in the way, in words."""
        return None if task.robots else "it has no robot that foretell simulates"

    def check(self, given: Given) -> None:
        """Raises UsageError for values that the factor cannot take."""
        if self.given is None:
            raise UsageError(f"{self.name} takes a severity, not values")
        low, high = self.limits
        for value in given.values or (given.low, given.high):
            if self.given == "number":
                if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                    raise UsageError(f"{self.name}: {value!r} should be a number from {low:g} to {high:g}")
            elif value not in self.names():
                raise UsageError(f"{self.name}: {value!r} is not known; {suggest(str(value), self.names())}")

    def names(self) -> Sequence[str]:
        """The names a `name` factor knows."""
        return ()

    def span(self, task: Task, default: tuple[float, float]) -> tuple[float, float]:
        """The range for a task: its own where it has one."""
        low, high = task.ranges.get(self.name, default)
        return float(low), float(high)

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> Any:
        """A value for a scenario, JSON-able. `rng` is the factor's own."""
        raise NotImplementedError

    def instruct(self, value: Any, instruction: str) -> str:
        """What the policy is asked instead of `instruction`. Called when a study is planned."""
        return instruction

    def place(self, value: Any, placements: Mapping[str, Placement], task: Task) -> Mapping[str, Placement]:
        """Where, and how large, objects are. Called before they are built."""
        return placements

    def sizes(self, value: Any, task: Task) -> Mapping[str, float]:
        """Object -> how many times as large it is as in the clean scenario, where the factor resizes it. Tasks judge by
        it. Called at reset."""
        return {}

    def apply(self, value: Any, setting: Setting) -> None:
        """Change a scene that has all its bodies. Called once per model: of physics, and of images."""

    def start(self, value: Any, start: Mapping[str, tuple[float, ...]], task: Task) -> Mapping[str, tuple[float, ...]]:
        """Where what has joints starts, by the names of `Scenario.start`. Called at reset; worlds keep limits."""
        return start

    def sense(self, value: Any, feature: Feature, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What a sensor shows instead of `sample`. Called for each look at a feature that has noise, in one slot."""
        return sample

    def act(self, value: Any, action: np.ndarray, spec: ActionSpec, rng: np.random.Generator) -> np.ndarray:
        """What becomes of an action (dim,). Called for each command, in one slot."""
        return action

    def card(self, value: Any) -> str:
        """What a person changes on a real table."""
        return str(value)

    def card_among(self, value: Any, factors: Mapping[str, Any]) -> str | None:
        """The card where all these factors are on; None where that of another one says it."""
        return self.card(value)


@lru_cache(maxsize=64)
def furniture(task: Task) -> frozenset[str]:
    """What a task's scene has before any object is in it: `body/NAME`, `geom/NAME`, `texture/NAME`, and `light`."""
    if not isinstance(task, TabletopTask):
        return frozenset()
    spec = mujoco.MjSpec()
    try:
        task.build(spec)
    except NotImplementedError:  # a task of another simulator
        return frozenset()
    named = {"body": spec.bodies, "geom": spec.geoms, "texture": spec.textures}
    names = {f"{kind}/{thing.name}" for kind, things in named.items() for thing in things}
    return frozenset(names | ({"light"} if spec.lights else set()))


def without_table(task: Task) -> str | None:
    """Why a factor of the table does not apply; None where the scene has one."""
    if not isinstance(task, TabletopTask):
        return "it has no table that foretell simulates"
    if f"body/{task.table}" in furniture(task):
        return None
    role = task.roles.get(task.table)
    return f"its table is the {task.table}, which {role}_Color and {role}_Texture change" if role else "it has no table"


def targets(task: Task, role: str) -> list[str]:
    """Objects of a role."""
    return [name for name, has in task.roles.items() if has == role]
