"""Bets on partial credit: differences and ratios of two policies on the same scenarios."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from foretell.stats import star
from foretell.stats.blocked import PRIOR_TRIALS, candidates, stake
from foretell.stats.coverage_paired import REGIMES, cover_paired
from foretell.stats.interval import UNITED
from foretell.stats.partial import PRIOR, _refuted, betting_difference, betting_ratio

PARTIAL = [world for world in REGIMES if world.worth < 1.0 or world.trials == 5]


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("world", PARTIAL, ids=lambda world: world.name)
def test_changes_and_ratios_cover_with_few_scenarios(world, n):
    """Resampling covered 0.4 to 0.9 of the draws here."""
    found = cover_paired(world, n, draws=80)
    assert min(hits for hits, _ in found.values()) >= 0.9 * 80


@pytest.mark.daily
def test_a_sorted_file_is_dealt_first():
    change = np.repeat([-0.5, 0.5], 60)  # mean 0
    up, down = np.maximum(change, 0.0), np.maximum(-change, 0.0)
    assert star(0.5 * (1.0 + change), horizon=120).notes  # bets in the order of the file contradict each other
    assert 0.0 in betting_difference(up, down)
    assert 1.0 in betting_ratio(0.5 + up, 0.5 + down)


def test_sorted_scores_of_few_values_are_covered_as_often_as_said():
    """In one order drawn for each array the difference covered 0.93 and the ratio 0.83."""
    n, half = 30, np.full(30, 0.5)
    files = [np.r_[np.zeros(n - k), np.ones(k)] for k in range(n + 1)]
    gaps, ratios = [betting_difference(rows, half) for rows in files], [betting_ratio(rows, half) for rows in files]
    for p in np.linspace(0.02, 0.98, 49):
        chances = binom.pmf(range(n + 1), n, p)
        assert sum(chances[k] for k, one in enumerate(gaps) if p - 0.5 in one) >= 0.95
        assert sum(chances[k] for k, one in enumerate(ratios) if p / 0.5 in one) >= 0.95
    assert UNITED in gaps[3].assumes and UNITED in ratios[3].assumes
    assert UNITED not in betting_difference(files[3], half, shuffled=True).assumes
    assert betting_difference(files[3][::-1], half) == gaps[3]


def test_scores_without_spread_leave_doubt():
    one = betting_difference(np.full(25, 0.5), np.full(25, 0.5))
    assert one.low < -0.1 and one.high > 0.1 and one.guarantee == "finite-sample"
    ratio = betting_ratio(np.full(25, 0.5), np.ones(25))
    assert ratio.low < 0.45 and ratio.high > 0.55 and 0.5 in ratio


def test_ends_enclose_the_estimate_and_mirror():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 30)) / 3.0
    one, other = betting_difference(a, b), betting_difference(b, a)
    assert one.low <= one.estimate <= one.high and (one.low, one.high) == pytest.approx((-other.high, -other.low))
    up, down = betting_ratio(a, b), betting_ratio(b, a)
    assert up.low <= up.estimate <= up.high and up.low == pytest.approx(1.0 / down.high)
    assert betting_ratio(np.ones(3), [0.0, 0.0, 0.1]).high is None
    with pytest.raises(ValueError, match="b is 0 in every scenario"):
        betting_ratio(a, np.zeros(30))
    with pytest.raises(ValueError, match="a and b must pair one to one, got 30 and 29"):
        betting_difference(a, b[1:])


def one_by_one(a, b, alpha):
    """The game as the module describes it: every candidate, scenario by scenario."""
    goal = math.log(2.0 / alpha)
    s = candidates()
    rest = 1.0 - s
    prior = PRIOR_TRIALS * PRIOR * s * rest
    wealth = np.zeros_like(s)
    aa = ab = bb = 0.0
    for t, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        variance = (prior + aa * rest * rest - 2.0 * ab * s * rest + bb * s * s) / (PRIOR_TRIALS + t)
        need = np.maximum(goal - wealth, 0.0) / (a.size - t)
        bet, _ = stake(s, need, 0.0, variance, 0.0, s)
        wealth += np.log1p(bet * (x * rest - y * s))
        aa, ab, bb = aa + x * x, ab + x * y, bb + y * y
    standing = np.flatnonzero(wealth < goal - 1e-12)
    first = int(standing[0]) if standing.size else s.size
    return float(s[first - 1]) if first else 0.0


@pytest.mark.parametrize("n", [1, 2, 9, 70, 600])
@pytest.mark.parametrize("kind", ["binary", "means", "any", "far", "none", "zero", "sorted"])
def test_candidates_fall_as_they_do_one_by_one(kind, n):
    for seed, alpha in enumerate((0.05, 0.2, 0.001, 1e-300)):
        rng = np.random.default_rng(seed)
        a, b = {
            "binary": (rng.random((2, n)) < [[0.7], [0.4]]).astype(float),
            "means": rng.binomial(5, [[0.9], [0.85]], (2, n)) / 5,
            "any": rng.random((2, n)),
            "far": np.array([np.ones(n), rng.random(n) * 0.001]),
            "none": np.array([rng.random(n), np.zeros(n)]),
            "zero": np.zeros((2, n)),
            "sorted": np.sort(rng.random((2, n))),
        }[kind]
        assert _refuted(a, b, alpha) == one_by_one(a, b, alpha)
        assert _refuted(b, a, alpha) == one_by_one(b, a, alpha)
