"""The instruction, in other words."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.factors.factor import Factor, Given
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["Instruction"]


class Instruction(Factor):
    """Paraphrase of the instruction; a value is the text. Nothing on the table changes."""

    name = "Instruction"
    changes = "sensing"
    nominal, extreme = "the task's own", "one of the task's paraphrases (severity: 0 or more)"
    source = "ColosseumV2: language_paraphrase; LIBERO-Plus: Language"

    def obstacle(self, task: Task) -> str | None:
        return None if task.paraphrases else "it has no paraphrases"

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> str:
        others = task.paraphrased(scenario)
        drawn = others[int(rng.integers(len(others)))]
        return drawn if severity > 0 else scenario.instruction

    def instruct(self, value: Any, instruction: str) -> str:
        return str(value)

    def card(self, value: Any) -> str:
        return f"say {value!r}"
