"""Metrics over policies: conventions, oracles, intervals."""

import numpy as np
import pytest
import scipy.stats

from foretell.stats import (
    METRICS,
    all_metrics,
    kendall,
    kruskal_wallis,
    leave_one_out,
    mmrv,
    pairwise_accuracy,
    pearson,
    r_squared,
    rank_reversals,
    spearman,
    success_gap,
    with_interval,
)

RNG = np.random.default_rng(0)
TIED = [(np.round(RNG.random(8), 1), np.round(RNG.random(8), 1)) for _ in range(30)]


def naive_mmrv(real, sim, ties):
    """The definition, in loops."""
    worst = []
    for i in range(len(real)):
        charge = 0.0
        for j in range(len(real)):
            if ties == "paper":
                bad = (sim[i] < sim[j]) != (real[i] < real[j])
            else:
                bad = (sim[i] > sim[j]) != (real[i] > real[j])
            if bad:
                charge = max(charge, abs(real[i] - real[j]))
        worst.append(charge)
    return np.mean(worst)


@pytest.mark.parametrize("ties", ["paper", "code"])
def test_mmrv_is_its_definition_ties_included(ties):
    for real, sim in TIED:
        assert mmrv(real, sim, ties) == pytest.approx(naive_mmrv(real, sim, ties))


def test_mmrv_variants_differ_on_ties_only():
    assert mmrv([0.2, 0.5, 0.9], [0.5, 0.5, 0.6]) == pytest.approx(0.3 / 3)
    real, sim = [0.1, 0.2, 0.9], [0.5, 0.5, 0.5]
    assert mmrv(real, sim, "paper") == pytest.approx((0.8 + 0.7 + 0.0) / 3)
    assert mmrv(real, sim, "code") == pytest.approx((0.0 + 0.1 + 0.8) / 3)
    distinct = np.random.default_rng(1).random((2, 7))
    assert mmrv(*distinct, "paper") == pytest.approx(mmrv(*distinct, "code"))


def test_correlations_match_scipy():
    for real, sim in TIED:
        assert pearson(real, sim) == pytest.approx(scipy.stats.pearsonr(real, sim).statistic)
        assert spearman(real, sim) == pytest.approx(scipy.stats.spearmanr(real, sim).statistic)
        assert kendall(real, sim) == pytest.approx(scipy.stats.kendalltau(real, sim).statistic)
        assert r_squared(real, sim) == pytest.approx(scipy.stats.linregress(sim, real).rvalue ** 2)


def test_published_values_are_reproduced():
    # SIMPLER Table IV, Pick Coke Can average: visual matching and variant aggregation.
    real = [0.853, 0.920, 0.760, 0.907, 0.293, 0.133]
    matching, variants = [0.857, 0.710, 0.567, 0.787, 0.170, 0.027], [0.898, 0.813, 0.490, 0.823, 0.006, 0.022]
    assert mmrv(real, matching) == pytest.approx(0.031, abs=1e-3)
    assert mmrv(real, variants) == pytest.approx(0.084, abs=1e-3)
    assert pearson(real, matching) == pytest.approx(0.976, abs=1e-3)
    # AsyncRoboSim Table 1, Square, from Table 6: its pairwise accuracy leaves ties out, though its formula does not.
    robot = [75, 40, 0, 0, 15, 35, 30, 40, 25]
    sync, asynchronous = [90, 83, 23, 19, 54, 84, 86, 78, 81], [72, 62, 19, 14, 46, 54, 52, 68, 33]
    for sim, r, rho, accuracy in ((sync, 0.831, 0.782, 0.824), (asynchronous, 0.894, 0.975, 0.971)):
        assert pearson(robot, sim) == pytest.approx(r, abs=6e-4)
        assert spearman(robot, sim) == pytest.approx(rho, abs=6e-4)
        assert pairwise_accuracy(robot, sim) == pytest.approx(accuracy, abs=6e-4)


def test_which_argument_is_real_matters_where_it_should():
    real, sim = [0.0, 0.5, 0.6], [0.9, 0.1, 0.2]
    assert mmrv(real, sim) != mmrv(sim, real)
    assert pearson(real, sim) == pytest.approx(pearson(sim, real))


def test_pair_counting():
    real, sim = [0.1, 0.2, 0.2, 0.4], [0.3, 0.2, 0.5, 0.5]
    # Pairs: 01 reversed, 02 right, 03 right, 12 real tie, 13 right, 23 sim tie.
    assert rank_reversals(real, sim) == 1
    assert pairwise_accuracy(real, sim) == pytest.approx(3 / 4)
    assert pairwise_accuracy(real, sim, ties="strict") == pytest.approx(3 / 6)
    assert pairwise_accuracy([1, 1, 2], [3, 3, 4], ties="strict") == 1.0
    assert np.isnan(pairwise_accuracy([1, 1], [1, 2]))
    assert success_gap(real, sim) == pytest.approx((0.2 + 0.0 + 0.3 + 0.1) / 4)


def test_batches_equal_singles():
    a, b = np.random.default_rng(2).random((2, 5, 6))
    for metric in METRICS.values():
        assert metric(a, b) == pytest.approx([float(metric(x, y)) for x, y in zip(a, b, strict=True)])


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_nan_and_mismatch_raise(metric):
    with pytest.raises(ValueError, match="finite"):
        metric([0.1, float("nan")], [0.1, 0.2])
    with pytest.raises(ValueError, match="shape"):
        metric([0.1, 0.2], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="two policies"):
        metric([0.1], [0.1])


