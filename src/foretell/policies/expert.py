"""The task's scripted expert, as it is and with noise added to its actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.digest import digest
from foretell.errors import UsageError
from foretell.policies.draws import Draws
from foretell.policy import Policy, source_hash
from foretell.spec import ActionSpec
from foretell.tasks.task import Task

__all__ = ["Expert", "NoisyExpert"]


class Expert(Policy):
    """Solves the task by script, from the object poses it observes."""

    def bind(self, task: Task, action: ActionSpec) -> None:
        self._script = task.expert()
        self._script.bind(task, action)
        self.spec = self._script.spec
        self._task = f"{task.name}/{task.version}"

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._script.reset(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        return np.asarray(self._script.act(slots, observations))

    def fingerprint(self) -> str:
        return digest([type(self).__name__, self._task, source_hash(type(self._script))])


class NoisyExpert(Expert):
    """The expert with white Gaussian noise on every action, clipped to the action's range. The noise has the unit of
    the action: rad or m for absolute joint positions.

    At the default, 0.3, targets shake by 1.5 cm from action to action; at 1.0 nothing of the expert is left.
    """

    def __init__(self, noise: float = 0.3):
        if isinstance(noise, bool) or not isinstance(noise, (int, float)) or not 0 <= noise < float("inf"):
            raise UsageError(f"noisy-expert: noise is {noise!r:.100}, it must be a number, 0 or more")
        self.noise = noise

    def bind(self, task: Task, action: ActionSpec) -> None:
        super().bind(task, action)
        self.spec = dataclasses.replace(self.spec, seeded=True)
        self._low, self._high = action.low, action.high
        self._draws = Draws(action.size, lambda rng, shape: rng.standard_normal(shape))

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        super().reset(slots, instructions, seeds)
        self._draws.reset(slots, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        return np.clip(super().act(slots, observations) + self.noise * self._draws.take(slots), self._low, self._high)
