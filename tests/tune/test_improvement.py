"""Intervals of an improvement cover it, and the best of many equal simulators is not taken for a better one."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.tune.config import HoldOut, Tuning
from foretell.tune.coverage import chosen_from_copies, coverage, drawn, landscape_of, rates, skills
from foretell.tune.fits import fit
from foretell.tune.folds import crossed, split
from foretell.tune.improvement import improvement
from foretell.tune.objective import SCENARIO, Objective


def test_one_number_of_each_kind() -> None:
    real = np.array([[1.0, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    tasks = np.array([0, 0, 1, 1])
    assert Objective("success_gap").value(real, real, tasks) == 0
    assert Objective("pearson").value(real, real, tasks) == pytest.approx(1)
    # the third policy never succeeds, so it says nothing of how scenarios go; the second is constant in task 0
    assert Objective(SCENARIO).value(real, real, tasks) == pytest.approx(1)
    assert Objective(SCENARIO).value(real, np.ones_like(real), tasks) == 0
    assert Objective(SCENARIO).value(real, 1 - real, tasks) == pytest.approx(-1)


def test_mmrv_is_charged_with_the_gap_on_either_side() -> None:
    real, sim = np.array([[0.2], [0.6]]), np.array([[0.9], [0.8]])
    tasks = np.zeros(1, int)
    assert Objective("mmrv").value(real, sim, tasks) == pytest.approx(0.4)
    assert Objective("mmrv_sim").value(real, sim, tasks) == pytest.approx(0.1)
    assert Objective("mmrv_sim").sign == -1


@pytest.mark.parametrize("metric", ["pearson", "mmrv", "success_gap", "spearman"])
def test_intervals_cover_on_sorted_groups(metric: str) -> None:
    made = coverage(metric, 8, 24, gain=0.0, rounds=120)
    assert made.covers >= 0.9 and made.above <= 0.06


def test_over_policies_it_is_wider() -> None:
    rng = np.random.default_rng(0)
    data = drawn(rng, [rates(skills(8)), rates(0.3 * skills(8) + rng.normal(0, 1, 8)), rates(skills(8), 0.5)], 60)
    fixed, others = (improvement(Objective("mmrv"), *data, np.zeros(60, int), policies=p) for p in (False, True))
    assert fixed.estimate == others.estimate and others.width > fixed.width
    few = improvement(Objective("mmrv"), *(x[:4] for x in data), np.zeros(60, int), policies=True)
    assert few.low is None and "4 policies are too few" in str(few.reason)


def test_equal_simulators_are_not_recommended() -> None:
    """The best of 22 copies of one simulator looks better, on the data that it was chosen by, and is not."""
    looks, shown = chosen_from_copies("success_gap", rounds=60)
    assert looks > 0.9 and shown <= 0.1


def test_better_simulators_are_recommended() -> None:
    """Every second of 22 simulators ranks policies as reality does, and the world as it is does not at all."""
    rng, shown = np.random.default_rng(6), 0
    tuning, objective = Tuning.model_validate({"real": "r", "space": {"theta.x": [0, 1]}}), Objective("pearson")
    for _ in range(10):
        wrong = [rates(rng.permutation(skills(8))) for _ in range(12)]
        real, *sims = drawn(rng, [rates(skills(8)), *wrong, *[rates(skills(8))] * 11], 40)
        landscape = landscape_of(real, sims[0], sims[1:])
        judged = fit(landscape, objective, tuning).judged(landscape)
        low = improvement(objective, judged.real, judged.before, judged.after, judged.tasks).low
        shown += low is not None and low > 0
    assert shown >= 7


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
    part = split(policies, ids, tasks, HoldOut(policies=0.5, scenarios=0.25))
    assert part.judge[0].sum() == 3 and part.judge[1].sum() == 2 + 2
