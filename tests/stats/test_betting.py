"""WSR bounds: the martingale, the root, and the rounding."""

import itertools
import math

import numpy as np
import pytest

from foretell.stats import betting, hoeffding, star
from foretell.stats.betting import CAP, lower_end, peak_log_wealth, predictable_bets


def wealth(z, m, alpha):
    """Wealth path of the gambler on the side above m, written out step by step."""
    path, w, mean_sum, square = [], 1.0, 0.5, 0.25
    for t, x in enumerate(z, start=1):
        variance = square / t
        lam = min(math.sqrt(2 * math.log(2 / alpha) / (len(z) * variance)), CAP / m)
        w *= 1 + lam * (x - m)
        path.append(w)
        mean_sum += x
        square += (x - mean_sum / (t + 1)) ** 2
    return path


def test_peak_matches_the_step_by_step_definition():
    z = np.random.default_rng(3).random(40)
    bets = predictable_bets(z, 0.1, z.size)
    for m in (0.05, 0.3, 0.6, 0.95):
        assert peak_log_wealth(m, z, bets) == pytest.approx(math.log(max(wealth(z, m, 0.1))), abs=1e-12)


def test_expected_wealth_is_one_by_exact_enumeration():
    levels, p = [0.0, 0.4, 1.0], [0.3, 0.5, 0.2]
    mu = sum(x * q for x, q in zip(levels, p, strict=True))
    total, ruin = 0.0, 0.0
    for outcome in itertools.product(range(3), repeat=6):
        chance = math.prod(p[i] for i in outcome)
        path = wealth([levels[i] for i in outcome], mu, 0.5)
        assert min(path) > 0
        total += chance * path[-1]
        ruin += chance * (max(path) >= 4.0)
    assert total == pytest.approx(1.0, abs=1e-12)
    assert ruin <= 0.25


def test_root_agrees_with_a_fine_grid_and_rounds_outwards():
    rng = np.random.default_rng(0)
    for n in (5, 30, 300):
        z = rng.beta(2, 3, size=n)
        bets = predictable_bets(z, 0.1, n)
        grid = np.linspace(1e-6, 1 - 1e-6, 4001)
        refuted = [m for m in grid if peak_log_wealth(m, z, bets) >= math.log(20)]
        low = lower_end(z, bets, 0.1)
        top = max(refuted, default=0.0)
        assert top - 1e-6 <= low <= top + 1 / 4000 + 1e-6
        if low > 0:
            assert peak_log_wealth(low, z, bets) >= math.log(20)


def test_no_overflow_on_long_samples():
    with np.errstate(all="raise", under="ignore"):
        found = betting(np.ones(50_060), 0.1)
    assert found.high == 1.0
    assert 0.9999 < found.low < 1.0


def test_star_is_narrower_than_betting_and_hoeffding_is_widest():
    rng = np.random.default_rng(5)
    widths = np.zeros(3)
    for _ in range(20):
        y = rng.choice([0, 0.25, 0.5, 0.75, 1.0], size=60, p=[0.5, 0.2, 0.1, 0.1, 0.1])
        widths += [star(y, 0.1).width, betting(y, 0.1).width, hoeffding(y, 0.1).width]
    assert widths[0] < 0.9 * widths[1] < widths[2]


def test_any_bounded_range():
    y = np.random.default_rng(1).random(40)
    for method in (betting, star, hoeffding):
        unit, wide = method(y), method(-3 + 10 * y, within=(-3, 7))
        assert wide.low == pytest.approx(-3 + 10 * unit.low, abs=1e-5)
        assert wide.high == pytest.approx(-3 + 10 * unit.high, abs=1e-5)
        assert wide.estimate == pytest.approx(-3 + 10 * unit.estimate, abs=1e-5)


BAD = [
    ([0.5, float("nan")], r"real\[1\]"),
    ([0.5, 1.2], r"real\[1\] = 1.2"),
    ([], "at least 1"),
    ([[0.1]], "shape"),
]


@pytest.mark.parametrize("method", [betting, star, hoeffding])
@pytest.mark.parametrize(("bad", "match"), BAD)
def test_bad_scores_are_named(method, bad, match):
    with pytest.raises(ValueError, match=match):
        method(bad)
