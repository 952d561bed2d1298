"""Exact intervals of the difference and the ratio of two rates on the same scenarios."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from foretell.stats.paired import CURVES, _chance, _lower, _order, paired_difference, paired_ratio, table


def tables(n):
    return [(x, y) for x, y in product(range(n + 1), repeat=2) if x + y <= n]


def missed(n, ends, truth):
    """Over a grid of (p, q): which tables' intervals miss truth(p, q), and every table's chance; nothing is drawn."""
    p, q = (v.ravel() for v in np.meshgrid(*[np.linspace(0.0, 0.99, 34)] * 2))
    p, q = p[p + q <= 1.0, None], q[p + q <= 1.0, None]
    x, y = np.array(list(ends)).T
    low, high = np.array([(one.low, np.inf if one.high is None else one.high) for one in ends.values()]).T
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(y + 1) - gammaln(n - x - y + 1)
    chance = np.exp(ways + xlogy(x, p) + xlogy(y, q) + xlogy(n - x - y, np.maximum(1.0 - p - q, 0.0)))
    assert chance.sum(axis=1).max() <= 1.0 + 1e-9
    return (truth(p, q) < low) | (truth(p, q) > high), chance


@pytest.mark.parametrize("n", [1, 5, 12])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_difference_covers_whatever_the_truth(n, alpha):
    ends = {(x, y): paired_difference(n - x - y, x, y, 0, alpha) for x, y in tables(n)}
    lost, chance = missed(n, ends, lambda p, q: p - q)
    assert (lost * chance).sum(axis=1).max() <= alpha + 1e-9


def test_the_ratio_covers_whatever_the_truth():
    m = 12  # scenarios in which at least one succeeded; where none did says nothing
    ends = {(x, y): paired_ratio(m - x - y, x, y, 3) for x, y in tables(m) if x < m}
    lost, chance = missed(m, ends, lambda p, q: (1.0 - q) / (1.0 - p))
    assert (lost * chance).sum(axis=1).max() <= 0.05 + 1e-9


@pytest.mark.parametrize("kind", ["difference", "ratio"])
@pytest.mark.parametrize(("n", "x", "y"), [(1, 0, 1), (7, 1, 2), (33, 4, 11), (33, 20, 2), (100, 0, 0), (100, 30, 41)])
def test_the_largest_chance_is_that_of_a_dense_grid(kind, n, x, y):
    low, (curve, bottom, _) = _lower(kind, n, x, y, 0.05), CURVES[kind]
    order = _order(kind, n, 0.05)
    least = (order < order[x, y] - 1e-12).sum(axis=0)
    edge = np.geomspace(1e-6, 1.0, 300)
    places = np.unique(np.concatenate([np.linspace(0.0, 1.0, 3001), edge, 1.0 - edge]))
    if low > bottom:
        assert _chance(n, least, *curve(low, places)).max() <= 0.025
    assert _chance(n, least, *curve(low + 4e-5, places)).max() > 0.0249  # and no wider than need be


def test_tails_are_closed_under_more_of_a_and_less_of_b():
    for kind in ("difference", "ratio"):
        order = _order(kind, 12, 0.05)
        for x, y in tables(12):
            if x + y < 12:
                assert order[x + 1, y] >= order[x, y]
            if y:
                assert order[x, y - 1] >= order[x, y]


def test_no_discordant_pair_is_the_one_sided_binomial():
    assert paired_difference(20, 0, 0, 0).low == pytest.approx(0.025 ** (1 / 20) - 1.0, abs=3e-5)
    assert paired_ratio(20, 0, 0, 30).low == pytest.approx(0.025 ** (1 / 20), abs=1e-4)  # 30 others say nothing
    assert paired_ratio(20, 0, 0, 30) == paired_ratio(20, 0, 0, 30)


@pytest.mark.parametrize("alpha", [0.001, 0.025, 0.5])
def test_every_small_table_has_ends_around_its_estimate(alpha):
    for n in (1, 2, 6):
        for x, y in tables(n):
            one = paired_difference(n - x - y, x, y, 0, alpha)
            assert -1.0 <= one.low <= one.estimate <= one.high <= 1.0
            if x < n:
                ratio = paired_ratio(n - x - y, x, y, 0, alpha)
                assert 0.0 <= ratio.low <= ratio.estimate <= (np.inf if ratio.high is None else ratio.high)


def test_exchanging_the_two_mirrors_both():
    one, other = paired_difference(9, 2, 6, 3), paired_difference(9, 6, 2, 3)
    assert (one.low, one.high, one.estimate) == (-other.high, -other.low, -other.estimate)
    up, down = paired_ratio(9, 2, 6, 3), paired_ratio(9, 6, 2, 3)
    assert (up.low, up.high) == pytest.approx((1 / down.high, 1 / down.low), rel=1e-3)
    assert paired_ratio(0, 0, 4, 2).low == 0.0
    assert paired_ratio(0, 7, 1, 0).high > 100  # b may hardly ever succeed


def test_what_is_refused():
    with pytest.raises(ValueError, match="must be >= 0 and not all zero"):
        paired_difference(0, 0, 0, 0)
    with pytest.raises(ValueError, match="b must have succeeded at least once"):
        paired_ratio(0, 3, 0, 2)
    assert table(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])) == (1, 1, 1, 1)