def test_constant_scores_have_no_correlation():
    for metric in (pearson, spearman, kendall):
        assert np.isnan(metric([0.3, 0.3, 0.3], [0.1, 0.5, 0.2]))


def test_a_single_outlier_cannot_hide():
    rng = np.random.default_rng(3)
    real, sim = np.append(0.1 * rng.random(7), 0.95), np.append(0.1 * rng.random(7), 0.9)
    without = leave_one_out(pearson, real, sim)
    assert pearson(real, sim) > 0.95
    assert abs(without[-1]) < 0.7
    assert without[:-1].min() > 0.9
    assert without[2] == pytest.approx(pearson(np.delete(real, 2), np.delete(sim, 2)))


def test_two_policies_have_no_correlation():
    for metric in (pearson, spearman, kendall, r_squared):
        assert np.isnan(metric([0.1, 0.2], [0.3, 0.4]))
        found = with_interval(metric, [0.1, 0.2], [0.3, 0.4], n_real=[20, 20])
        assert found.low is None and "2 policies are too few for a correlation" in found.reason
    assert np.isnan(leave_one_out(kendall, [0.1, 0.2, 0.3], [0.1, 0.2, 0.3])).all()
    assert pairwise_accuracy([0.1, 0.2], [0.3, 0.4]) == 1.0


def test_interval_kinds_and_reasons():
    real, sim = np.linspace(0.1, 0.9, 6), np.array([0.2, 0.1, 0.5, 0.4, 0.8, 0.9])
    trials = with_interval(pearson, real, sim, n_real=[20] * 6, n_sim=[100] * 6)
    policies = with_interval(pearson, real, sim)
    assert "over trials" in trials.method
    assert "policies fixed" in trials.assumes[0]
    assert "over policies" in policies.method
    assert trials.guarantee == policies.guarantee == "asymptotic"
    assert trials.low <= trials.estimate <= trials.high
    known_sim = with_interval(pearson, real, -sim, n_real=[20] * 6)
    assert known_sim.low < known_sim.high < 0
    assert with_interval(pearson, real[:4], sim[:4], n_real=[20] * 4).low is not None
    few = with_interval(pearson, real[:4], sim[:4])
    assert few.low is None
    assert few.high is None
    assert "4 policies are too few" in few.reason
    constant = with_interval(pearson, [0.5] * 6, sim, n_real=[20] * 6)
    assert constant.low is None
    assert "undefined" in constant.reason
    with pytest.raises(ValueError, match="n_real"):
        with_interval(pearson, real, sim, over="trials")


def test_redrawn_policies_hold_the_correlation_of_their_population():
    rng = np.random.default_rng(1)
    held = 0
    for i in range(60):
        x = rng.standard_normal(5)
        found = with_interval(pearson, x, 0.9 * x + 0.19**0.5 * rng.standard_normal(5), draws=300, seed=i)
        held += 0.9 in found
    assert held >= 56  # 52 without Student's t and Fisher's scale


def test_a_perfect_order_of_few_policies_has_no_interval_over_policies():
    real, sim = np.linspace(0.1, 0.9, 6), np.linspace(0.2, 0.7, 6) ** 2
    found = with_interval(kendall, real, sim)
    assert found.estimate == 1.0 and found.low is None and "more policies are needed" in found.reason
    squared, plain = (with_interval(metric, real, sim) for metric in (r_squared, pearson))
    assert squared.low == pytest.approx(plain.low**2) and squared.low < 1.0


def test_partial_credit_trials_can_be_given_whole():
    rng = np.random.default_rng(5)
    outcomes = [rng.choice([0, 0.5, 1.0], size=30, p=[1 - p, p / 2, p / 2]) for p in np.linspace(0.1, 0.9, 6)]
    real = [o.mean() for o in outcomes]
    found = with_interval(success_gap, real, np.linspace(0.1, 0.7, 6), real_outcomes=outcomes)
    assert found.low < found.estimate < found.high


def test_table_has_every_metric_and_is_reproducible():
    real, sim = np.linspace(0.1, 0.9, 6), np.array([0.2, 0.1, 0.5, 0.4, 0.8, 0.9])
    table = all_metrics(real, sim, n_real=[20] * 6, n_sim=[50] * 6)
    assert list(table) == list(METRICS)
    assert table == all_metrics(real, sim, n_real=[20] * 6, n_sim=[50] * 6)
    assert len(table["mmrv"].diagnostics["leave_one_out"]) == 6


def test_kruskal_wallis_per_policy():
    real = [np.r_[np.ones(18), np.zeros(2)], np.ones(5), np.r_[np.ones(10), np.zeros(10)]]
    sim = [np.r_[np.ones(5), np.zeros(15)], np.ones(9), np.r_[np.ones(10), np.zeros(10)]]
    tests = kruskal_wallis(real, sim)
    assert tests[0].p_value == pytest.approx(scipy.stats.kruskal(real[0], sim[0]).pvalue)
    assert tests[0].p_value < 0.001
    assert (tests[1].statistic, tests[1].p_value) == (0.0, 1.0)
    assert tests[2].p_value == pytest.approx(1.0)
