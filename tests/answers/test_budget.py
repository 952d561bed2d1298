"""Plans: enough trials, not one more, and what a pilot says about them."""

import math

import numpy as np
import pytest

from foretell import stats
from foretell.answers.budget import budget

rng = np.random.default_rng(2)
LATENT = rng.random(60)
REAL = (LATENT < 0.6).astype(int)
SIM = (0.7 * LATENT + 0.3 * rng.random(60) < 0.6).astype(int)
NAMES = [f"s{i}" for i in range(60)]


def table(scores):
    return {"scenario": NAMES[: len(scores)], "score": list(scores)}


def test_a_width_takes_just_enough_trials():
    found = budget(width=0.2, correlation=0.8, rate=0.7, n_extra=1000).to_dict()
    assert found["with_simulation"] < found["real_only"]
    for n, kind in ((found["real_only"], {}), (found["with_simulation"], {"correlation": 0.8, "extra": 1000})):
        assert stats.forecast_width(n, 0.7, **kind) <= 0.2 < stats.forecast_width(n - 1, 0.7, **kind)
    worth = found["worth"]
    assert worth["width"] == sorted(worth["width"], reverse=True) and worth["floor"] <= worth["width"][-1]
    assert budget(width=0.2, correlation=0.8, rate=0.7).to_dict()["with_simulation"] <= found["with_simulation"]


def test_power_takes_just_enough_trials():
    found = budget(power=0.8, difference=0.2, rate=0.5, correlation=0.6, agreement=0.3).to_dict()
    kind = {"agreement": 0.3, "correlation": 0.6, "extra": math.inf}
    n = found["with_simulation"]
    assert stats.forecast_power(n, 0.7, 0.5, **kind) >= 0.8 > stats.forecast_power(n - 1, 0.7, 0.5, **kind)
    assert n < found["real_only"] and "telling 0.7 from 0.5 with a chance of 80%" in found["sentence"].lower()


def test_power_says_how_many_scenarios_and_how_many_trials():
    found = budget(power=0.8, difference=0.2, rate=0.6, correlation=0.6)
    assert (found.to_dict()["real_only"], found.to_dict()["trials_real_only"]) == (85, 170)
    assert "about 85 real scenarios x two policies = 170 real trials alone" in found.text()
    assert f"or {found.with_simulation} x two = {2 * found.with_simulation} with unlimited" in found.text()
    assert found.to_dict()["trials_with_simulation"] == 2 * found.with_simulation
    width = budget(width=0.2, rate=0.5).to_dict()
    assert width["trials_real_only"] == width["real_only"]


def test_a_useless_simulator_buys_nothing():
    found = budget(width=0.2, correlation=0.0)
    assert found.real_only == found.with_simulation and found.worth is None
    assert "simulation saves nothing at this correlation" in found.notes


def test_without_a_correlation_real_trials_alone_are_planned():
    found = budget(width=0.2, rate=0.5)
    assert found.real_only == found.with_simulation == stats.trials_for_width(0.2, 0.5)
    assert len(found.notes) == 1 and "--correlation or a pilot" in found.notes[0] and found.asked["correlation"] == 0.0
    assert found.text().startswith(
        f"A 95% bound 0.2 wide at a mean score of 0.5 takes about {found.real_only} real trials alone.\n"
    )
    told = budget(power=0.8, difference=0.2, rate=0.5)
    assert told.real_only == told.with_simulation and "simulated" not in told.text().splitlines()[0]


def test_a_pilot_gives_rate_and_correlation():
    found = budget(table(REAL), table(SIM), width=0.15).to_dict()
    rho = np.corrcoef(REAL, SIM)[0, 1]
    assert found["correlation"] == pytest.approx(rho) and found["rate"] == pytest.approx(REAL.mean())
    middle, reach = np.arctanh(rho), 1.96 / np.sqrt(57)
    ends = np.tanh([middle - reach, middle + reach])
    assert [found["pilot"]["correlation_low"], found["pilot"]["correlation_high"]] == pytest.approx(ends, abs=1e-4)
    assert found["with_simulation"] <= found["if_correlation_low"] <= found["real_only"]
    given = budget(table(REAL), table(SIM), width=0.15, correlation=0.95, rate=0.5).to_dict()
    assert given["correlation"] == 0.95 and given["rate"] == 0.5
    assert given["with_simulation"] == budget(width=0.15, correlation=0.95, rate=0.5).with_simulation


