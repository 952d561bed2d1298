"""Experts for tasks whose scenarios name different objects: a script for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.policy import Policy
from foretell.spec import ActionSpec
from foretell.tasks.waypoints import Waypoints

__all__ = ["ByName"]


class ByName(Policy):
    """Follows, in each slot, the script of that object which the instruction names first."""

    def __init__(self, scripts: Mapping[str, Waypoints]):
        self.scripts = dict(scripts)
        self._follows: dict[int, str] = {}

    def bind(self, task: Any, action: ActionSpec) -> None:
        reads: dict[str, Any] = {}
        for script in self.scripts.values():
            script.bind(task, action)
            reads |= script.spec.reads
        first = next(iter(self.scripts.values()))
        self.spec = replace(first.spec, reads=reads)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for row, (slot, text) in enumerate(zip(slots.tolist(), instructions, strict=True)):
            names = [name for name in self.scripts if name in text]
            if not names:
                known = ", ".join(self.scripts)
                raise UsageError(
                    f"expert: the instruction {text!r:.200} names none of the objects that it knows: {known}"
                )
            self._follows[slot] = name = min(names, key=text.find)
            self.scripts[name].reset(slots[row : row + 1], instructions[row : row + 1], seeds[row : row + 1])

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        actions = np.zeros((len(slots), self.spec.action.size))
        follows = [self._follows[slot] for slot in slots.tolist()]
        for name in dict.fromkeys(follows):
            rows = np.flatnonzero([other == name for other in follows])
            seen = {key: values[rows] for key, values in observations.items() if isinstance(values, np.ndarray)}
            actions[rows] = self.scripts[name].act(slots[rows], seen)
        return actions
