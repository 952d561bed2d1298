"""The task's scripted expert, as it is and with noise added to its actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.policy import Policy, source_hash
from foretell.scenario import digest
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
    """The expert with white Gaussian noise on every action, clipped to its range.

    At the default, `noise: 0.3`, the fingers shake by about 1.5 cm a action; 1.0 drowns the expert.
    """

    BLOCK = 128

    def __init__(self, noise: float = 0.3):
        if not 0 <= noise < float("inf"):
            raise UsageError(f"noisy-expert: noise is {noise}, it must be 0 or more")
        self.noise = noise
        self._streams: dict[int, tuple[np.random.Generator, np.ndarray, int]] = {}

    def bind(self, task: Task, action: ActionSpec) -> None:
        super().bind(task, action)
        self.spec = dataclasses.replace(self.spec, seeded=True)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        super().reset(slots, instructions, seeds)
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self._streams[slot] = (np.random.default_rng(seed), np.empty((0, 7)), 0)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        actions = super().act(slots, observations)
        noise = np.array([self._draw(slot, actions.shape[1]) for slot in slots.tolist()])
        return np.clip(actions + self.noise * noise, -1.0, 1.0)

    def _draw(self, slot: int, size: int) -> np.ndarray:
        rng, block, used = self._streams[slot]
        if used == len(block):  # drawn in blocks: one call per action and slot would cost more than the expert
            block, used = rng.standard_normal((self.BLOCK, size)), 0
        self._streams[slot] = (rng, block, used + 1)
        return block[used]
