"""Random numbers of episodes in slots, keyed by scenario, trial, purpose and step: never by when they are drawn."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.seeding import generator

__all__ = ["StepDraws"]

STEPS = 64
"""Steps that are drawn at a time."""


class StepDraws:
    """`width` uniform numbers in (0, 1) for each step of each slot's episode."""

    def __init__(self, slots: int, purpose: str, width: int):
        self._purpose, self._width = purpose, width
        self._key: list[tuple[str, int]] = [("", 0)] * slots
        self._block = np.full(slots, -1, dtype=np.int64)
        self._kept = np.zeros((slots, STEPS, width))

    def start(self, slot: int, base: str, trial: int) -> None:
        self._key[slot], self._block[slot] = (base, trial), -1

    def at(self, slots: Ints, steps: Ints) -> Floats:
        """(n, width) the numbers of steps (n,)."""
        blocks = steps // STEPS
        other = blocks != self._block[slots]
        for slot, block in zip(slots[other].tolist(), blocks[other].tolist(), strict=True):
            base, trial = self._key[slot]
            drawn = generator(base, trial, f"{self._purpose} {block}").random((STEPS, self._width))
            self._kept[slot], self._block[slot] = np.clip(drawn, 1e-12, 1 - 1e-12), block
        return np.asarray(self._kept[slots, steps % STEPS])
