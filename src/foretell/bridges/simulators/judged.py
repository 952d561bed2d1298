"""What foretell's own task may look at in another simulator, to tell its stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.scenario import Scenario

__all__ = ["SeenState"]


class SeenState:
    """The true state of one episode, as far as the simulator tells it: one object, and a hand."""

    def __init__(self, now: Mapping[str, Any], first: Mapping[str, Any], scenario: Scenario):
        self._now, self._first, self._scenario = now, first, scenario

    @property
    def subtask(self) -> Ints:
        return np.zeros(1, dtype=np.int64)

    @property
    def memory(self) -> Floats:
        return np.zeros((1, 0))

    @property
    def instruction(self) -> Sequence[str]:
        return [self._scenario.instruction]

    def pos(self, name: str) -> Floats:
        return np.asarray(self._now["pos"], dtype=float)[None]

    def quat(self, name: str) -> Floats:
        return np.asarray(self._now["quat"], dtype=float)[None]

    def start_pos(self, name: str) -> Floats:
        return np.asarray(self._first["pos"], dtype=float)[None]

    def start_quat(self, name: str) -> Floats:
        return np.asarray(self._first["quat"], dtype=float)[None]

    def ee_pos(self, robot: str) -> Floats:
        return np.asarray(self._now["ee"], dtype=float)[None]

    def holding(self, robot: str, name: str) -> Bools:
        return np.array([bool(self._now["held"])])

    def size(self, name: str) -> Floats:
        return np.ones(1)

    def asset(self, name: str) -> Sequence[str]:
        return [self._scenario.placements[name].asset]
