"""Every policy of the zoo: how it is built, from how much data, for how long, and what makes it weak if it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from foretell.scenario import Scenario
from foretell.train.students import Shape

__all__ = ["PARTS", "RECIPES", "SHAPES", "TASKS", "Recipe"]

TASKS = ("lift", "can", "square")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One policy on one task."""

    about: str
    shape: Shape
    demos: int = 300
    """Demonstrations, each with random pushes that the expert recovers from."""
    steps: int = 3000
    """Of the optimiser."""
    batch: int = 256
    seed: int = 0
    """Where the command line gives none."""
    vision: bool = False
    borrows: str | None = None
    """The policy whose encoder it uses."""
    weak: str | None = None
    """How it was made weak, if it was."""
    part: str | None = None
    """The part of the table that demonstrations come from, in words; None: all of it. See `PARTS`."""


PARTS: dict[str, Callable[[Scenario], bool]] = {
    "the can in the quarter of the bin that is farthest from the robot": lambda s: s.placements["can"].pos[0] > 0.16,
}
"""Parts of a table -> whether a scenario lies in one. Cans stand 0.24 m along x, from -0.02 to 0.22 m."""

SHAPES = {
    "bc": Recipe(about="Behaviour cloning: an MLP, one action.", shape=Shape(head="point")),
    "bc-gaussian": Recipe(
        about="Behaviour cloning: an MLP, a normal distribution that is drawn from.", shape=Shape(head="gaussian")
    ),
    "bc-gmm": Recipe(
        about="Behaviour cloning: an MLP, a mixture of five; one is drawn, its mean taken.", shape=Shape(head="mixture")
    ),
    "bc-vae": Recipe(
        about="A conditional variational autoencoder: chunks of 8 actions, 4 run.",
        shape=Shape(head="variational", execute=4),
    ),
    "bc-transformer": Recipe(
        about="Behaviour cloning: a transformer over the last 8 observations, one action.",
        shape=Shape(head="point", history=8, transformer=True, width=96),
        steps=1000,
        batch=128,
    ),
    "bc-transformer-gmm": Recipe(
        about="A transformer over the last 8 observations, a mixture of five.",
        shape=Shape(head="mixture", history=8, transformer=True, width=96),
        steps=1500,
        batch=128,
    ),
    "dp": Recipe(
        about="A diffusion policy: 16 denoising steps give 16 actions, 8 are run.",
        shape=Shape(head="diffusion", execute=8),
        steps=6000,
        batch=128,
    ),
}
VISION = {
    "bc-vision": Recipe(
        about="Behaviour cloning from two cameras and the hand's own pose: a small CNN, four actions, two run.",
        shape=Shape(head="points", execute=2),
        demos=200,
        steps=4000,
        batch=48,
        seed=5,
        vision=True,
    ),
    "dp-vision": Recipe(
        about="A diffusion policy from two cameras: the encoder of bc-vision, 16 denoising steps, 16 actions, 8 run.",
        shape=Shape(head="diffusion", execute=8),
        demos=200,
        steps=6000,
        batch=128,
        seed=5,
        vision=True,
        borrows="bc-vision",
    ),
}
PART = {
    "bc-part": Recipe(
        about="Behaviour cloning that has seen a part of the bin: an MLP, one action.",
        shape=Shape(head="point"),
        demos=40,
        steps=1500,
        weak="on purpose: 40 demonstrations, all with the can in one quarter of the bin. It is to fail elsewhere, so "
        "that its failures depend on the scenario",
        part=next(iter(PARTS)),
    )
}
CHANGES: dict[tuple[str, str], dict[str, object]] = {}
"""What is done otherwise on one task."""
CHANGES |= {(name, "lift"): {"demos": 600} for name in SHAPES}  # its episodes are short
for _name, _task, _demos, _steps in (
    ("bc-gaussian", "can", 6, 1000),
    ("bc-gaussian", "square", 8, 1000),
    ("bc-transformer-gmm", "can", 6, 500),
    ("bc-transformer-gmm", "square", 8, 500),
):
    CHANGES[_name, _task] = {
        "demos": _demos,
        "steps": _steps,
        "weak": f"on purpose: {_demos} demonstrations instead of 300, and {_steps} steps",
    }

RECIPES: dict[tuple[str, str], Recipe] = {
    (name, task): replace(recipe, **CHANGES.get((name, task), {}))  # type: ignore[arg-type]
    for name, recipe, tasks in (
        *((n, r, TASKS) for n, r in SHAPES.items()),
        *((n, r, ("lift", "can")) for n, r in VISION.items()),
        *((n, r, ("can",)) for n, r in PART.items()),
    )
    for task in tasks
}
