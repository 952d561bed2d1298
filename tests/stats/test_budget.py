"""Forecasts against measured widths and power; uneven sampling stays valid."""

import itertools
import math

import numpy as np
import pytest

from foretell.stats import (
    betting,
    clopper_pearson,
    forecast_exact_width,
    forecast_power,
    forecast_width,
    next_scenarios,
    paired_betting,
    sampled_bound,
    sampling,
    simulation_worth,
    trials_for_power,
    trials_for_width,
)
from foretell.stats.coverage import cover
from foretell.stats.regimes import WIDTH_REGIMES
from foretell.stats.sampling import Selection


@pytest.mark.parametrize("world", WIDTH_REGIMES, ids=lambda w: w.name)
def test_forecast_is_near_the_measured_width(world):
    known = world.moments()
    args = {"variance": known["real_variance"], "alpha": 0.1}
    measured = {c.method: c.width for c in cover(world, ["star", "blocked"], draws=15, seed=7)}
    alone = forecast_width(world.n, known["real_mean"], **args)
    aided = forecast_width(
        world.n, known["real_mean"], correlation=max(known["correlation"], 0.0), extra=world.extra, **args
    )
    assert alone == pytest.approx(measured["star"], rel=0.3)
    assert aided == pytest.approx(measured["blocked"], rel=0.3)


def test_exact_forecast_is_the_expected_width():
    n, p = 12, 0.3
    expected = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) * clopper_pearson(k, n, 0.1).width for k in range(n + 1))
    assert forecast_exact_width(n, p, 0.1) == pytest.approx(expected, abs=1e-9)


def test_trials_for_width_is_the_smallest():
    n = trials_for_width(0.15, 0.7, correlation=0.6, extra=2000)
    assert forecast_width(n, 0.7, correlation=0.6, extra=2000) <= 0.15
    assert forecast_width(n - 1, 0.7, correlation=0.6, extra=2000) > 0.15
    assert n < trials_for_width(0.15, 0.7)
    assert trials_for_width(1e-4, 0.5) is None
    with pytest.raises(ValueError, match="width"):
        trials_for_width(0.0, 0.5)
    with pytest.raises(ValueError, match="variance"):
        forecast_width(10, 0.5, variance=0.3)


def test_power_forecast_is_near_the_measured_power():
    rng = np.random.default_rng(0)
    n, wins = 60, 0
    for _ in range(150):
        a, b = (rng.random((2, n)) < [[0.75], [0.5]]).astype(float)
        wins += paired_betting(a, b, shuffled=True).p_value <= 0.05
    assert forecast_power(n, 0.75, 0.5) == pytest.approx(wins / 150, abs=0.12)
    needed = trials_for_power(0.75, 0.5, 0.8)
    assert forecast_power(needed, 0.75, 0.5) >= 0.8 > forecast_power(needed - 1, 0.75, 0.5)
    assert trials_for_power(0.75, 0.5, 0.8, correlation=0.8, extra=5000) < needed
    assert trials_for_power(0.5, 0.5) is None


def test_simulation_buys_until_it_stops():
    worth = simulation_worth(60, 0.7, 0.7)
    assert (np.diff(worth.widths) < 0).all()
    assert worth.floor <= worth.widths[-1]
    assert (worth.trials >= 60).all()
    assert worth.stops_at in worth.sizes
    nothing = simulation_worth(60, 0.7, 0.0)
    assert nothing.floor == pytest.approx(forecast_width(60, 0.7))


@pytest.mark.parametrize("rule", ["uniform", "stratified", "active"])
def test_chances_are_known_and_meet_the_budget(rule):
    rng = np.random.default_rng(1)
    sim = (rng.random(3000) < 0.1).astype(float)
    picked = next_scenarios(sim, 150, rule=rule, uncertainty=0.1 + sim)
    assert (picked.probability >= picked.least - 1e-15).all()
    assert picked.probability.sum() == pytest.approx(150, rel=0.2)
    assert abs(picked.chosen.size - 150) < 45
    share = sim[picked.chosen].mean()
    assert share == pytest.approx(0.1, abs=0.08) if rule == "uniform" else share > 0.15
    again = next_scenarios(sim, 150, rule=rule, uncertainty=0.1 + sim)
    assert (again.chosen == picked.chosen).all()


def test_chance_of_a_scenario_does_not_look_ahead(monkeypatch):
    rng = np.random.default_rng(2)
    sim, unsure = rng.random(200), rng.random(200)
    for rule in ("stratified", "active"):
        whole = next_scenarios(sim, 40, rule=rule, uncertainty=unsure)
        before = whole.order[:100]
        monkeypatch.setattr(sampling, "by_content", lambda f: np.arange(f.size))  # the order is given here
        part = next_scenarios(sim[before], 20, rule=rule, uncertainty=unsure[before])
        monkeypatch.undo()
        assert whole.probability[before] == pytest.approx(part.probability)


def test_weighted_increments_have_the_right_mean_exactly():
    # One step after a fixed past, over every scenario and both sides of its coin, at a rule that depends on f.
    joint = {(0.0, 0.0): 0.3, (1.0, 0.0): 0.1, (0.0, 1.0): 0.2, (1.0, 1.0): 0.4}
    mu = sum(y * p for (y, _), p in joint.items())
    past = [0.0, 1.0, 1.0]
    mean = 0.0
    for ((y, f), p), run in itertools.product(joint.items(), (True, False)):
        picked = next_scenarios([*past, f], 1.0, rule="stratified")
        pi = picked.probability[-1]
        mean += p * (pi if run else 1 - pi) * (f + (y - f) / pi * run)
    assert mean == pytest.approx(mu, abs=1e-12)


def test_bound_after_uneven_sampling_covers():
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(60):
        u = rng.random(800)
        real, sim = (u < 0.3).astype(float), (u + 0.1 * rng.normal(size=800) < 0.35).astype(float)
        picked = next_scenarios(sim, 80, rule="stratified", seed=seed)
        found = sampled_bound(real[picked.chosen], sim, picked, 0.1)
        held += 0.3 in found
        assert found.guarantee == "finite-sample"
        assert found.n + found.n_extra == 800
    assert held >= 51
    everyone = Selection(
        chosen=np.arange(50), probability=np.ones(50), least=1.0, rule="uniform", seed=0, order=np.arange(50)
    )
    y = rng.random(50)
    same = betting(y, 0.1, horizon=50)
    assert sampled_bound(y, rng.random(50), everyone, 0.1).low == pytest.approx(same.low, abs=1e-6)


def test_named_errors():
    with pytest.raises(ValueError, match="budget"):
        next_scenarios([0.1, 0.2], 3)
    with pytest.raises(ValueError, match="uncertainty"):
        next_scenarios([0.1, 0.2], 1, rule="active")
    with pytest.raises(ValueError, match="rule"):
        next_scenarios([0.1, 0.2], 1, rule="clever")
