"""A task: what is asked. One short module each; everything is written on arrays with a leading slot axis.

This is the noun, for any world. Tasks that MuJoCo simulates on a table derive from `tasks.tabletop.TabletopTask`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera
from foretell.scenario import Scenario
from foretell.tasks.state import State

if TYPE_CHECKING:
    from foretell.policy import Policy

__all__ = ["Clutter", "Mount", "Stage", "Task", "Variants"]


@dataclass(frozen=True)
class Mount:
    """Where a robot's base stands in the task frame."""

    robot: str
    """Name in the registry of robots."""
    pos: tuple[float, float, float]
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    stand: bool = True
    """Whether a pedestal is drawn under it, where it does not stand on the floor."""


@dataclass(frozen=True)
class Stage:
    """A step on the way, with the threshold that decides it, in words a person could check by."""

    name: str
    threshold: str
    actions: int = 1
    """Successive actions after each of which it must hold."""


@dataclass(frozen=True, kw_only=True)
class Clutter:
    """Where things that have no part in the task may stand."""

    x: tuple[float, float]
    y: tuple[float, float]
    """Ranges in the task frame, m; things stay within."""
    height: float = 0.0
    """Of the surface."""
    clearance: float = 0.07
    """Least distance from the middle of a task's object to the edge of a thing, m."""
    keep_out: tuple[tuple[float, float, float], ...] = ()
    """Circles (x, y, radius) to stay out of: what stands still, and where the hand starts."""


Variants = Literal["tabletop", "near", "drawers"]
"""Sets of variants that SIMPLER publishes."""


class Task:
    """Base of all tasks. Subclasses set the attributes and override the methods below them."""

    name: str
    version: int = 1
    """Raised whenever a change could alter an outcome; part of every episode's key. A task of one's own is known by its
    source too (see `tasks.identity`), and need not raise it."""
    instruction: str = ""
    paraphrases: tuple[str, ...] = ()
    """The instruction in other words; none, and the factor Instruction has nothing to draw."""
    robots: Mapping[str, Mount] = {}
    cameras: Mapping[str, Camera] = {}
    roles: Mapping[str, str] = {}
    """Object -> its role: MO (manipulated), RO (receiving)."""
    ranges: Mapping[str, tuple[float, float]] = {}
    """Factor -> its range at severity 1, where the factor's own would not do."""
    fixed: Mapping[str, str] = {}
    """Factor -> why it cannot change here."""
    variants: Variants | None = None
    """Which of SIMPLER's published variants it has; see `tasks.variants`."""
    crowded: bool = False
    """Whether SIMPLER's distractors have no room beside its things."""
    clutter: Clutter | None = None
    """Where distractors may stand."""
    bystanders: tuple[str, ...] = ()
    """Objects of no use to the task, which the factor Fewer_Objects takes away."""
    aside: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Where they are put then: away from robot and cameras, m; z is the height of what they stand on."""
    lowest: float = 0.0
    """Height down to which objects belong, m: more than 10 cm below it they have left the scene."""
    stages: tuple[Stage, ...] = ()
    controller: str = "ee_delta"
    action_rate: float = 20.0
    time_limit: float = 20.0
    """Simulated seconds."""
    success_rule: str = "any"
    """`any`: solved at any action counts, and ends the episode; `end`: only the end counts."""
    memory: int = 0
    """How many numbers of an episode `remember` keeps: for a rule that depends on more than the present moment."""

    def scenario(self, seed: int) -> Scenario:
        """The scenario of a seed: everything is resolved. Called when a study is planned, never while it runs."""
        raise NotImplementedError

    def layouts(self) -> Sequence[Scenario]:
        """The published layouts, in their order (`scenarios: {layouts: all}`); none for a task that only draws."""
        return ()

    def layout_count(self) -> int:
        """How many `layouts` there are."""
        return len(self.layouts())

    def check(self, scenario: Scenario) -> None:
        """Raise UsageError for a scenario that cannot be run. Called when a study is planned, for scenarios that come
        from a file or another run."""

    def remember(self, state: State) -> Floats:
        """(n, memory) what to keep from now on, given what was kept so far (`state.memory`). Called once after each
        action, before `reached` and `solved`; only where `memory` is not 0."""
        raise NotImplementedError

    def reached(self, state: State) -> dict[str, Bools]:
        """Stage -> (n,) bool, at this moment. Called after each action; the world latches it."""
        raise NotImplementedError

    def solved(self, state: State) -> Bools:
        """(n,) bool, at this moment."""
        raise NotImplementedError

    def metrics(self, state: State) -> Mapping[str, Floats | Bools]:
        """Name -> (n,) numbers for the row, at this moment. Called once, at the end of an episode."""
        return {}

    def paraphrased(self, scenario: Scenario) -> Sequence[str]:
        """The instruction of a scenario in other words. Tasks whose scenarios ask for different things override it."""
        return self.paraphrases

    def instructions(self, state: State) -> Sequence[str] | None:
        """What each slot is asked at this moment, n texts; None: what its scenario says. Called at every look."""
        return None

    def on_terminate(self, state: State) -> Bools:
        """(n,) bool: does the episode go on with the next subtask, now that the policy declares itself done?"""
        return np.zeros(len(state.subtask), dtype=bool)

    def expert(self) -> Policy:
        """A scripted policy that solves the task through the same controller as any other."""
        raise NotImplementedError(f"task {self.name!r} has no scripted expert")
