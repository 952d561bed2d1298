"""Intervals of metrics by projection: the region, the search in it, and how often the truth is held."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from foretell.stats import METRICS, pearson, rank_reversals, success_gap, with_interval
from foretell.stats.agreement import RANGES
from foretell.stats.coverage import Coverage
from foretell.stats.families import FAMILIES, Family, covered
from foretell.stats.projection import common_luck, counted, cut_off, equivalent, known, metric_range, region

NAMED = {family.name: family for family in FAMILIES}
HARD = ("pearson", "r_squared", "kendall", "success_gap")


@pytest.mark.parametrize("name", ["eight close, 20 trials", "perfect simulator of 0.5 to 0.6", "three policies"])
def test_the_truth_is_held_where_policies_lie_within_noise(name):
    # Resampled trials held it in 9 to 76 % of draws of the first two, and gave three policies no interval.
    for metric, (one,) in covered(NAMED[name], 30, (0.05,), 3, {m: METRICS[m] for m in HARD}, widths=0).items():
        assert (
            one.given >= 28
            and not Coverage(
                regime=name, method=metric, draws=one.given, covered=one.held, alpha=0.05, width=0.0, width_error=0.0
            ).fails
        ), metric


@pytest.mark.parametrize("name", ["common scenarios, repeated trials", "common scenarios, luck of each world's own"])
def test_the_truth_is_held_where_policies_share_scenarios(name):
    (one,) = covered(NAMED[name], 60, (0.05,), 3, {"success_gap": success_gap}, widths=0)["success_gap"]
    assert not Coverage(
        regime=name, method="success_gap", draws=one.given, covered=one.held, alpha=0.05, width=0.0, width_error=0.0
    ).fails


def test_families_span_what_the_table_promises():
    assert len(FAMILIES) >= 12 and len(NAMED) == len(FAMILIES)
    assert {len(f.real) for f in FAMILIES} >= {3, 4, 5, 8}
    assert any(1.0 in f.real for f in FAMILIES) and any(isinstance(f.n_real, tuple) for f in FAMILIES)
    assert any(f.luck for f in FAMILIES) and any(max(f.repeats) > 1 for f in FAMILIES)
    equal = covered(NAMED["equal policies"], 2, (0.1, 0.05), 1)
    assert "pearson" not in equal and equal["mmrv"][1].given == 2, "equal rates have no correlation"


def test_family_draws_have_its_rates():
    rng = np.random.default_rng(0)
    family = Family(name="f", real=(0.2, 0.9), sim=(0.4, 0.7), n_real=4000, n_sim=4000, luck=0.5, repeats=(2, 3))
    drawn = family.draw(rng)
    assert drawn["real"] == pytest.approx([0.2, 0.9], abs=0.03) and drawn["sim"] == pytest.approx([0.4, 0.7], abs=0.03)
    assert np.corrcoef(drawn["real_outcomes"][0], drawn["sim_outcomes"][0])[0, 1] > 0.2


def test_distances_are_normal_quantiles_of_the_mid_p_tail():
    rows = counted(np.array([6.0]), np.array([20.0]), 3.0)[0]
    for distance in (-2.5, -1.0, 0.0, 1.5, 3.0):
        rate = np.interp(distance, np.linspace(-3, 3, rows.size), rows)
        tail = binom.sf(6, 20, rate) + 0.5 * binom.pmf(6, 20, rate)
        assert norm.ppf(tail) == pytest.approx(distance, abs=0.01)
    none, all_of_them = counted(np.array([0.0, 9.0]), np.array([9.0, 9.0]), 3.0)
    assert none[0] == 0.0 and all_of_them[-1] == 1.0, "a rate of 0 or 1 stays plausible where all trials agree"


def test_cut_off_is_the_quantile_of_the_hardest_value():
    assert cut_off("success_gap", (6,), 0.05) == pytest.approx(chi2.ppf(0.95, 6))
    cut = cut_off("pearson", (5,), 0.05)
    assert 0.5 * chi2.sf(cut, 3) + 0.5 * chi2.sf(cut, 4) == pytest.approx(0.05)
    assert cut_off("mmrv", (2,), 0.05) == pytest.approx(chi2.ppf(0.95, 1))
    assert cut_off("success_gap", (3, 4), 0.05) == pytest.approx(chi2.ppf(0.95, 7)), "tasks add up"


def test_search_finds_the_ends():
    # Two policies, simulation known: the region is a disc, which a fine grid covers.
    successes, trials, sim, radius = np.array([6.0, 15.0]), np.array([20.0, 25.0]), np.array([0.35, 0.5]), 2.4
    rows = counted(successes, trials, radius)
    where = region(rows.tobytes(), known(sim).tobytes(), radius)
    turn, size = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(0, radius, 61))
    flat = np.stack([size * np.cos(turn), size * np.sin(turn)], axis=-1).reshape(-1, 2)
    rates = where.at(np.concatenate([flat, np.zeros_like(flat)], axis=1))
    for metric in (success_gap, rank_reversals):
        every = metric(rates[:, :2], rates[:, 2:])
        assert metric_range(metric, where) == pytest.approx((every.min(), every.max()), abs=2e-3)


def test_the_search_may_end_early_and_then_gives_a_part():
    real, sim = np.linspace(0.1, 0.9, 6), np.array([0.2, 0.1, 0.5, 0.4, 0.8, 0.9])
    given = {"n_real": [20] * 6, "n_sim": [50] * 6}
    whole, part = (with_interval(pearson, real, sim, **given, stop_at=at) for at in (None, 0.9))
    assert whole.low <= part.low <= 0.9 <= part.high <= whole.high


def test_ends_hold_the_estimate_and_stay_in_range():
    rng = np.random.default_rng(0)
    for size in (2, 3, 5):
        real, sim = rng.binomial(4, rng.random((2, size))) / 4
        for name, metric in METRICS.items():
            found = with_interval(metric, real, sim, n_real=[4] * size, n_sim=[4] * size)
            if found.low is not None:
                assert RANGES[name][0] <= found.low <= found.estimate <= found.high <= RANGES[name][1]
            else:
                assert found.reason


def test_more_trials_narrow():
    real, sim = np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.25, 0.35, 0.7, 0.75])
    few, many = (with_interval(pearson, real, sim, n_real=[n] * 4, n_sim=[n] * 4) for n in (20, 500))
    assert few.low < many.low < many.high <= few.high


def test_graded_scores_count_as_more_trials_and_never_as_fewer():
    rng = np.random.default_rng(0)
    graded, binary = rng.binomial(5, 0.6, 40) / 5, rng.binomial(1, 0.6, 40).astype(float)
    successes, trials = equivalent([graded, binary, np.full(3, 0.5), np.array([0.5])])
    assert 80 < trials[0] < 200 and trials[1] == 40 and trials[3] == 1
    assert successes / trials == pytest.approx([graded.mean(), binary.mean(), 0.5, 0.5])
    assert 3 <= trials[2] < 6, "three equal scores are no proof of no variance"


def test_luck_that_one_world_gives_all_policies_widens_the_gap():
    rng = np.random.default_rng(0)
    families = (
        Family(name="f", real=(0.5,) * 6, sim=(0.5,) * 6, n_real=400, n_sim=400, luck=luck, alike=0.0)
        for luck in (0.0, 0.8)
    )
    bare, shared = (family.draw(rng) for family in families)
    cuts = [common_luck(d["real_outcomes"], d["sim_outcomes"], 0.05) for d in (bare, shared)]
    assert cuts[0] < 1.15 * chi2.ppf(0.95, 6) < cuts[1]
    assert common_luck([np.ones(3)] * 2, [np.ones(4)] * 2, 0.05) == 0.0, "other scenarios"


def test_one_outcome_of_an_unbounded_proxy_has_no_error():
    outcomes = [[1, 0, 1], [1, 1, 1], [0, 0, 1]]
    rates = [np.mean(one) for one in outcomes]
    found = with_interval(pearson, rates, [3.0, 4.0, 2.0], real_outcomes=outcomes, sim_outcomes=[[3.0], [4.0], [2.0]])
    assert found.low is None and "one outcome" in found.reason
    with pytest.raises(ValueError, match="sim_outcomes must list 3 policies, got 2"):
        with_interval(pearson, rates, [3.0, 4.0, 2.0], real_outcomes=outcomes, sim_outcomes=[[3.0], [4.0]])
