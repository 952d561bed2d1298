"""Which stages of a task the slots of a world have reached, and when."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foretell.arrays import Bools, Ints
from foretell.tasks.task import Stage

__all__ = ["Stages"]


class Stages:
    """Stages latch: once reached, they stay reached."""

    def __init__(self, stages: tuple[Stage, ...], slots: int):
        self._stages = stages
        self._ticks = np.full((slots, len(stages)), -1, dtype=np.int64)
        self._runs = np.zeros((slots, len(stages)), dtype=np.int64)  # successive actions a stage has held after

    def start(self, slots: Ints) -> None:
        """New episodes."""
        self._ticks[slots], self._runs[slots] = -1, 0

    def latch(self, slots: Ints, ages: Ints, fresh: Bools, now: Mapping[str, Bools]) -> Bools:
        """(n,) which slots reach a stage, of those that hold `now`; `fresh` (n,): an action has ended."""
        gained = np.zeros(len(slots), dtype=bool)
        for column, stage in enumerate(self._stages):
            holds = now[stage.name]
            if stage.actions > 1:
                self._runs[slots, column] = (self._runs[slots, column] + fresh) * holds
                holds = self._runs[slots, column] >= stage.actions
            first = holds & (self._ticks[slots, column] < 0)
            self._ticks[slots[first], column] = ages[first]
            gained |= first
        return gained

    def times(self, slot: int, tick: float) -> dict[str, float]:
        """Stage -> when a slot reached it, s; only those reached."""
        ticks = zip(self._stages, self._ticks[slot], strict=True)
        return {stage.name: float(at * tick) for stage, at in ticks if at >= 0}
