"""Random vectors for policies: a stream per slot, so that no slot's draws depend on its neighbours'."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["Draws"]


class Draws:
    """One vector per slot and call, drawn in blocks: a call of the generator for each would cost more than a policy."""

    BLOCK = 128

    def __init__(self, size: int, draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]):
        self._shape, self._draw = (self.BLOCK, size), draw
        self._generators: dict[int, np.random.Generator] = {}
        self._blocks: dict[int, np.ndarray] = {}
        self._used: dict[int, int] = {}

    def reset(self, slots: np.ndarray, seeds: Sequence[int]) -> None:
        """New episodes, new streams."""
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self._generators[slot] = np.random.default_rng(seed)
            self._used[slot] = self.BLOCK

    def take(self, slots: np.ndarray) -> np.ndarray:
        """(n, size): the next vector of each slot."""
        taken = np.empty((len(slots), self._shape[1]))
        for row, slot in enumerate(slots.tolist()):
            used = self._used[slot]
            if used == self.BLOCK:
                self._blocks[slot], used = self._draw(self._generators[slot], self._shape), 0
            taken[row] = self._blocks[slot][used]
            self._used[slot] = used + 1
        return taken
