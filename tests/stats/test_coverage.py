"""The harness itself, and a quick pass of every finite-sample claim. The full table is in docs/statistics.md."""

import sys

import numpy as np
import pytest

from foretell.stats import Interval, blocked, disorder, spread, star, useless
from foretell.stats import mixed as grades
from foretell.stats.coverage import FINITE, Coverage, cover, main, method, print_predictivity
from foretell.stats.families import FAMILIES
from foretell.stats.regimes import COVERAGE_REGIMES, WIDTH_REGIMES, monotone, regime
from foretell.stats.useless import change, graded, successes

QUICK = [w for w in COVERAGE_REGIMES if w.n <= 100 and w.extra <= 3000]
OFTEN = {"tiny binary", "biased simulator", "skewed down", "fine score, uneven blocks"}
"""Those of every run; all others once a day."""


@pytest.mark.parametrize(
    "world", [pytest.param(w, id=w.name, marks=() if w.name in OFTEN else pytest.mark.daily) for w in QUICK]
)
def test_finite_sample_methods_cover(world):
    for cell in cover(world, FINITE, draws=60, alpha=0.1, seed=2):
        assert not cell.fails, f"{cell.method} covered {cell.covered} of {cell.draws}"


def test_the_harness_catches_a_bad_method():
    def too_narrow(real, sim, extra, alpha, draw):
        good = star(real, alpha)
        return Interval(
            estimate=good.estimate,
            low=good.estimate - 0.02,
            high=good.estimate + 0.02,
            alpha=alpha,
            method="bad",
            guarantee="finite-sample",
            assumes=(),
            n=1,
        )

    cells = cover(COVERAGE_REGIMES[1], {"bad": too_narrow, "star": method("star")}, draws=60)
    assert [c.fails for c in cells] == [True, False]


def test_the_harness_catches_bad_predictivity_intervals(capsys):
    def too_narrow(metric, *, real, sim, alpha, **given):
        value = float(metric(real, sim))
        return Interval(
            estimate=value,
            low=value - 0.001,
            high=value + 0.001,
            alpha=alpha,
            method="bad",
            guarantee="asymptotic",
            assumes=(),
            n=len(real),
        )

    assert print_predictivity(FAMILIES[:1], 20, 1, interval=too_narrow) > 4
    assert "FAIL" in capsys.readouterr().out


def test_table_spans_what_it_promises():
    assert len(COVERAGE_REGIMES) >= 12
    assert min(w.n for w in COVERAGE_REGIMES) == 10
    assert max(w.n for w in COVERAGE_REGIMES) == 300
    assert max(w.extra for w in COVERAGE_REGIMES) == 50_000
    assert any(w.extra % w.n for w in COVERAGE_REGIMES)
    assert any(w.n == w.extra for w in COVERAGE_REGIMES)
    correlations = [w.moments()["correlation"] for w in COVERAGE_REGIMES]
    assert min(correlations) < -0.5
    assert max(correlations) > 0.99


def test_first_width_regimes_follow_the_paper():
    paper = [
        (0.246, 0.104, 0.702, 0.054),
        (0.825, 0.138, 0.588, 0.090),
        (0.983, 0.014, 0.0, 0.029),
        (0.751, 0.116, 0.974, 0.006),
    ]
    for world, (mean, variance, rho, rectifier) in zip(WIDTH_REGIMES, paper, strict=False):
        found = world.moments()
        assert found["real_mean"] == pytest.approx(mean, abs=0.005)
        assert found["real_variance"] == pytest.approx(variance, abs=0.007)
        assert found["correlation"] == pytest.approx(rho, abs=0.005)
        assert found["rectifier_variance"] == pytest.approx(rectifier, abs=0.002)


def test_draws_follow_the_table():
    world = regime("check", (0.0, 1.0), (0.4, 0.6), (0.0, 0.5), (0.3, 0.7), 0.5, 4000, 4000)
    y, f, e = world.draw(world.generator(1))
    known = world.moments()
    assert y.mean() == pytest.approx(known["real_mean"], abs=0.03)
    assert e.mean() == pytest.approx(known["sim_mean"], abs=0.02)
    assert np.corrcoef(y, f)[0, 1] == pytest.approx(0.5, abs=0.05)
    coupled = monotone(np.array([0.5, 0.5]), np.array([0.2, 0.8]))
    assert coupled.ravel() == pytest.approx([0.2, 0.3, 0.0, 0.5])
    with pytest.raises(ValueError, match="at most"):
        regime("no", (0.0, 1.0), (0.5, 0.5), (0.0, 1.0), (0.1, 0.9), 0.99, 5, 5)


