"""Every policy of the zoo for SIMPLER's robots: what it senses, from how much data, for how long, and what makes it
weak if it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from foretell.train.sight import Senses
from foretell.train.students import Shape
from foretell.train.views import COKE, WIDOWX

__all__ = ["DEMOS", "EYE", "SIGHT", "SightRecipe"]

DEMOS = dict.fromkeys((*WIDOWX, COKE), 240) | {"widowx_put_eggplant_in_basket": 200}
"""Demonstrations of each task."""
EYE = {"widowx": (3000, 3000), "google_robot": (1500,)}
"""Steps of the eye that a robot's policies share. Where there are two numbers, it learned twice."""


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
    steps: int = 4000
    batch: int = 256
    seed: int = 21
    weak: str | None = None
    right: bool = False
    """Its demonstrations begin with the object in the right half of where it may lie."""


def _each(tasks: tuple[str, ...], recipe: SightRecipe) -> dict[str, SightRecipe]:
    """A file for each task."""
    return {task: replace(recipe, tasks=(task,)) for task in tasks}


def _shared(recipe: SightRecipe) -> dict[str, SightRecipe]:
    """One file for all its tasks."""
    return dict.fromkeys(recipe.tasks, recipe)


FIVE = (*WIDOWX, COKE)
SEES = "one camera and the hand's own pose"
_POINT = SightRecipe(
    about=f"Behaviour cloning from {SEES}: an MLP behind a small CNN, one action.", tasks=(), shape=Shape(head="point")
)


def _robots(recipe: SightRecipe, steps: int) -> dict[str, SightRecipe]:
    """One file for the WidowX, which reads the instruction to know the task and learns in other many steps, and one for
    the Google Robot."""
    reading = replace(recipe, tasks=WIDOWX, senses=replace(recipe.senses, instruction=True), steps=steps)
    return _shared(reading) | _each((COKE,), recipe)


_ALL: dict[str, dict[str, SightRecipe]] = {
    "sight": _each(FIVE, _POINT),
    "sight-gmm": _each(
        FIVE,
        replace(
            _POINT,
            about=f"Behaviour cloning from {SEES}: an MLP, a mixture of five; one is drawn, its mean taken.",
            shape=Shape(head="mixture"),
        ),
    ),
    "sight-vae": _robots(
        replace(
            _POINT,
            about=f"A conditional variational autoencoder from {SEES}: chunks of 8 actions, 4 run.",
            shape=Shape(head="variational", execute=4),
            steps=8000,
        ),
        steps=4000,
    ),
    "sight-dp": _robots(
        replace(
            _POINT,
            about=f"A diffusion policy from {SEES}: 16 denoising steps give 16 actions, 8 are run.",
            shape=Shape(head="diffusion", execute=8),
            steps=10000,
        ),
        steps=4000,
    ),
    "sight-rnn": _robots(
        replace(
            _POINT,
            about=f"Behaviour cloning from {SEES}: a recurrent network, one action.",
            senses=Senses(memory=64),
            shape=Shape(head="point", history=1),
            steps=1200,
            batch=24,
        ),
        steps=700,
    ),
    "sight-language": _shared(
        replace(
            _POINT,
            about="One network for the four WidowX tasks: one camera, the hand's pose and the instruction; one action.",
            tasks=WIDOWX,
            senses=Senses(instruction=True),
            steps=8000,
        )
    ),
    "sight-few": _each(
        FIVE,
        replace(
            _POINT,
            about=f"Behaviour cloning from {SEES} and few demonstrations: an MLP behind a small CNN, one action.",
            demos=12,
            steps=1500,
            weak="on purpose: 12 demonstrations (its eye had all), and 1500 steps",
        ),
    ),
    "sight-part": _each(
        FIVE,
        replace(
            _POINT,
            about=f"Behaviour cloning from {SEES} that has acted on a part of the table: an MLP, one action.",
            demos=30,
            steps=1500,
            weak="on purpose: 30 demonstrations (its eye had all), none with the object in the left half. "
            "It is to fail there, so that its failures depend on the scenario",
            right=True,
        ),
    ),
    "sight-blind": _each(
        FIVE,
        replace(
            _POINT,
            about="Behaviour cloning from the hand's own pose alone: an MLP, one action. A floor.",
            senses=Senses(blind=True),
            steps=1500,
            weak="on purpose: it sees nothing",
        ),
    ),
}
SIGHT: dict[tuple[str, str], SightRecipe] = {
    (name, task): recipe for name, tasks in _ALL.items() for task, recipe in tasks.items()
}
"""(name, task) -> its recipe."""
