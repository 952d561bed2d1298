"""Barnard's test: its supremum against dense grids, its level, its cost."""

import itertools
import math
import time
import tracemalloc

import numpy as np
import pytest
import scipy.stats

from foretell.stats import barnard
from foretell.stats.barnard import GAMMA, _Region, interpolation_error
from foretell.stats.binomial import clopper_pearson_ends

SIZES = [(4, 4), (5, 9), (12, 7), (3, 23)]


def region(ka, na, kb, nb, alternative="two-sided"):
    """Tables at least as extreme, in whole numbers: bool, shape (n_a + 1, n_b + 1)."""
    found = np.zeros((na + 1, nb + 1), dtype=bool)
    lead, m = ka * nb - kb * na, ka + kb
    sign = -1 if alternative == "less" else 1
    for a, b in itertools.product(range(na + 1), range(nb + 1)):
        d, s = a * nb - b * na, a + b
        if s in (0, na + nb):  # z is 0
            found[a, b] = alternative != "two-sided" and sign * lead <= 0
            continue
        left, right = d * d * m * (na + nb - m), lead * lead * s * (na + nb - s)
        if alternative == "two-sided":
            found[a, b] = left >= right
        else:
            found[a, b] = math.copysign(left, sign * d) >= math.copysign(right, sign * lead)
    return found


def chances(inside, p):
    """P(R) at each rate p of shape (T,)."""
    pa, pb = (scipy.stats.binom.pmf(np.arange(n), n - 1, p[:, None]) for n in inside.shape)
    return np.einsum("ta,ab,tb->t", pa, inside.astype(float), pb, optimize=True)


@pytest.mark.parametrize("sizes", SIZES)
def test_never_below_the_supremum_on_a_dense_grid_and_hardly_above(sizes):
    na, nb = sizes
    for ka, kb in itertools.product(range(na + 1), range(nb + 1)):
        if ka + kb in (0, na + nb) or ka * nb == kb * na:
            assert barnard(ka, na, kb, nb) == 1.0
            continue
        low, high = clopper_pearson_ends(ka + kb, na + nb, GAMMA)
        grid = np.sin(np.linspace(math.asin(math.sqrt(low)), math.asin(math.sqrt(high)), 801)) ** 2
        most = chances(region(ka, na, kb, nb), grid).max()
        p = barnard(ka, na, kb, nb)
        assert min(1.0, GAMMA + most) <= p + 1e-12
        assert p <= most + 2e-4 * math.sqrt(most) + 3e-6  # what 801 points themselves miss, and the bounds added


def test_a_table_that_scipy_wrongly_calls_significant():
    ka, na, kb, nb = 9, 13, 19, 49
    most = chances(region(ka, na, kb, nb), np.linspace(0.3, 0.7, 4001)).max()
    theirs = scipy.stats.barnard_exact([[ka, kb], [na - ka, nb - kb]]).pvalue
    assert theirs < 0.05 < 0.0516 < most <= barnard(ka, na, kb, nb) < most + 3e-6


@pytest.mark.parametrize(("na", "nb"), [(6, 6), (4, 11), (2, 17)])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_no_level_is_exceeded_at_any_rate(na, nb, alternative):
    p = np.array([[barnard(a, na, b, nb, alternative) for b in range(nb + 1)] for a in range(na + 1)])
    rates = np.linspace(0.01, 0.99, 99)
    pa, pb = (scipy.stats.binom.pmf(np.arange(n + 1), n, rates[:, None]) for n in (na, nb))
    for level in np.unique(p)[:40]:
        inside = (p <= level).astype(float)
        both = pa @ inside @ pb.T
        equal = both.diagonal() if alternative == "two-sided" else both[np.triu_indices(rates.size)]  # a worse than b
        assert equal.max() <= level + 1e-12


def test_thresholds_describe_the_region():
    for (ka, na, kb, nb), side in itertools.product([(3, 11, 9, 14), (6, 6, 1, 23)], ("two-sided", "greater")):
        seen = abs(ka * nb - kb * na) / math.sqrt((ka + kb) * (na + nb - ka - kb))
        made = _Region(na=na, nb=nb, limit=seen * (1 - 1e-9), both=side == "two-sided", low=0.001, high=0.999)
        wanted = (
            region(ka, na, kb, nb, side)
            if ka * nb > kb * na or side == "two-sided"
            else region(na - ka, na, nb - kb, nb, side)
        )
        b = np.arange(nb + 1)
        found = b < made.below[:, None]
        if made.above is not None:
            found |= b >= made.above[:, None]
        assert (found == wanted).all()


def test_the_interpolation_error_is_bounded():
    made = _Region(na=30, nb=70, limit=9.0, both=True, low=1e-6, high=1 - 1e-6)
    for nodes in (8, 12, 20):
        for middle, half in ((0.3, 0.2), (0.75, 0.25)):
            x = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
            fit = np.polynomial.chebyshev.Chebyshev.fit(x, made.chance(middle + half * x), nodes - 1, domain=[-1, 1])
            dense = np.linspace(-1, 1, 999)
            off = np.abs(fit(dense) - made.chance(middle + half * dense)).max()
            assert off <= interpolation_error(nodes - 1, half, 100) + 1e-12


def test_directions_and_symmetries():
    assert barnard(9, 10, 2, 10, "greater") < 0.01 < 0.9 < barnard(9, 10, 2, 10, "less")
    assert barnard(9, 12, 2, 10, "greater") == barnard(2, 10, 9, 12, "less")
    assert barnard(9, 12, 2, 10) == barnard(2, 10, 9, 12) == pytest.approx(barnard(3, 12, 8, 10), abs=1e-12)
    with pytest.raises(ValueError, match="two-sided, greater or less, got 'more'"):
        barnard(1, 2, 1, 2, "more")
    with pytest.raises(ValueError, match="0 <= successes <= n"):
        barnard(3, 2, 1, 2)


def test_ten_thousand_trials_are_quick_and_small():
    barnard(5, 9, 3, 9)
    times = []
    for _ in range(3):
        start = time.process_time()
        p = barnard(5_000, 10_000, 5_200, 10_000)
        times.append(time.process_time() - start)
    assert 0.0045 < p < 0.0050  # the normal approximation says 0.00468
    assert min(times) < 0.05
    tracemalloc.start()
    barnard(5_000, 10_000, 5_200, 9_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6
