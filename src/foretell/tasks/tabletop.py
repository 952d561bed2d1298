"""Tasks on a table, built with MjSpec: furniture, robots, and objects and fixtures that each scenario places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from pydantic import ValidationError

from foretell.camera import Camera
from foretell.errors import UsageError
from foretell.registry import resolve
from foretell.scenario import Placement, Scenario, first_fault
from foretell.seeding import generator
from foretell.tasks.task import Task

__all__ = ["TabletopTask"]


class TabletopTask(Task):
    """A task that MuJoCo simulates. Subclasses add `place` and `build` to what a task has."""

    table: str = "table"
    """The body whose colour and texture are the table's."""
    film: Camera | None = None
    """Where films are taken from; None: from the camera `overview`, or the first. It is no camera of the scene:
    policies cannot read it, and factors do not move it."""
    touch: tuple[tuple[str, str], ...] = ()
    """Pairs of parts for `State.touching` and `State.contacts`, besides a robot's pads and objects. Bodies of the scene
    may be named too. The second may be `*`: anything."""
    start_noise: float = 0.02
    """Standard deviation of a robot's start about its home, rad."""

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Draw where objects and fixtures start. Called when a study is planned, never while it runs."""
        raise NotImplementedError

    def start(self, rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
        """Draw the start of what has joints, besides the robots' first groups: `{"drawer": (0.1,)}`. Called after
        `place`, with the same generator."""
        return {}

    def build(self, spec: mujoco.MjSpec) -> None:
        """Add what stands still (table, bins, pegs) to the scene. Called once per world."""
        raise NotImplementedError

    def scenario(self, seed: int) -> Scenario:
        rng = generator(f"{self.name}/{seed}", 0, "layout")
        placements = self._placed(rng, seed)
        start: dict[str, Any] = {}
        for name, mount in self.robots.items():
            robot = resolve("robots", mount.robot)
            group = robot.groups[robot.first()]
            noise = self.start_noise * rng.standard_normal(len(group.home))
            start[name] = tuple(np.clip(np.asarray(group.home) + noise, group.low, group.high).tolist())
        start |= self.start(rng)
        return Scenario(task=self.name, seed=seed, placements=placements, start=start, instruction=self.instruction)

    def _placed(self, rng: np.random.Generator, seed: int) -> dict[str, Placement]:
        """What `place` returns. Raises UsageError where it is not what the task needs."""
        who = f"task {self.name!r}: place() for seed {seed}"
        try:
            placements = self.place(rng)
        except ValidationError as error:
            raise UsageError(f"{who}: {first_fault(error)}") from None
        if not isinstance(placements, Mapping):
            raise UsageError(f"{who} returns {type(placements).__name__}, it should be a dict of object -> Placement")
        for name, role in self.roles.items():
            if role == "MO" and name not in placements:
                has = ", ".join(map(repr, placements)) or "nothing"
                raise UsageError(f"{who} returns {has}: {name!r}, which the robot is to move, has no Placement")
        return dict(placements)
