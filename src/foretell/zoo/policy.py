"""`zoo:NAME`: the model of that name for whatever task is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.policies.onnx import Onnx
from foretell.policy import Chunk, Policy
from foretell.spec import ActionSpec, Feature
from foretell.tasks.task import Task
from foretell.zoo.card import MODELS, read_card

__all__ = ["Zoo", "tasks_of"]


def tasks_of() -> dict[str, list[str]]:
    """Name of each policy -> the tasks it was trained for."""
    tasks: dict[str, list[str]] = {}
    for path in sorted(MODELS.glob("*/*.yaml")):
        tasks.setdefault(path.stem, []).append(path.parent.name)
    return dict(sorted(tasks.items()))


class Zoo(Policy):
    """Learned policies that come with foretell: zoo:bc, zoo:dp and others (docs/zoo.md).

    `batch` is the number of slots per call, `execute` how many actions of a chunk are run, `threads` those of a call.
    """

    def __init__(self, name: str, batch: int = 16, execute: int | None = None, threads: int = 1):
        known = tasks_of()
        if name not in known:
            raise UsageError(f"zoo: {name!r} is not known; {suggest(name, known)}")
        self.name, self.tasks = name, known[name]
        self._options: dict[str, Any] = {"batch": batch, "execute": execute, "threads": threads}

    @property
    def path(self) -> Path:
        """The file that runs; known once the policy is bound."""
        return self._model.path

    def bind(self, task: Task, action: ActionSpec) -> None:
        if task.name not in self.tasks:
            others = [name for name, tasks in tasks_of().items() if task.name in tasks]
            hint = f"for {task.name!r} there are {', '.join(others)}" if others else "train one: docs/zoo.md"
            raise UsageError(
                f"zoo: {self.name!r} was trained for {', '.join(self.tasks)}, not for {task.name!r}; {hint}"
            )
        self._model = Onnx(read_card(self.name, task.name).model, **self._options)
        self._model.bind(task, action)
        self.spec = self._model.spec

    def inform(self, features: Mapping[str, Feature]) -> None:
        self._model.inform(features)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._model.reset(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        return self._model.act(slots, observations)

    def fingerprint(self) -> str:
        return self._model.fingerprint()
