"""The door to all methods: choice, honesty about design, units, diagnostics, savings."""

import json

import numpy as np
import pytest

from foretell.stats import (
    METHODS,
    bound,
    bound_policies,
    by_scenario,
    clopper_pearson,
    diagnose,
    pair_units,
    real_trials_saved,
    star,
    width_curve,
)
from foretell.stats.bounds import default_method, enough
from foretell.stats.coverage import FINITE
from foretell.stats.regimes import COVERAGE_REGIMES, WIDTH_REGIMES

Y, F, E = WIDTH_REGIMES[5].draw(np.random.default_rng(11))  # binary
PY, PF, PE = WIDTH_REGIMES[0].draw(np.random.default_rng(11))  # partial credit


def test_auto_uses_simulation_where_there_is_enough():
    assert bound(Y, F, E).method == "strata"
    few = bound(Y, F, E[: enough(Y.size) - 1])
    assert few.method == "clopper_pearson"
    assert "only 299 extra" in few.notes[-1] and "fewer than 300" in few.notes[-1]
    assert bound(PY, PF, PE[: PY.size]).method == "blocked"
    scarce = bound(PY, PF, PE[: PY.size - 1])
    assert scarce.method == "star"
    assert "only 59 extra" in scarce.notes[-1] and "needs at least 60" in scarce.notes[-1]
    assert bound(Y).method == "clopper_pearson"
    assert bound(PY).method == "star"
    assert "no paired simulation" in bound(PY).notes[-1]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_in_json_inside_the_range(method):
    found = bound(Y, F, E, method=method, alpha=0.1)
    row = json.loads(json.dumps(found.to_dict()))
    assert {"estimate", "low", "high", "alpha", "method", "guarantee", "assumes", "n", "n_extra"} <= set(row)
    assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
    assert row["method"] == method
    assert (row["guarantee"] == "finite-sample") == (method in FINITE)
    assert row["assumes"]
    assert row["n"] == 50
    assert row["diagnostics"]["correlation"] == pytest.approx(np.corrcoef(Y, F)[0, 1])


def test_design_decides_the_label():
    assert bound(Y).guarantee == "finite-sample"
    chosen = bound(Y, design="chosen")
    assert chosen.guarantee == "asymptotic"
    assert "chosen" in chosen.reason
    assert bound(Y, design="grid").guarantee == "asymptotic"
    assert bound(Y, design="grid", randomised=True).guarantee == "finite-sample"
    assert bound(Y, design="grid").low == bound(Y).low
    with pytest.raises(ValueError, match="design"):
        bound(Y, design="nice")


def test_named_errors():
    with pytest.raises(ValueError, match="unknown method 'foo'"):
        bound(Y, method="foo")
    with pytest.raises(ValueError, match="needs sim"):
        bound(Y, method="suresim")
    with pytest.raises(ValueError, match="binary"):
        bound(PY, method="wilson")
    with pytest.raises(ValueError, match="pair one to one"):
        bound(Y, F[:-1], E)
    with pytest.raises(ValueError, match=r"extra\[0\]"):
        bound(Y, F, [float("nan")] * 60)


def test_ranges_of_real_and_sim_may_differ():
    unit = bound(PY, PF, PE)
    other = bound(100 * PY, 2 * PF - 1, 2 * PE - 1, within=(0, 100), sim_within=(-1, 1))
    assert other.low == pytest.approx(100 * unit.low)
    assert other.high == pytest.approx(100 * unit.high)


def test_family_of_policies_shares_alpha():
    many = bound_policies({"a": (Y, F, E), "b": (PY, None, None)}, alpha=0.1)
    alone = bound_policies({"a": (Y, F, E), "b": (PY, None, None)}, alpha=0.1, family=False)
    assert many["a"].alpha == 0.05
    assert many["a"].low == bound(Y, F, E, alpha=0.05).low
    assert alone["b"].low == bound(PY, alpha=0.1).low
    assert many["a"].width > alone["a"].width
    assert "held together" in many["a"].notes[-1]


def test_scenario_is_the_unit():
    real = by_scenario(["s1", "s1", "s2", "s2"], [1, 0, 1, 1], trial=[0, 1, 0, 1])
    assert real.ids == ("s1", "s2")
    assert real.scores.tolist() == [0.5, 1.0]
    assert real.counts == (2, 2)
    children = by_scenario(["c1", "c2", "c3", "c4"], [1, 0, 0, 0], parent=["s1", "s1", "s2", "s2"])
    assert children.ids == ("s1", "s2")
    assert children.scores.tolist() == [0.5, 0.0]
    with pytest.raises(ValueError, match="twice"):
        by_scenario(["s1", "s1"], [1, 0], trial=[0, 0])


