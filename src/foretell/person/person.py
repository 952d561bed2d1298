"""The person beside a robot, as a world sees them: who sets the scene, watches, can stop the robot, and judges.

No card names a policy: the person does not learn which policy runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from foretell.errors import WorldError
from foretell.person.judgement import Judgement
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["Live", "Person", "SceneCard", "SceneSkipped", "Signal", "TrialCard"]

Live = Callable[[str], np.ndarray | None]
"""Camera -> its newest frame (height, width, 3) uint8; None where there is none. It is called from another thread."""
Signal = Literal["stop", "success"]
"""What a person may say while the robot runs."""


class SceneSkipped(WorldError):  # noqa: N818 - says what happened
    """The person cannot set this scene. The world is to blame: the row is kept, shown, and left out of n; re-issuing
    the study does not ask for it again."""


def no_frame(camera: str) -> np.ndarray | None:
    return None


@dataclass(frozen=True, kw_only=True)
class SceneCard:
    """What a person needs to set a scene."""

    scenario: Scenario
    task: Task
    trial: int = 0
    """The trial of this scenario, as in the row."""
    number: int | None = None
    count: int | None = None
    """This is trial `number` (from 1) of `count` of the study, where that is known."""
    live: Live = no_frame
    cameras: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TrialCard:
    """What a person judges."""

    scenario: Scenario
    task: Task
    trial: int = 0
    seconds: float
    """How long the robot ran."""
    end: str
    """How it ended, as in the row: time_limit, terminated, stopped, success."""
    proposed: bool | None = None
    """What a detector says. The person is not shown it, so that their verdict is their own."""
    steps: int = 0
    episode: str | None = None
    """Key of the row, where the world knows it: then a correction names it."""


class Person(Protocol):
    """One person at one robot. All methods but `heard` belong to the main thread."""

    def set_scene(self, scene: SceneCard) -> None:
        """Say and draw how to set the scene; return when the person says that it is ready. Raises SceneSkipped where it
        cannot be set, and KeyboardInterrupt where the person stops the study."""

    def warn(self, text: str) -> None:
        """Say something that must not be missed. It never blocks."""

    def ask(self, question: str) -> bool:
        """A question that a single key answers, yes or no."""

    def poll(self) -> Signal | None:
        """What the person says while the robot runs. Call it every tick; it never blocks. A closed terminal is a
        `stop`."""

    def judge(self, trial: TrialCard) -> Judgement:
        """How the trial went. Raises KeyboardInterrupt where the person stops the study: then there is no verdict."""

    def heard(self) -> float:
        """`time.monotonic()` at which the terminal was last seen alive, for a watchdog."""

    def close(self) -> None:
        """Give the terminal back as it was. It may be called twice."""