def test_p_value_is_the_binomial_tail():
    assert Coverage(
        regime="r", method="m", draws=10, covered=10, alpha=0.1, width=0.0, width_error=0.0
    ).p_value == pytest.approx(1.0)
    assert Coverage(
        regime="r", method="m", draws=10, covered=0, alpha=0.1, width=0.0, width_error=0.0
    ).p_value == pytest.approx(0.1**10)


@pytest.mark.daily
def test_blocked_covers_on_a_finite_grid_visited_in_random_order():
    # Cells of a grid run in random order without replacement; the target is the mean over the grid.
    rng = np.random.default_rng(0)
    real = np.r_[np.ones(90), np.zeros(60)]
    sim = np.where(rng.random(150) < 0.8, real, 1 - real)
    held = 0
    for _ in range(60):
        order = rng.permutation(150)
        held += real.mean() in blocked(real[order[:30]], sim[order[:30]], sim[order[30:]], 0.1)
    assert held >= 51


def test_command_line(capsys):
    assert main(["--only", "1", "--draws", "5"]) == 0
    assert "tiny binary" in capsys.readouterr().out
    assert main(["--widths", "--only", "5", "--draws", "3"]) == 0
    assert "vs suresim" in capsys.readouterr().out
    assert main(["--sampled", "--only", "2", "--draws", "4"]) == 0
    assert "stratified" in capsys.readouterr().out
    assert main(["--asymptotic", "--only", "2", "--draws", "4"]) == 0
    assert "control_variate" in capsys.readouterr().out
    assert main(["--predictivity", "--only", "10", "--draws", "3"]) == 0
    out = capsys.readouterr().out
    assert "three policies" in out and "cells below nominal: 0" in out
    assert main(["--widths", "--other", "--only", "5", "--draws", "2"]) == 0
    assert "binary .8 n25" in capsys.readouterr().out
    assert main(["--binary", "--methods", "clopper_pearson,strata", "--only", "11", "--draws", "2"]) == 0
    said = capsys.readouterr().out
    assert "few simulations" in said and "hoeffding" not in said
    assert main(["--saved", "--only", "5", "--draws", "3"]) == 0
    assert "blocked: best" in capsys.readouterr().out


def test_a_useless_simulator_costs_little_in_the_harness_too():
    assert change(graded("constant"), 10, 30, draws=6) < 0.06
    assert change(successes(0.7, 1.0), 30, 300, draws=2) == 0.0  # real trials stand alone


def test_a_rule_of_strata_may_be_left_out(capsys, monkeypatch):
    rules = sys.modules["foretell.stats.strata"]
    monkeypatch.setattr(rules, "SCARCE", rules.SCARCE)  # put back after the test
    cells = ["--successes", "--sizes", "60x300", "--rates", "0.98", "--draws", "3"]
    monkeypatch.setattr("foretell.stats.useless.SHARES", (0.3,))
    costs = []
    for more in ([], ["--without", "SCARCE"]):
        assert useless.main([*cells, *more]) == 0
        row = capsys.readouterr().out.splitlines()[-1]
        assert row.startswith("| 60 | 300 | 0.98 | ")
        costs.append(float(row.split("|")[4].strip(" %")))
    assert costs[1] > costs[0] + 1.0 and costs[0] < 2.0


def test_harnesses_of_order_and_grades_print_their_tables(capsys, monkeypatch):
    assert disorder.main(["--alike", "--draws", "40"]) == 0
    assert "| 20 points easier |" in capsys.readouterr().out
    monkeypatch.setattr(spread, "ARRAYS", ((2, "star", 12), (3, "blocked", 10)))
    assert spread.main(["--arrays", "--draws", "3"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith(("| 2 ", "| 3 "))]
    assert len(rows) == 2 and all(float(row[5]) > float(row[4]) for row in rows), "eight orders are wider than one"
    monkeypatch.setattr(grades, "CASES", (grades.PolicyCase(0.7, 0.4),))
    monkeypatch.setattr(grades, "SIZES", ((30, 300),))
    for more in ([], ["--sorted", "--coverage"]):
        assert grades.main(["--draws", "3", *more]) == 0
        assert "| 0.7 | 0.4 | 30 | 300 | " in capsys.readouterr().out
