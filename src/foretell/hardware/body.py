"""A robot's body as its world sees it: what can be observed of it, and how actions become targets.

`arm.ArmBody` and `base.BaseBody` are the two kinds. They know no driver and no person: a reading goes in, targets of
the channels come out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.errors import UsageError
from foretell.hardware.file import RobotFile
from foretell.hardware.reading import Reading
from foretell.registry import resolve
from foretell.robots.controller import Controller
from foretell.robots.robot import Robot
from foretell.scenario import Scenario
from foretell.spec import ActionSpec, Feature
from foretell.tasks.task import Task
from foretell.world import Verdict

__all__ = ["Body", "embodiment"]


class Body:
    """The body in one trial."""

    action: ActionSpec
    controllers: dict[tuple[str, str], Controller]
    features: dict[str, Feature]
    """What can be observed, besides cameras."""
    judges = False
    """Whether the task can judge by what the robot measures."""

    def begin(self, scenario: Scenario) -> None:
        """A trial of this scenario begins."""
        raise NotImplementedError

    def start(self, reading: Reading) -> None:
        """The robot is where it starts."""
        raise NotImplementedError

    def measure(self, reading: Reading) -> None:
        """A newer reading."""
        raise NotImplementedError

    def read(self, name: str) -> Floats:
        """(...) a feature as last measured."""
        raise NotImplementedError

    def command(self, action: Floats, ticks: int) -> None:
        """An action (dim,) that lasts so many ticks."""
        raise NotImplementedError

    def targets(self, ticks: int) -> Floats:
        """(k,) of the channels after so many ticks more."""
        raise NotImplementedError

    def progress(self, tick: int) -> bool | None:
        """Whether the task is solved, as far as can be seen."""
        return None

    def over(self) -> bool:
        """Whether the task ends the trial here, solved or not."""
        return False

    def quit(self) -> None:
        """The policy declares itself done."""

    def verdict(self) -> Verdict:
        """What the task says of the trial."""
        return Verdict(success=None, score=None, stages={})

    def state(self) -> Floats:
        """(n,) all that was measured, to be judged by again."""
        raise NotImplementedError

    def restore(self, state: Floats) -> None:
        """As it was at a recorded state."""
        raise NotImplementedError

    def trace(self) -> dict[str, float]:
        """What was measured, by name."""
        raise NotImplementedError


def embodiment(file: RobotFile, task: Task) -> tuple[str, Robot]:
    """The task's robot that a world file is for: its name in the task, and the embodiment."""
    if len(task.robots) != 1:
        raise UsageError(
            f"world: task {task.name!r} has {len(task.robots)} robots, and a world of kind robot drives one"
        )
    name, mount = next(iter(task.robots.items()))
    if mount.robot != file.robot:
        raise UsageError(
            f"{file.name}: robot: is {file.robot!r:.100}, and task {task.name!r} is for {mount.robot!r}: use a task "
            "for this robot, or correct the field"
        )
    kind: Any = resolve("robots", mount.robot)
    made: Robot = kind()
    return name, made


def solved_now(answer: Bools) -> bool:
    """The answer of a task for a single slot."""
    return bool(np.asarray(answer)[0])