def test_pairing_by_scenario_and_refusals():
    real = by_scenario(["b", "a"], [1, 0])
    sim = by_scenario(["a", "b", "c", "d"], [0.1, 0.2, 0.3, 0.4])
    pairs = pair_units(real, sim)
    assert pairs.real.tolist() == [1, 0]
    assert pairs.sim.tolist() == [0.2, 0.1]
    assert sorted(pairs.extra.tolist()) == [0.3, 0.4]  # in the order of a hash of their ids
    with pytest.raises(ValueError, match="no simulated partner, first 'z'"):
        pair_units(by_scenario(["z"], [1]), sim)
    uneven = by_scenario(["a", "a", "b", "b", "c"], [0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="same number of rows"):
        pair_units(real, uneven)
    with pytest.raises(ValueError, match="both in sim and in extra"):
        pair_units(real, sim, by_scenario(["c"], [1]))
    more = pair_units(real, sim, by_scenario(["e"], [0.9]))
    assert sorted(more.extra.tolist()) == [0.3, 0.4, 0.9]


def test_diagnosis_speaks_plainly():
    good = diagnose(*WIDTH_REGIMES[7].draw(np.random.default_rng(0)), alpha=0.1)
    assert good.helps
    assert good.sentence.startswith("simulation helps here: correlation")
    assert good.width_sim < good.width_real
    useless = diagnose(*COVERAGE_REGIMES[9].draw(np.random.default_rng(0)), alpha=0.1)
    assert not useless.helps
    assert "does not help: use real trials only" in useless.sentence
    flat = diagnose([1, 1, 1], [0.5, 0.7, 0.5], [0.5] * 9)
    assert flat.correlation is None
    assert "cannot help yet" in diagnose([0, 1], [0, 1]).sentence
    assert useless.rectifier_variance == pytest.approx(0.49, abs=0.1)


def test_width_curve_falls_to_its_floor():
    curve = width_curve(PY, PF, PE, [60, 700], 0.1)
    assert curve.sizes.tolist() == [60, 700]
    assert curve.widths[1] == bound(PY, PF, PE, alpha=0.1, shuffled=True).width
    assert curve.floor < curve.real_only == star(PY, 0.1).width
    default = width_curve(PY, PF, PE)
    assert default.sizes[-1] == 700
    many = [width_curve(*WIDTH_REGIMES[0].draw(np.random.default_rng(s)), [60, 700], 0.1) for s in range(12)]
    mean = np.mean([[*c.widths, c.floor] for c in many], axis=0)
    assert mean[0] > mean[1] > mean[2] * 0.99
    with pytest.raises(ValueError, match="sizes"):
        width_curve(PY, PF, PE, [701])


def test_trials_saved_agrees_with_the_widths_it_was_asked_about():
    width = bound(Y, F, E, alpha=0.1).width
    saved = real_trials_saved(Y, width, 0.1)
    assert saved.n == 50
    assert saved.betting > saved.best > 50
    assert saved.saved_against_best == 1 - 50 / saved.best
    # Clopper-Pearson at the forecast size and the same success rate is about that wide.
    alone = clopper_pearson(round(saved.best * Y.mean()), saved.best, 0.1).width
    assert alone == pytest.approx(width, rel=0.06)
    assert real_trials_saved(Y, 0.4, 0.1).saved_against_best < 0


@pytest.mark.parametrize(
    ("n", "extra", "grades", "reason", "wanted"),
    [
        (40, 0, 1, "no extra simulated scenarios, and with fewer than 300 the default uses none", 300),
        (40, 60, 1, "only 60 extra simulated scenarios, and with fewer than 300 the default uses none", 300),
        (20, 10, 1, "only from 30 real trials on: there are 20", None),
        (20, 0, 1, "only from 30 real trials on: there are 20", None),
        (40, 20, 4, "only 20 extra simulated scenarios, and with fewer than 300 the default uses none", 300),
    ],
)
def test_why_simulation_is_not_used_is_what_would_change_it(n, extra, grades, reason, wanted):
    # Successes in reality; the simulator gives successes (grades 1) or means of four trials.
    rng = np.random.default_rng(0)
    real, sim, more = rng.integers(0, 2, n), rng.integers(0, grades + 1, n) / grades, rng.integers(0, 2, 5000)
    few = bound(real, sim, more[:extra])
    assert few.method == "clopper_pearson" and reason in few.notes[-1]
    if wanted is None:
        assert bound(real, sim, more, diagnostics=False).method == "clopper_pearson"
    else:
        assert default_method(real, sim, more[: wanted - 1]) == "clopper_pearson"
        assert default_method(real, sim, more[:wanted]) != "clopper_pearson"


def test_what_is_said_of_simulation_fits_the_bound_beside_it():
    few = bound(Y[:20], Y[:20], E)  # a perfect simulator, and too few trials for the default to use it
    assert few.method == "clopper_pearson" and not few.diagnostics["helps"]
    assert few.diagnostics["sentence"].startswith(
        "simulation is not used here: the default uses it for a success rate only"
    )
    named = bound(Y[:20], Y[:20], E[:200], method="strata")
    assert named.diagnostics["helps"] and named.width < few.width
