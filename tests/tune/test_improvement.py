"""Intervals of an improvement cover it, and the best of many equal simulators is not taken for a better one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from foretell.tune.config import Tuning
from foretell.tune.fits import fit
from foretell.tune.folds import crossed, split
from foretell.tune.improvement import improvement
from foretell.tune.objective import SCENARIO, Objective

SKILLS = np.linspace(-1.5, 1.5, 8)
GROUPS = np.repeat([-1.2, 1.2], 500)
"""Easy and hard scenarios, sorted: what a file of trials often looks like."""


def rates(skills: np.ndarray, share: float = 1.0) -> np.ndarray:
    """(P, 1000): success of policies in a population of scenarios."""
    return np.asarray(1 / (1 + np.exp(-(skills[:, None] + share * GROUPS))))


def drawn(rng: np.random.Generator, populations: list[np.ndarray], count: int) -> list[np.ndarray]:
    """Outcomes of the same scenarios, sorted as the population is."""
    at = np.sort(rng.integers(GROUPS.size, size=count))
    return [(rng.random((len(p), count)) < p[:, at]).astype(float) for p in populations]


def test_one_number_of_each_kind() -> None:
    real = np.array([[1.0, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    tasks = np.array([0, 0, 1, 1])
    assert Objective("success_gap").value(real, real, tasks) == 0
    assert Objective("pearson").value(real, real, tasks) == pytest.approx(1)
    # the third policy never succeeds, so it says nothing of how scenarios go; the second is constant in task 0
    assert Objective(SCENARIO).value(real, real, tasks) == pytest.approx(1)
    assert Objective(SCENARIO).value(real, np.ones_like(real), tasks) == 0
    assert Objective(SCENARIO).value(real, 1 - real, tasks) == pytest.approx(-1)


@pytest.mark.parametrize(("metric", "seed"), [("pearson", 0), ("mmrv", 1), ("success_gap", 2), ("spearman", 3)])
def test_intervals_cover_on_sorted_groups(metric: str, seed: int) -> None:
    objective, rng = Objective(metric), np.random.default_rng(seed)
    covered, exceeded, rounds = 0, 0, 120
    for _ in range(rounds):
        real = rates(SKILLS)
        before, after = (rates(0.5 * SKILLS + rng.normal(0, 1, 8), 0.5) for _ in range(2))
        zero = np.zeros(GROUPS.size, dtype=int)
        values = [objective.value(real, sim, zero) for sim in (before, after)]
        truth = objective.sign * (values[1] - values[0])
        data = drawn(rng, [real, before, after], 24)
        interval = improvement(objective, *data, np.zeros(24, dtype=int))
        assert interval.low is not None and interval.high is not None
        covered += interval.low <= truth <= interval.high
        exceeded += interval.low > truth
    assert covered >= 0.9 * rounds and exceeded <= 0.06 * rounds


def test_over_policies_it_is_wider() -> None:
    rng = np.random.default_rng(0)
    data = drawn(rng, [rates(SKILLS), rates(0.3 * SKILLS + rng.normal(0, 1, 8)), rates(SKILLS, 0.5)], 60)
    fixed, others = (improvement(Objective("mmrv"), *data, np.zeros(60, int), policies=p) for p in (False, True))
    assert fixed.estimate == others.estimate and others.width > fixed.width
    few = improvement(Objective("mmrv"), *(x[:4] for x in data), np.zeros(60, int), policies=True)
    assert few.low is None and "4 policies are too few" in str(few.reason)


def field(rng: np.random.Generator, sims: int, gain: float) -> Any:
    """A made-up landscape of as many simulators as the paper's grid has cells; `gain`: of every second one."""
    populations = [rates(SKILLS)]
    for i in range(sims + 1):
        good = gain if i and i % 2 else 0.0
        populations.append(rates((0.4 + 0.6 * good) * SKILLS + (1 - good) * rng.normal(0, 1, 8)))
    real, base, *others = drawn(rng, populations, 40)
    points = [{"theta.x": i} for i in range(sims)]
    scores = {"{}": base} | {str(point): sim for point, sim in zip(points, others, strict=True)}
    return SimpleNamespace(
        policies=tuple(f"p{i}" for i in range(8)),
        ids=[f"s{i}" for i in range(40)],
        tasks=np.zeros(40, dtype=int),
        real=real,
        base=base,
        at=lambda point: SimpleNamespace(scores=scores[str(point)]),
        scores=lambda point: scores[str(point)],
        space=SimpleNamespace(grid=lambda: points),
    )