def test_a_pilot_of_two_policies():
    other_real, other_sim = (rng.random(60) < 0.5).astype(int), (rng.random(60) < 0.5).astype(int)
    names = ["a"] * 60 + ["b"] * 60
    real = {"scenario": NAMES * 2, "policy": names, "score": [*REAL, *other_real]}
    sim = {"scenario": NAMES * 2, "policy": names, "score": [*SIM, *other_sim]}
    found = budget(real, sim, power=0.8, difference=0.2, policy=("a", "b")).to_dict()
    wanted = np.corrcoef(REAL - other_real, SIM - other_sim)[0, 1]
    assert found["correlation"] == pytest.approx(wanted) and found["rate"] == pytest.approx(other_real.mean())
    assert found["agreement"] == pytest.approx(np.corrcoef(REAL, other_real)[0, 1])


def test_a_pilot_that_never_varies_is_worth_nothing():
    found = budget(table([1] * 10), table(SIM[:10]), width=0.2)
    assert found.pilot.correlation == 0.0 and any("never varies" in note for note in found.notes)


def test_text():
    text = budget(table(REAL), table(SIM), width=0.15).text()
    assert text.startswith("A 95% bound 0.15 wide at a mean score of 0.") and "forecasts for planning" in text
    assert "as many real trials alone" in text
    assert "more than a million" in budget(width=1e-4, correlation=0.5).text()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "nothing to plan for: give a width of the bound, for example --width 0.2"),
        ({"width": 0.1, "power": 0.8, "difference": 0.1}, "not both"),
        ({"power": 0.8}, "power needs difference too, for example --power 0.8 --difference 0.2"),
        ({"difference": 0.2}, "difference needs power too"),
        ({"width": 20.0}, "width must lie in (0, 1), got 20"),
        ({"width": 20.0, "real": "none.csv"}, "width must lie in (0, 1), got 20"),
        ({"width": 2.0, "correlation": 0.5}, "width must lie in (0, 1)"),
        ({"width": math.nan, "correlation": 0.5}, "width must lie in (0, 1)"),
        ({"width": 0.1, "correlation": 1.5}, "correlation must lie in [-1, 1]"),
        ({"width": 0.1, "correlation": math.nan}, "correlation must lie in [-1, 1]"),
        ({"width": 0.1, "correlation": 0.5, "rate": 2.0}, "rate must lie in [0, 1]"),
        ({"width": 0.1, "correlation": 0.5, "variance": 0.9}, "has variance between 0"),
        ({"width": 0.1, "correlation": 0.5, "n_extra": -1}, "n_extra must be 0 or more"),
        ({"width": 0.1, "correlation": 0.5, "alpha": 0.0}, "alpha must lie strictly"),
        ({"power": 1.0, "difference": 0.1, "correlation": 0.5}, "power must lie in (0, 1)"),
        ({"power": 0.8, "difference": 0.6, "correlation": 0.5}, "rate + difference must lie in [0, 1]"),
        ({"power": 0.8, "difference": 0.0, "correlation": 0.5}, "difference must not be 0"),
        ({"width": 0.1, "real": table(REAL)}, "a pilot needs both real and sim"),
        ({"width": 0.1, "correlation": 0.5, "policy": ("a",)}, "policy needs a pilot"),
    ],
)
def test_what_is_refused(refused, given, told):
    assert told in refused(budget, **given)


def test_a_pilot_tells_what_more_simulated_trials_would_buy():
    once = budget(table(REAL), table(SIM), width=0.15)
    assert any("simulated once" in note for note in once.notes) and once.to_dict()["pilot"]["repeats"] is None
    again = np.where(rng.random(60) < 0.8, SIM, 1 - np.array(SIM))
    twice = {"scenario": NAMES * 2, "trial": [0] * 60 + [1] * 60, "score": [*SIM, *again]}
    found = budget(table(REAL), twice, width=0.15)
    assert "simulated 2 times" in found.text()
    assert found.to_dict()["pilot"]["repeats"]["now"] == 2


def test_a_plan_for_a_success_rate_counts_on_what_bound_does_by_default() -> None:
    few = budget(width=0.35, rate=0.5, correlation=0.9)
    assert few.real_only is not None and few.real_only > 30 and few.with_simulation == 30
    assert any("needs 30 real trials before it uses simulation" in note for note in few.notes)
    wide = budget(width=0.4, rate=0.5, correlation=0.6)
    assert wide.real_only is not None and wide.with_simulation == wide.real_only < 30
    poor = budget(width=0.2, rate=0.5, correlation=0.9, n_extra=100)
    assert poor.with_simulation == poor.real_only and any("100 save nothing" in note for note in poor.notes)
    graded = budget(width=0.2, rate=0.5, variance=0.05, correlation=0.9)
    assert graded.with_simulation is not None and graded.with_simulation < 30  # `blocked` needs no thirty
