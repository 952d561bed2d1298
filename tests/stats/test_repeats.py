"""What more simulated trials of each scenario would buy."""

import numpy as np
import pytest

from foretell.stats import by_scenario, forecast_width, repeated_correlation, repeats_worth


def test_correlation_follows_the_variance_of_a_mean():
    # Between 0.1 and within 0.1: single trials have variance 0.2, the mean of endless ones 0.1.
    once = repeated_correlation(0.5, 0.2, 0.1, 1, 1)
    assert once == 0.5
    assert repeated_correlation(0.5, 0.2, 0.1, 1, 10) == pytest.approx(0.5 * (0.2 / 0.11) ** 0.5)
    assert repeated_correlation(0.5, 0.2, 0.0, 1, 10) == 0.5, "trials that never differ buy nothing"
    assert repeated_correlation(0.9, 0.1, 0.1, 1, 100) == 1.0
    assert repeated_correlation(0.0, 0.0, 0.0, 1, 2) == 0.0
    with pytest.raises(ValueError, match="trials >= 1"):
        repeated_correlation(0.5, 0.1, 0.1, 0, 2)


def test_forecast_agrees_with_simulation_of_the_model():
    rng = np.random.default_rng(0)
    solved = rng.beta(0.7, 0.3, 40_000)
    real = rng.random(solved.size) < solved
    two, ten = rng.binomial(2, solved) / 2, rng.binomial(10, solved) / 10
    rows = rng.random((solved.size, 2)) < solved[:, None]
    units = by_scenario(np.repeat(np.arange(400), 2).tolist(), rows[:400].ravel().astype(float))
    assert units.within == pytest.approx(float(np.mean(solved[:400] * (1 - solved[:400]))), abs=0.03)
    assert by_scenario(["a", "b"], [0, 1]).within is None
    rho = float(np.corrcoef(real, two)[0, 1])
    within = float(np.mean(solved * (1 - solved)))
    found = repeated_correlation(rho, float(np.var(two)), within, 2, 10)
    assert found == pytest.approx(np.corrcoef(real, ten)[0, 1], abs=0.01)


def test_widths_are_those_of_the_forecast():
    found = repeats_worth(60, 0.7, 0.4, extra=1200, trials=3, sim_variance=0.1, within=0.15)
    assert found.now == 3 and found.trials == (1, 2, 3, 5, 10, 30)
    assert found.correlations[2] == 0.4
    assert found.widths[4] == forecast_width(60, 0.7, correlation=found.correlations[4], extra=1200)
    assert (np.diff(found.correlations) > 0).all() and (np.diff(found.widths) <= 0).all()
