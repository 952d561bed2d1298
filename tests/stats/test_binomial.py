"""Intervals of counts against independent implementations and published values."""

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from foretell.stats import clopper_pearson, newcombe, newcombe_paired, wilson

COUNTS = [(0, 1), (1, 1), (0, 20), (20, 20), (7, 10), (3, 60), (59, 60), (150, 300)]


@pytest.mark.parametrize(("k", "n"), COUNTS)
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_wilson_and_clopper_pearson_match_statsmodels(k, n, alpha):
    for ours, theirs in ((wilson, "wilson"), (clopper_pearson, "beta")):
        low, high = proportion_confint(k, n, alpha=alpha, method=theirs)
        found = ours(k, n, alpha)
        assert found.low == pytest.approx(low, abs=1e-9)
        assert found.high == pytest.approx(high, abs=1e-9)
        assert found.estimate == k / n


def test_clopper_pearson_covers_exactly_at_every_rate():
    from scipy.stats import binom

    n, alpha = 15, 0.1
    ends = [clopper_pearson(k, n, alpha) for k in range(n + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        held = sum(binom.pmf(k, n, p) for k in range(n + 1) if p in ends[k])
        assert held >= 1 - alpha - 1e-12


def test_wilson_is_not_called_finite_sample_because_it_is_not():
    from scipy.stats import binom

    n, alpha = 20, 0.05
    ends = [wilson(k, n, alpha) for k in range(n + 1)]
    worst = min(sum(binom.pmf(k, n, p) for k in range(n + 1) if p in ends[k]) for p in np.linspace(0.005, 0.995, 199))
    assert worst < 1 - alpha
    assert ends[0].guarantee == "asymptotic"
    assert clopper_pearson(1, n).guarantee == "finite-sample"


def test_newcombe_matches_statsmodels():
    for ka, na, kb, nb in [(56, 70, 48, 80), (9, 10, 3, 10), (0, 10, 0, 20), (10, 10, 0, 20)]:
        low, high = confint_proportions_2indep(ka, na, kb, nb, method="newcomb", compare="diff", alpha=0.05)
        found = newcombe(ka, na, kb, nb)
        assert found.low == pytest.approx(low, abs=1e-9)
        assert found.high == pytest.approx(high, abs=1e-9)


def test_paired_newcombe_published_example():
    # Newcombe 1998 (Statistics in Medicine 17:2635), method 10, table rows as (both, only a, only b, neither).
    for cells, low, high in [((36, 12, 2, 0), 0.0569, 0.3404), ((0, 0, 30, 0), -1.0, -0.8395)]:
        found = newcombe_paired(*cells)
        assert found.low == pytest.approx(low, abs=6e-4)
        assert found.high == pytest.approx(high, abs=6e-4)


def test_paired_interval_narrows_when_policies_agree():
    assert newcombe_paired(40, 5, 2, 13).width < newcombe(45, 60, 42, 60).width


@pytest.mark.parametrize("bad", [(-1, 10), (11, 10), (0, 0), (1.5, 10)])
def test_impossible_counts_are_refused(bad):
    with pytest.raises(ValueError, match="successes"):
        wilson(*bad)
    with pytest.raises(ValueError, match="successes"):
        clopper_pearson(*bad)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2.0])
def test_alpha_out_of_range_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha"):
        wilson(1, 2, alpha)
