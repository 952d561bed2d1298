"""Uniformly random actions: the floor under every comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.policies.draws import Draws
from foretell.policy import Policy, PolicySpec
from foretell.spec import ActionSpec
from foretell.tasks.task import Task

__all__ = ["Random"]


class Random(Policy):
    """Draws each action uniformly from its range; sees nothing."""

    def bind(self, task: Task, action: ActionSpec) -> None:
        self.spec = PolicySpec(reads={}, action=action, action_rate=task.action_rate, batch=None, seeded=True)
        self._draws = Draws(action.size, lambda rng, shape: rng.uniform(action.low, action.high, shape))

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._draws.reset(slots, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        return self._draws.take(slots)
