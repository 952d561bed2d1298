"""Paired and extra scenarios drawn alike or not: the test keeps its level, and sees what matters."""

import numpy as np
import pytest
from scipy.stats import fisher_exact, permutation_test

from foretell.stats import same_draw


@pytest.mark.parametrize(
    ("won", "n", "others", "total"), [(14, 20, 50, 100), (0, 12, 30, 60), (9, 9, 20, 41), (3, 30, 3, 30)]
)
def test_successes_give_the_exact_test(won, n, others, total):
    paired, extra = np.repeat([1.0, 0.0], [won, n - won]), np.repeat([1.0, 0.0], [others, total - others])
    # Fisher's orders tables by probability, ours by distance; both are exact, and agree on where the mass begins
    every = permutation_test(
        (paired[:6], extra[:6]), lambda a, b: a.mean() - b.mean(), n_resamples=np.inf, alternative="two-sided"
    ).pvalue
    p = same_draw(paired, extra)
    assert 0.0 < p <= 1.0
    if n == total:  # symmetric: the two orders are one
        assert p == pytest.approx(fisher_exact([[won, n - won], [others, total - others]]).pvalue)
    assert same_draw(paired[:6], extra[:6]) == pytest.approx(every)


def test_partial_credit_agrees_with_all_permutations():
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.25):
        paired, extra = rng.random(8), np.clip(rng.random(9) + shift, 0, 1)
        every = permutation_test(
            (paired, extra), lambda a, b: a.mean() - b.mean(), n_resamples=np.inf, alternative="two-sided"
        ).pvalue
        assert same_draw(paired, extra) == pytest.approx(every, abs=0.03)


@pytest.mark.daily
def test_it_keeps_its_level_and_sees_easier_scenarios():
    rng = np.random.default_rng(4)
    alike = [same_draw(rng.random(20) < 0.6, rng.random(100) < 0.6) for _ in range(400)]
    assert np.mean(np.array(alike) <= 0.05) <= 0.07  # a level of 0.1 would pass one time in forty
    graded = [same_draw(rng.beta(2, 2, 15), rng.beta(2, 2, 80)) for _ in range(150)]
    assert np.mean(np.array(graded) <= 0.05) <= 0.08
    easier = [same_draw(rng.random(60) < 0.5, rng.random(300) < 0.7) for _ in range(60)]
    assert np.mean(np.array(easier) <= 0.01) > 0.5


def test_many_scenarios_take_no_time_and_flat_scores_say_nothing():
    rng = np.random.default_rng(5)
    assert same_draw(rng.random(200), rng.random(100_000)) > 1e-4
    assert same_draw(rng.random(200) * 0.5, rng.random(100_000)) == pytest.approx(1 / 5000)
    assert same_draw([1, 1], [1, 1, 1]) == 1.0 and same_draw([0.1 + 0.2, 0.3], [0.3]) == 1.0
    with pytest.raises(ValueError, match="paired needs at least 1 values, got 0"):
        same_draw([], [1.0])
