"""A task: what is asked. One short module each; everything is written on arrays with a leading slot axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import mujoco
import numpy as np
from pydantic import ValidationError

from foretell.errors import UsageError
from foretell.registry import resolve
from foretell.scenario import Placement, Scenario
from foretell.seeding import generator

if TYPE_CHECKING:
    from foretell.policy import Policy

__all__ = ["Camera", "Clutter", "Mount", "Stage", "State", "Task"]


@dataclass(frozen=True)
class Mount:
    """Where a robot's base stands in the task frame."""

    robot: str
    """Name in the registry of robots."""
    pos: tuple[float, float, float]
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Camera:
    """A camera fixed in the task frame."""

    pos: tuple[float, float, float]
    target: tuple[float, float, float]
    """The point it looks at."""
    fovy: float = 45.0
    """Vertical field of view, degrees."""


@dataclass(frozen=True)
class Stage:
    """A step on the way, with the threshold that decides it, in words a person could check by."""

    name: str
    threshold: str


@dataclass(frozen=True)
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


class State(Protocol):
    """What a task may look at: the true state of n slots. Positions in m, task frame."""

    def pos(self, name: str) -> np.ndarray:
        """(n, 3) position of an object."""

    def quat(self, name: str) -> np.ndarray:
        """(n, 4) orientation of an object."""

    def ee_pos(self, robot: str) -> np.ndarray:
        """(n, 3) point between the finger tips."""

    def holding(self, robot: str, name: str) -> np.ndarray:
        """(n,) bool: both fingers touch the object."""

    def size(self, name: str) -> np.ndarray:
        """(n,) how many times as large as in its clean scenario an object is (factors MO_Size, RO_Size)."""


class Task:
    """Base of all tasks. Subclasses set the attributes and override the methods below them."""

    name: str
    version: int = 1
    """Raised whenever a change could alter an outcome; part of every episode's key. A task of one's own is known by its
    source too (see `tasks.identity`), and need not raise it."""
    instruction: str = ""
    robots: Mapping[str, Mount] = {}
    roles: Mapping[str, str] = {}
    """Object -> its role: MO (manipulated), RO (receiving)."""
    table: str = "table"
    """The body whose colour and texture are the table's."""
    ranges: Mapping[str, tuple[float, float]] = {}
    """Factor -> its range at severity 1, where the factor's own would not do."""
    fixed: Mapping[str, str] = {}
    """Factor -> why it cannot change here."""
    clutter: Clutter | None = None
    """Where distractors may stand."""
    paraphrases: tuple[str, ...] = ()
    """The instruction in other words."""
    stages: tuple[Stage, ...] = ()
    cameras: Mapping[str, Camera] = {}
    film: Camera | None = None
    """Where films are taken from; None: from the camera `overview`, or the first. It is no camera of the scene:
    policies cannot read it, and factors do not move it."""
    controller: str = "ee_delta"
    action_rate: float = 20.0
    time_limit: float = 20.0
    """Simulated seconds."""
    success_rule: str = "any"
    """`any`: solved at any action counts, and ends the episode; `end`: only the end counts."""
    start_noise: float = 0.02
    """Standard deviation of the robot's start about its home, rad."""

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Draw where the objects start. Called when a study is planned, never while it runs."""
        raise NotImplementedError

    def build(self, spec: mujoco.MjSpec) -> None:
        """Add what stands still (table, bins, pegs) to the scene. Called once per world."""
        raise NotImplementedError

    def reached(self, state: State) -> dict[str, np.ndarray]:
        """Stage -> (n,) bool, at this moment. Called after each action; the world latches it."""
        raise NotImplementedError

    def solved(self, state: State) -> np.ndarray:
        """(n,) bool, at this moment."""
        raise NotImplementedError

    def expert(self) -> Policy:
        """A scripted policy that solves the task through the same controller as any other."""
        raise NotImplementedError(f"task {self.name!r} has no scripted expert")

    def _placed(self, rng: np.random.Generator, seed: int) -> dict[str, Placement]:
        """What `place` returns. Raises UsageError where it is not what the task needs."""
        who = f"task {self.name!r}: place() for seed {seed}"
        try:
            found = self.place(rng)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            said = first["msg"].removeprefix("Value error, ")
            raise UsageError(f"{who}: {field}: {said} (given: {first.get('input')!r:.100})") from None
        if not isinstance(found, Mapping):
            raise UsageError(f"{who} returns {type(found).__name__}, it should be a dict of object -> Placement")
        for name, role in self.roles.items():
            if role == "MO" and name not in found:
                has = ", ".join(map(repr, found)) or "nothing"
                raise UsageError(f"{who} returns {has}: {name!r}, which the robot is to move, has no Placement")
        return dict(found)

    def scenario(self, seed: int) -> Scenario:
        """The scenario of a seed: all placements resolved."""
        rng = generator(f"{self.name}/{seed}", 0, "layout")
        placements = self._placed(rng, seed)
        start = {}
        for name, mount in self.robots.items():
            robot = resolve("robots", mount.robot)
            low, high = np.asarray(robot.joint_range).T
            drawn = np.clip(np.asarray(robot.home) + self.start_noise * rng.standard_normal(len(robot.home)), low, high)
            start[name] = tuple(map(float, drawn))
        return Scenario(
            task=self.name, seed=seed, placements=placements, robot_start=start, instruction=self.instruction
        )
