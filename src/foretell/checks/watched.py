"""A task that notes, whenever the world asks it, whether it treats every row by itself."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from foretell.tasks.journey import Journey
from foretell.tasks.state import State
from foretell.tasks.task import Task

__all__ = ["SOLVED", "Watched", "watch"]

SOLVED = "solved()"
"""Stands beside the stages' names; no stage is called so."""


@dataclass(kw_only=True)
class Watched:
    """A task that notes, whenever the world asks it, whether it treats every row by itself."""

    original: Task
    task: Task
    starts: list[State] = field(default_factory=list)
    """Those that the world showed last: one for each layout, until the list is cleared."""
    states: int = 0
    wrong: str = ""


def watch(original: Task) -> Watched:
    task = copy.copy(original)
    watched = Watched(original=original, task=task)

    def judge(state: Any) -> dict[str, np.ndarray]:
        return {**original.reached(state), SOLVED: original.solved(state)}

    def reached(state: State) -> dict[str, np.ndarray]:
        watched.starts.append(state)
        whole = judge(state)
        watched.states += 1
        n = len(state.subtask)
        if any(np.shape(values) != (n,) for values in whole.values()):
            return whole  # `stages` says so
        for row in range(n):
            alone = judge(_alone(state, row))
            for name, values in whole.items():
                if np.shape(alone[name]) != (1,) or alone[name][0] != values[row]:
                    watched.wrong = watched.wrong or (
                        f"{name!r} of one slot alone is {alone[name]!r}, but {values[row]!r} among {len(values)} slots."
                    )
        return {name: values for name, values in whole.items() if name != SOLVED}

    task.reached = reached  # type: ignore[method-assign]
    return watched


def _alone(state: Any, row: int) -> Any:
    """One slot of a state, as a state of one slot."""
    if isinstance(state, Journey):
        return Journey(**{part.name: getattr(state, part.name)[row : row + 1] for part in fields(Journey)})
    return _Row(state, row)


class _Row:
    """One slot of a State, as a State of one slot."""

    def __init__(self, state: State, row: int):
        self._state, self._row = state, row

    def __getattr__(self, name: str) -> Any:
        read, only = getattr(self._state, name), slice(self._row, self._row + 1)
        if name == "objects":  # names of the scene, not a row for each slot
            return read
        return (lambda *args: read(*args)[only]) if callable(read) else read[only]
