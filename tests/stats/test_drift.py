"""The order of trials on a robot that changes: random orders are fair, and policy after policy is not."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats.drift import DESIGNS, DRIFTS, cover_design, cover_drift, times
from foretell.stats.until import looks


@pytest.mark.parametrize("way", ["planned", "random", "mixed"])
def test_every_trial_has_one_turn_and_stays_between_its_looks(way):
    a, b = times(way, looks(35, 10), np.random.default_rng(1))
    assert sorted([*a, *b]) == list(range(70))
    for first, last in ((0, 10), (10, 20), (20, 30), (30, 35)):
        both = np.concatenate([a[first:last], b[first:last]])
        assert (both.min(), both.max()) == (2 * first, 2 * last - 1)
    if way == "random":
        assert (np.abs(a - b) == 1).all() and 0 < (a < b).mean() < 1


def test_a_robot_that_wears_deceives_whoever_tries_one_policy_after_the_other():
    wears = DRIFTS["wears, 0.8 to 0.4"]
    unfair, fair = (cover_drift(wears, way, 40, until=False) for way in ("planned", "random"))
    assert unfair.coverage < 0.6 and fair.coverage > 0.8
    assert cover_drift(wears, "random", 8, until=True, n=30).coverage > 0.6


@pytest.mark.parametrize("design", DESIGNS)
def test_designs_of_real_studies_cover_where_a_rule_stops_them(design):
    cell, scenarios = cover_design(design, 10, n=30, width=0.5)
    assert cell.coverage >= 0.7 and 10 <= scenarios <= 30
