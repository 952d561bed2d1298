"""Pinned answers: a change of any method's output must be meant, and then the tables in the docs re-run."""

import pytest

from foretell.stats import bound
from foretell.stats.regimes import WIDTH_REGIMES

# First data set of two width regimes at seed 1, alpha 0.1, to the resolution of the root finder.
PINNED = [
    (0, "betting", 0.1720380, 0.3700757),
    (0, "star", 0.1880000, 0.3530000),
    (0, "blocked", 0.2100000, 0.3325000),
    (0, "suresim", 0.1961063, 0.3604962),
    (0, "suresim_2stage", 0.1701921, 0.3737766),
    (0, "suresim_ub", 0.1928552, 0.3679181),
    (0, "control_variate", 0.1806554, 0.3506151),
    (5, "betting", 0.4102125, 0.7423262),
    (5, "star", 0.4420000, 0.7070000),
    (5, "clopper_pearson", 0.4539892, 0.6986156),
    (5, "blocked", 0.5190000, 0.7640000),
    (5, "strata", 0.5492629, 0.7516323),
    (5, "suresim", 0.5209664, 0.8811367),
    (5, "suresim_2stage", 0.5371722, 0.9176912),
    (5, "suresim_ub", 0.4913639, 0.7451023),
    (5, "control_variate", 0.4927763, 0.8423876),
]


@pytest.mark.parametrize(("number", "method", "low", "high"), PINNED)
def test_pinned(number, method, low, high):
    world = WIDTH_REGIMES[number]
    rows = world.draw(world.generator(1))  # in random order, as `shuffled` tells
    found = bound(*rows, method=method, alpha=0.1, shuffled=True, diagnostics=False)
    assert found.low == pytest.approx(low, abs=5e-7)
    assert found.high == pytest.approx(high, abs=5e-7)
