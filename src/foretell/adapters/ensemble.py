"""`ensemble`: the mean of what the last chunks predict for the present action (ACT's temporal ensemble, SIMPLER's)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.adapters.adapter import Adapter, finite
from foretell.arrays import Floats, Ints
from foretell.errors import UsageError
from foretell.policy import Chunk, PolicySpec

__all__ = ["Ensemble"]


@dataclasses.dataclass(eq=False)
class Ensemble(Adapter):
    """Asks the policy before every action, and averages what its chunks predict for it."""

    temperature: float = 0.0
    """Prediction i, the oldest first, has weight exp(-temperature * i). 0: the plain mean; above 0 older ones weigh
    more (ACT: 0.01); below 0 newer ones."""

    name = "ensemble"

    def __post_init__(self) -> None:
        if not finite(self.temperature) or abs(self.temperature) > 100:
            raise self.wrong("temperature", "a number between -100 and 100")
        self._chunks: dict[int, list[tuple[int, Floats]]] = {}

    def gives(self, spec: PolicySpec) -> PolicySpec:
        if spec.chunk == 1:
            raise UsageError(
                f"adapter {self.name!r}: {type(self.policy).__name__} returns one action per call, so there is nothing "
                "to average; take it out of `adapt`"
            )
        return dataclasses.replace(spec, chunk=1, execute=None)

    def start(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._chunks[slot] = []

    def changed(self, slots: Ints, chunk: Chunk, observations: Mapping[str, Any]) -> Chunk:
        now = self.now(observations).tolist()
        actions = np.empty((len(slots), 1, chunk.actions.shape[2]))
        kept: dict[int, list[tuple[int, Floats]]] = {}
        for row, slot in enumerate(slots.tolist()):
            last = [(at, old) for at, old in self._chunks[slot] if at < now[row] < at + len(old)]
            kept[slot] = [*last, (now[row], chunk.actions[row].copy())]
            predictions = np.stack([old[now[row] - at] for at, old in kept[slot]])
            weights = np.exp(-self.temperature * np.arange(len(predictions)))
            actions[row, 0] = np.sum((weights / weights.sum())[:, None] * predictions, axis=0)
        self._chunks |= kept
        return Chunk(actions, None if chunk.terminate is None else chunk.terminate[:, :1])
