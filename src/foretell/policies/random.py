"""Uniformly random actions: the floor under every comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.policy import Policy, PolicySpec
from foretell.spec import ActionSpec
from foretell.tasks.task import Task

__all__ = ["Random"]


class Random(Policy):
    """Draws each action uniformly from its range; sees nothing."""

    BLOCK = 128

    def bind(self, task: Task, action: ActionSpec) -> None:
        self.spec = PolicySpec({}, action, action_rate=task.action_rate, batch=None, seeded=True)
        self._low, self._span = action.low, action.high - action.low
        self._streams: dict[int, tuple[np.random.Generator, np.ndarray, int]] = {}

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self._streams[slot] = (np.random.default_rng(seed), np.empty((0, len(self._low))), 0)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        return np.array([self._draw(slot) for slot in slots.tolist()]) * self._span + self._low

    def _draw(self, slot: int) -> np.ndarray:
        rng, block, used = self._streams[slot]
        if used == len(block):
            block, used = rng.uniform(size=(self.BLOCK, len(self._low))), 0
        self._streams[slot] = (rng, block, used + 1)
        return block[used]
