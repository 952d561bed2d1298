"""Every policy of the zoo for SIMPLER's robots: what it senses, from how much data, for how long, and what makes it
weak if it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from foretell.train.sight import Senses
from foretell.train.students import Shape
from foretell.train.views import WIDOWX

__all__ = ["DEMOS", "PARTS", "SIGHT", "SightRecipe"]

DEMOS = {
    "widowx_spoon_on_towel": 70,
    "widowx_carrot_on_plate": 160,
    "widowx_stack_cube": 80,
    "widowx_put_eggplant_in_basket": 40,
}
"""Demonstrations of each task, for policies that get all."""
TWO = ("widowx_carrot_on_plate", "widowx_stack_cube")


@dataclass(frozen=True, kw_only=True)
class SightRecipe:
    """One policy on one task or, with one file, on several."""

    about: str
    tasks: tuple[str, ...]
    """Those that its file serves."""
    shape: Shape
    senses: Senses = field(default_factory=Senses)
    demos: int | None = None
    """Of each task; None: as `DEMOS` has it."""
    steps: int = 2500
    batch: int = 128
    seed: int = 11
    eye: int = 700
    """Steps of its eye."""
    weak: str | None = None
    part: str | None = None
    """The part of the table that demonstrations come from, in words; None: all of it. See `PARTS`."""


PARTS: dict[str, Callable[[np.ndarray], bool]] = {
    "the object to be moved in the right half of the table": lambda state: bool(state[9] < 0.0),
}
"""Parts of a table -> whether an episode begins in one, by its first state."""


def _each(tasks: tuple[str, ...], recipe: SightRecipe) -> dict[str, SightRecipe]:
    """A file for each task."""
    return {task: replace(recipe, tasks=(task,)) for task in tasks}


def _one(recipe: SightRecipe) -> dict[str, SightRecipe]:
    """One file for all its tasks."""
    return dict.fromkeys(recipe.tasks, recipe)


_SIGHT = SightRecipe(
    about="Behaviour cloning from one camera and the hand's own pose: an MLP behind a small CNN, one action.",
    tasks=(),
    shape=Shape(head="point"),
)
_ALL: dict[str, dict[str, SightRecipe]] = {
    "language": _one(
        replace(
            _SIGHT,
            about="One network for the four WidowX tasks: one camera, the hand's pose and the instruction; one action.",
            tasks=WIDOWX,
            senses=Senses(instruction=True),
        )
    ),
    "sight": _each(TWO, _SIGHT),
}
SIGHT: dict[tuple[str, str], SightRecipe] = {
    (name, task): recipe for name, tasks in _ALL.items() for task, recipe in tasks.items()
}
"""(name, task) -> its recipe."""
