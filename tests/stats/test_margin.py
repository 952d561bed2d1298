"""A gate's statistics: intervals of several tasks, decisions by the ends, forecasts that come true."""

import numpy as np
import pytest

from foretell.stats.coverage_margin import DESIGNS, GateDesign, passes
from foretell.stats.interval import Interval
from foretell.stats.margin import Rivals, decide_margin, difference, pooled, trials_for_margin
from foretell.stats.paired import paired_difference

rng = np.random.default_rng(5)


def rivals(n, rate_candidate, rate_base, *, paired=True, stages=1):
    luck = rng.random((n, stages))
    own = luck if paired else rng.random((n, stages))
    return Rivals(candidate=(own < rate_candidate).mean(axis=1), base=(luck < rate_base).mean(axis=1), paired=paired)


def interval(low, high, **more):
    return Interval(
        estimate=0.0, low=low, high=high, alpha=0.05, method="", guarantee="finite-sample", assumes=(), n=9, **more
    )


def test_the_ends_decide():
    assert decide_margin(interval(-0.04, 0.2), 0.05) == "pass"
    assert decide_margin(interval(-0.05, 0.2), 0.05) == "undecided"  # just at the margin
    assert decide_margin(interval(-0.3, -0.06), 0.05) == "fail"
    assert decide_margin(interval(-0.3, 0.3), 0.05) == "undecided"
    assert decide_margin(interval(None, None), 0.05) == "undecided"
    assert decide_margin(interval(-0.01, 0.2, contradiction=0.01), 0.05) == "undecided"


def test_common_scenarios_are_exact_up_to_a_thousand():
    few, many = rivals(300, 0.8, 0.8), rivals(1001, 0.8, 0.8)
    assert difference(few).method == "paired_difference" and difference(few).guarantee == "finite-sample"
    assert difference(many).method == "newcombe_paired" and difference(many).guarantee == "asymptotic"
    assert difference(rivals(50, 0.8, 0.8, paired=False)).method == "newcombe"
    assert difference(rivals(50, 0.8, 0.8, stages=4)).method == "betting_difference"
    assert difference(few, horizon=300).anytime


def test_a_single_task_pools_to_itself():
    task = rivals(60, 0.7, 0.8)
    assert pooled([task]) == difference(task)


def test_tasks_of_equal_size_are_counted_together():
    tasks = [rivals(40, 0.9, 0.9), rivals(40, 0.3, 0.3)]
    candidate, base = (np.concatenate([getattr(t, side) for t in tasks]) for side in ("candidate", "base"))
    both, only, other = (int(x.sum()) for x in (candidate * base, candidate * (1 - base), (1 - candidate) * base))
    exact = paired_difference(both, only, other, 80 - both - only - other)
    made = pooled(tasks)
    assert (made.low, made.high) == (exact.low, exact.high) and made.guarantee == "asymptotic"


def test_every_task_weighs_the_same():
    large, small = rivals(400, 1.0, 1.0), rivals(20, 0.0, 1.0)
    made = pooled([large, small])
    assert made.estimate == pytest.approx(-0.5) and -0.5 in made


def test_looks_bet_on_the_kth_scenarios_of_all_tasks():
    tasks = [rivals(30, 0.9, 0.9), rivals(50, 0.5, 0.5)]
    made = pooled(tasks, horizon=50)
    assert made.n == 30 and made.anytime and made.guarantee == "finite-sample"


@pytest.mark.parametrize("bets", [False, True])
def test_forecasts_come_true(bets):
    design = GateDesign(name="forecast", n=0, rates=(0.8,), margin=0.1)
    sample = GateDesign(**{**vars(design), "n": 4000}).draw(rng, 0.0)
    n = trials_for_margin(sample, 0.0, 0.1, bets=bets)
    planned = GateDesign(**{**vars(design), "n": n, "every": n if bets else None})
    assert 0.7 < passes(planned, 0.0, draws=100) / 100 < 0.95
    assert trials_for_margin(sample, -0.1, 0.1, bets=bets) is None
    assert trials_for_margin(sample, -0.3, 0.1, bets=bets) < trials_for_margin(sample, -0.2, 0.1, bets=bets)


def test_policies_that_agree_everywhere_still_need_trials():
    same = Rivals(candidate=np.ones(30), base=np.ones(30), paired=True)
    assert difference(same).low < -0.05
    assert trials_for_margin([same], 0.0, 0.05) > 30


@pytest.mark.parametrize("name", ["one look", "three tasks", "not paired, near one"])
def test_a_candidate_worse_by_the_margin_seldom_passes(name):
    design = next(d for d in DESIGNS if d.name == name)
    assert passes(design, design.margin, draws=200) <= 11  # 200 draws of 2.5 %: more than 11 in 1 of 100
    assert passes(design, 0.0, draws=50) >= 10
