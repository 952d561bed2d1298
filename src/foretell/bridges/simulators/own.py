"""`own:NAME`: the task that another simulator has under this name, with its own scenes and its own rule of success."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from foretell.policy import Policy, PolicySpec
from foretell.scenario import Scenario
from foretell.spec import ActionSpec, Stream
from foretell.tasks.task import Task

__all__ = ["OwnTask", "Scripted", "named"]

EXPERT = "env/expert"
"""The stream of a scripted policy's action."""


class OwnTask(Task):
    """What the simulator asks for. A scenario has a seed, and the simulator draws the scene from it."""

    controller = "own"
    time_limit = 3600.0
    """The simulator's own limit comes first."""
    version = 1
    asked = ""
    """The simulator's name of it."""

    def scenario(self, seed: int) -> Scenario:
        return Scenario(task=self.name, seed=seed, placements={}, instruction=self.instruction)

    def expert(self) -> Policy:
        return Scripted()

    def follow(self, action_rate: float, limit: float | None) -> None:
        """Take the rate, and the limit of time (s), that the simulator has."""
        self.action_rate = action_rate
        if limit is not None:
            self.time_limit = min(self.time_limit, limit)


@cache
def named(name: str) -> type[OwnTask]:
    """The class of the task of a name."""
    about = {
        "name": f"own:{name}" if name else "own",
        "asked": name,
        "instruction": name or "do what the environment asks",
        "__module__": OwnTask.__module__,
    }
    return type("OwnTask", (OwnTask,), {**about, "__doc__": OwnTask.__doc__})


class Scripted(Policy):
    """The scripted policy that comes with the simulator, as Meta-World has one for each of its tasks."""

    def bind(self, task: Task, action: ActionSpec) -> None:
        self.spec = PolicySpec(
            reads={EXPERT: Stream((action.size,))}, action=action, action_rate=task.action_rate, batch=None
        )

    def act(self, slots: np.ndarray, observations: Any) -> np.ndarray:
        return np.asarray(observations[EXPERT], dtype=np.float64)