def tried(rng: np.random.Generator, gain: float, rounds: int) -> tuple[float, float]:
    """Share of searches whose result looks better on the data it was fitted to, and share that is recommended."""
    tuning = Tuning.model_validate({"real": "r", "space": {"theta.x": [0, 1]}})
    objective, looks, shown = Objective("pearson"), 0, 0
    for _ in range(rounds):
        landscape = field(rng, 22, gain)
        fits = fit(landscape, objective, tuning)
        best = objective.value(landscape.real, landscape.scores(fits.best), landscape.tasks)
        looks += best - objective.value(landscape.real, landscape.base, landscape.tasks) > 0.1
        judged = fits.judged(landscape)
        interval = improvement(objective, judged.real, judged.before, judged.after, judged.tasks)
        # what folds choose is random here: it is recommended only if it is truly better where they were not fitted
        shown += interval.low is not None and interval.low > 0
    return looks / rounds, shown / rounds


def test_equal_simulators_are_not_recommended() -> None:
    """22 simulators that differ from reality as the world does, each in its own way and by luck of the draw only."""
    rng = np.random.default_rng(5)
    tuning = Tuning.model_validate({"real": "r", "space": {"theta.x": [0, 1]}})
    objective, looks, shown, rounds = Objective("success_gap"), 0, 0, 60
    for _ in range(rounds):
        landscape = field(rng, 22, 0.0)
        one = rates(0.4 * SKILLS)
        sims = drawn(rng, [one] * 23, 40)  # the same simulator 23 times
        scores = {"{}": sims[0]} | {str({"theta.x": i}): sim for i, sim in enumerate(sims[1:])}
        landscape.base, landscape.scores = sims[0], lambda point, known=scores: known[str(point)]
        landscape.at = lambda point, known=scores: SimpleNamespace(scores=known[str(point)])
        fits = fit(landscape, objective, tuning)
        values = [objective.value(landscape.real, s, landscape.tasks) for s in (sims[0], scores[str(dict(fits.best))])]
        looks += values[1] < values[0]
        judged = fits.judged(landscape)
        interval = improvement(objective, judged.real, judged.before, judged.after, judged.tasks)
        shown += interval.low is not None and interval.low > 0
    assert looks > 0.9 * rounds, "the best of 22 should look better on the data it was chosen by"
    assert shown <= 0.1 * rounds


def test_better_simulators_are_recommended() -> None:
    _, shown = tried(np.random.default_rng(6), gain=1.0, rounds=20)
    assert shown >= 0.35


def test_folds_do_not_see_what_they_judge() -> None:
    tasks = np.repeat([0, 1], [9, 7])
    policies, ids = [f"p{i}" for i in range(6)], [f"s{i}" for i in range(16)]
    folds = crossed(policies, ids, tasks, (3, 4))
    assert len(folds) == 12 and (sum(fold.cells.astype(int) for fold in folds) == 1).all()
    for fold in folds:
        assert not (fold.fit[0] & fold.judge[0]).any() and not (fold.fit[1] & fold.judge[1]).any()
        assert {0, 1} == set(tasks[fold.judge[1]])  # each task is in every group
    (only,) = crossed(policies, ids, tasks, (1, 1))
    assert only.fit[0].all() and only.judge[1].all()
    from foretell.tune.config import HoldOut

    part = split(policies, ids, tasks, HoldOut(policies=0.5, scenarios=0.25))
    assert part.judge[0].sum() == 3 and part.judge[1].sum() == 2 + 2
