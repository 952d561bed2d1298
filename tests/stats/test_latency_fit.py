"""Retention, drop per tenfold latency and latency budgets: values known by hand, and coverage on made-up truths."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from foretell.papers import table
from foretell.reproduction.asynchronous import _fit
from foretell.stats.coverage_paired import BUDGETS, cover_budget
from foretell.stats.latency_fit import antitonic, crossing, latency_budget, tenfold, tenfold_interval
from foretell.stats.retention import bonett_price, relative_drop, retention


def column(successes: int, n: int) -> np.ndarray:
    return (np.arange(n) < successes).astype(float)


def test_ratio_of_paired_rates_as_others_compute_it():
    found = bonett_price(59, 6, 16, 80)  # R package contingencytables, from a textbook: 0.8667 (0.7579 to 0.9...)
    assert (found.estimate, found.low) == (pytest.approx(65 / 75), pytest.approx(0.7579, abs=5e-5))
    assert 0.9 < found.high < 1.0


def test_retention_and_its_complement():
    kept = retention(column(11, 25), column(25, 25))
    assert kept is not None and kept.method == "paired_ratio" and kept.estimate == 0.44
    assert retention(column(100, 150), column(120, 150)).guarantee == "finite-sample"  # bets
    assert retention(column(1000, 1500), column(1200, 1500)).method == "bonett_price"
    drop = relative_drop(kept)
    assert (drop.estimate, drop.low, drop.high) == (0.56, 1 - kept.high, 1 - kept.low)
    same = retention(np.ones(50), np.ones(50))
    assert same.low < 0.97 and same.high > 1.03  # 50 of 50 are not certainty
    assert retention(np.ones(5), np.zeros(5)) is None
    assert bonett_price(0, 0, 3, 7).low == 0.0
    partial = retention([0.5, 0.5, 1.0, 0.0], [1.0, 1.0, 1.0, 0.5])
    assert partial.method == "betting_ratio" and partial.estimate == pytest.approx(4 / 7)
    assert partial.low < partial.estimate < (partial.high or np.inf)
    with pytest.raises(ValueError, match="one to one"):
        retention([1.0], [1.0, 0.0])


@pytest.mark.parametrize(("sync", "asyn"), [(0.9, 0.5), (0.6, 0.55), (0.95, 0.9)])
def test_retention_covers(sync, asyn):
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        u = rng.random(50)
        v = np.where(rng.random(50) < 0.4, u, rng.random(50))
        one = retention((v < asyn).astype(float), (u < sync).astype(float))
        hits += asyn / sync in one
    assert hits >= 90


def test_slope_is_that_of_the_papers_figure():
    for task in ("lift", "can", "square"):
        rows = [r for r in table("async", "3") if r["task"] == task]
        latency, drop = [r["latency"] for r in rows], [float(r["sync"] - r["async"]) for r in rows]
        assert [float(v) for v in tenfold(latency, drop)] == pytest.approx(_fit(latency, drop))


def test_slope_by_hand():
    slope, r = tenfold([0.01, 0.1, 1.0], [[0.0, 20.0, 40.0], [5.0, 5.0, 5.0]])
    assert slope == pytest.approx([20.0, 0.0]) and r[0] == pytest.approx(1.0) and np.isnan(r[1])
    assert np.isnan(tenfold([0.1, 0.1], [0.0, 1.0])[0])
    with pytest.raises(ValueError, match="above 0"):
        tenfold([0.0, 1.0], [0.0, 1.0])


def test_slope_with_interval():
    sync = np.ones((40, 3))
    asyn = np.stack([column(40, 40), column(30, 40), column(20, 40)], axis=1)
    found = tenfold_interval([0.01, 0.1, 1.0], sync, asyn)
    assert found.estimate == pytest.approx(0.25) and found.low < 0.2 and found.high > 0.3
    assert found.diagnostics["correlation"] == pytest.approx(1.0)
    certain = tenfold_interval([0.1, 1.0], np.ones((20, 2)), np.stack([np.ones(20), np.zeros(20)], axis=1))
    assert certain.estimate == 1.0 and certain.low < 0.85  # no two scenarios differ, and yet there is doubt
    assert tenfold_interval([0.1, 0.1], sync[:, :2], asyn[:, :2]).reason
    gaps = asyn.copy()
    gaps[:5, 1] = np.nan
    assert tenfold_interval([0.01, 0.1, 1.0], sync, gaps).estimate == pytest.approx(0.25)


def test_curve_that_never_rises():
    rng = np.random.default_rng(0)
    means, weights = rng.random((20, 6)), rng.random((20, 6)) + 0.1
    for m, w, ours in zip(means, weights, antitonic(means, weights), strict=True):
        assert ours == pytest.approx(isotonic_regression(m, weights=w, increasing=False).x)


def test_where_a_curve_crosses():
    x = [1.0, 2.0, 4.0]
    curves = [[1.0, 0.5, 0.0], [1.0, 1.0, 0.0], [0.4, 0.3, 0.2], [1.0, 0.9, 0.8]]
    assert crossing(x, curves, [0.75, 0.5, 0.5, 0.5]).tolist() == [1.5, 3.0, -np.inf, np.inf]


def test_budget_by_hand():
    asyn = np.stack([column(100, 100), column(90, 100), column(10, 100)], axis=1)
    found = latency_budget([0.1, 0.2, 0.4], np.ones(100), asyn, keep=0.95)
    assert found.estimate == pytest.approx(0.15) and (found.kept_at, found.lost_at) == (0.1, 0.2)
    assert found.low < 0.15 < found.high and found.reason is None
    mixed = latency_budget([0.4, 0.1, 0.2], np.ones(100), asyn[:, [2, 0, 1]], keep=0.95)
    assert mixed == found  # in any order
    loose = latency_budget([0.1, 0.2, 0.4], np.ones(100), asyn, keep=0.5)
    assert loose.estimate == pytest.approx(0.3)
    noisy = latency_budget([0.1, 0.2, 0.4], np.ones(100), asyn[:, [1, 0, 2]], keep=0.9)
    assert noisy.estimate == pytest.approx(0.2 + 0.2 * 0.05 / 0.85)  # 90 and 100 % are pooled to 95


def test_budgets_with_one_side():
    ones, tried = np.ones((100, 2)), [0.05, 0.5]
    kept = latency_budget(tried, np.ones(100), ones)
    assert (kept.estimate, kept.low, kept.high, kept.kept_at, kept.lost_at) == (None, 0.5, None, 0.5, None)
    assert "largest" in kept.reason
    unsure = latency_budget(tried, np.ones(20), ones[:20])  # 20 of 20 may be 87 %
    assert (unsure.estimate, unsure.low, unsure.kept_at) == (None, None, 0.5)
    lost = latency_budget(tried, np.ones(100), 1 - ones)
    assert (lost.estimate, lost.low, lost.high, lost.lost_at) == (None, None, 0.05, 0.05)
    assert "smallest" in lost.reason
    nothing = latency_budget(tried, np.zeros(100), ones)
    assert nothing.estimate is None and "synchronous success is 0" in nothing.reason
    with pytest.raises(ValueError, match="keep"):
        latency_budget(tried, np.ones(100), ones, keep=0.0)


def test_clocks_of_equal_latency_are_pooled():
    asyn = np.stack([column(80, 100), column(100, 100), column(0, 100)], axis=1)
    found = latency_budget([0.1, 0.1, 0.2], np.ones(100), asyn, keep=0.9)
    assert found.estimate == pytest.approx(0.1) and found.kept_at == 0.1


@pytest.mark.parametrize("n", [25, 100])
def test_budget_covers(n):
    x, rates, sync = [0.05, 0.1, 0.2, 0.4], np.array([0.9, 0.85, 0.6, 0.3]), 0.9
    truth = crossing(x, (rates / sync)[None], [0.95])[0]
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(25):
        u = rng.random(n)
        asyn = np.stack([np.where(rng.random(n) < 0.5, u, rng.random(n)) < p for p in rates], axis=1)
        one = latency_budget(x, (u < sync).astype(float), asyn.astype(float))
        hits += (one.low or 0.0) <= truth <= (one.high or np.inf)
    assert hits >= 22


@pytest.mark.parametrize("n", [8, 20])
@pytest.mark.parametrize("world", BUDGETS[3:6], ids=lambda world: world.name)
def test_budget_covers_where_some_scenarios_always_fail_and_have_several_trials(world, n):
    """One column of means of trials used to take the doubt away from all."""
    assert cover_budget(world, n, draws=40) >= 36


def test_one_column_of_partial_credit_leaves_the_others_their_doubt():
    asyn = np.ones((20, 2))
    asyn[0, 1] = 0.5
    found = latency_budget([0.1, 0.2], np.ones(20), asyn)
    assert found.low is None and found.high is None  # 20 of 20 may be 80 %, and 19.5 of 20 less
    assert "paired_ratio and betting_ratio" in found.method
