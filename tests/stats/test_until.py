"""Rules by which a study stops, as functions of scores."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats.betting import star
from foretell.stats.stopping import CASES, cover_decided, cover_stopped
from foretell.stats.until import interval_at, is_decided, is_narrow, looks, stop_after


def test_looks_are_fixed_numbers_and_end_at_the_horizon():
    assert looks(35) == (10, 20, 30, 35)
    assert looks(30) == (10, 20, 30)
    assert looks(4) == (4,)
    assert looks(3, every=1) == (1, 2, 3)
    with pytest.raises(ValueError, match="at least 1"):
        looks(0)


def test_a_narrow_interval_is_that_of_star_with_the_horizon():
    rng = np.random.default_rng(1)
    for draw in range(40):
        y = rng.binomial(3, rng.random(), rng.integers(1, 60)) / 3.0 if draw % 2 else rng.random(rng.integers(1, 60))
        whole = star(y, 0.1, horizon=60)
        assert interval_at(y, 60, 0.1) == whole
        for width in (0.05, 0.2, 0.4, 0.7, whole.width, whole.width - 1e-9):
            if 0.0 < width < 1.0:
                assert is_narrow(y, width, 60, 0.1) == (whole.width <= width)
    assert not is_narrow([], 0.2, 60)
    with pytest.raises(ValueError, match="width must lie between 0 and 1"):
        is_narrow([1.0], 1.0, 60)


def test_a_rule_stops_at_the_first_look_that_says_so_and_at_the_horizon_else():
    asked = []
    assert stop_after(lambda n: asked.append(n) or n >= 25, 60) == 30
    assert asked == [10, 20, 30]
    assert stop_after(lambda n: False, 55) == 55


def test_policies_are_told_apart_by_the_betting_test():
    rng = np.random.default_rng(2)
    good, bad = (rng.random(80) < 0.95).astype(float), (rng.random(80) < 0.3).astype(float)
    assert is_decided(good, bad, 80) and is_decided(bad, good, 80)
    assert not is_decided(good, good, 80)
    assert not is_decided([], [], 80)


def test_the_harness_stops_through_the_same_functions_and_covers():
    easy, hard = (cover_stopped(CASES[i], 12, width=0.3, horizon=60) for i in (4, 2))
    assert easy.cell.coverage > 0.7 and hard.cell.coverage > 0.7
    assert easy.scenarios < hard.scenarios <= 60
    same, apart = (cover_decided(a, 0.5, 12, horizon=60) for a in (0.5, 0.95))
    assert same.cell.coverage > 0.7 and apart.scenarios < same.scenarios
