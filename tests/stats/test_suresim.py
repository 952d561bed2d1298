"""SureSim: the corrected algorithms are fair, the printed Algorithm 3 is not."""

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from foretell.stats import (
    betting,
    control_variate,
    control_variate_split,
    suresim,
    suresim_2stage,
    suresim_2stage_ub,
    suresim_ub,
)
from foretell.stats.betting import CAP, mirrored_ends, predictable_bets
from foretell.stats.coverage import cover
from foretell.stats.regimes import COVERAGE_REGIMES, TWO, WIDTH_REGIMES, regime
from foretell.stats.rungs import rungs
from foretell.stats.suresim import _hedge

BIASED = regime("biased", TWO, (0.6, 0.4), TWO, (0.49, 0.51), 0.7, 60, 700)


def printed_algorithm_3(real, sim, extra, alpha, draw=0):
    """The listing as printed: sim at delta, rectifier at alpha - delta, ends subtracted crosswise."""
    delta = 0.9 * alpha
    (f_low, f_high), _ = mirrored_ends(extra, delta, extra.size)
    (r_low, r_high), _ = mirrored_ends(0.5 * (1 + real - sim), alpha - delta, real.size)
    low, high = f_low - (2 * r_high - 1), f_high - (2 * r_low - 1)
    base = suresim_2stage(real, sim, extra, alpha)
    return replace(
        base, estimate=0.5 * (low + high), low=low, high=high, method="printed", guarantee="asymptotic", assumes=()
    )


@pytest.mark.daily
def test_printed_algorithm_3_under_covers_and_ours_does_not():
    methods = {
        "printed": printed_algorithm_3,
        "corrected": lambda y, f, e, alpha, i: suresim_2stage(y, f, e, alpha),
    }
    cells = {c.method: c for c in cover(BIASED, methods, draws=200, alpha=0.1, seed=3)}
    assert cells["printed"].fails
    assert cells["printed"].coverage < 0.5
    assert not cells["corrected"].fails
    assert cells["corrected"].coverage > 0.95


def game(world, alpha, weights):
    """Exact expected wealth at the truth over all outcomes and all orders, n = N = 2."""
    n = extra = 2
    total = n + extra
    margin = world.table.sum(axis=0)
    pairs = [(world.table[i, j], y, f) for i, y in enumerate(world.real_levels) for j, f in enumerate(world.sim_levels)]
    mu, expected = world.mean, 0.0
    for order in itertools.permutations(range(total)):
        paired = np.array(order) < n
        for drawn in itertools.product(pairs, repeat=n):
            for more in itertools.product(range(margin.size), repeat=extra):
                chance = math.prod(p for p, _, _ in drawn) * math.prod(margin[i] for i in more)
                y = np.array([v for _, v, _ in drawn])
                f = np.concatenate([[v for _, _, v in drawn], world.sim_levels[list(more)]])
                gap = np.concatenate([y - f[:n], np.zeros(extra)])
                used = np.cumsum(paired) - paired
                stop = np.flatnonzero(paired)[-1] + 1 if weights == "exact" else total
                pi = (n - used[:stop]) / (total - np.arange(stop)) if weights == "exact" else np.full(total, n / total)
                o = np.array(order)[:stop]
                z = f[o] + gap[o] / pi
                bets = predictable_bets(z, alpha, total, -extra / n, 1 + extra / n)
                stakes = np.minimum(bets, CAP / (mu - (1 - 1 / pi)))
                expected += chance * float(np.prod(1 + stakes * (z - mu)))
    return expected / math.factorial(total)


def test_exact_weights_make_the_game_fair_and_constant_weights_do_not():
    world = regime("w", TWO, (0.4, 0.6), TWO, (0.6, 0.4), 0.3, 2, 2)
    assert game(world, 0.5, "exact") == pytest.approx(1.0, abs=1e-10)
    assert abs(game(world, 0.5, "paper") - 1.0) > 1e-6


def test_seed_is_fixed_recorded_and_matters():
    y, f, e = WIDTH_REGIMES[0].draw(np.random.default_rng(0))
    assert suresim(y, f, e) == suresim(y, f, e)
    assert suresim(y, f, e).notes == ("shuffle seed 0",)
    assert suresim(y, f, e, seed=5).width != suresim(y, f, e).width


def test_paper_weights_do_not_claim_finite_sample():
    y, f, e = WIDTH_REGIMES[0].draw(np.random.default_rng(0))
    found = suresim(y, f, e, weights="paper")
    assert found.guarantee == "asymptotic"
    assert "Bernoulli" in found.reason
    assert suresim(y, f, e).guarantee == "finite-sample"
    with pytest.raises(ValueError, match="weights"):
        suresim(y, f, e, weights="other")


def test_delta_given_default_and_searched():
    y, f, e = WIDTH_REGIMES[1].draw(np.random.default_rng(0))
    assert suresim_2stage(y, f, e, 0.1).low == suresim_2stage(y, f, e, 0.1, delta=0.09).low
    searched = suresim_2stage(y, f, e, 0.1, delta="search")
    assert searched.width <= suresim_2stage(y, f, e, 0.1).width
    assert searched.guarantee == "asymptotic"
    with pytest.raises(ValueError, match="delta"):
        suresim_2stage(y, f, e, 0.1, delta=0.1)


def test_hedges_lie_inside_both_parts():
    y, f, e = WIDTH_REGIMES[2].draw(np.random.default_rng(0))
    for hedge, part in ((suresim_ub, suresim), (suresim_2stage_ub, suresim_2stage)):
        found, ppi, real = hedge(y, f, e, 0.1), part(y, f, e, 0.075), betting(y, 0.025)
        assert found.low == max(ppi.low, real.low)
        assert found.high == min(ppi.high, real.high)
        assert found.alpha == 0.1


@pytest.mark.parametrize("hedge", [suresim_ub, suresim_2stage_ub])
def test_a_hedge_whose_parts_do_not_meet_falls_back_to_the_level_where_they_do(hedge):
    y = np.r_[np.zeros(20), np.ones(20)]
    f, e = np.zeros(40), np.zeros(400)
    y, f = np.where(np.arange(40) % 2, y, 0), np.where(np.arange(40) % 2, f, 1)
    hedge = partial(hedge, shuffled=True)  # one order: several have several levels
    found = hedge(y, f, e, 0.9)
    assert any("do not meet above level" in note for note in found.notes)
    assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
    assert found.alpha == 0.9
    level = float(found.notes[-1].rsplit(" ", 1)[1])
    for alpha in (1.01 * level, 0.5 * (level + 0.9)):  # every level above gives the same
        assert (hedge(y, f, e, alpha).low, hedge(y, f, e, alpha).high) == (found.low, found.high)
    wider = hedge(y, f, e, 0.9 * level)
    assert wider.low < found.low
    assert found.high < wider.high
    assert not any("meet" in note for note in wider.notes)


def test_a_hedge_whose_parts_never_meet_knows_nothing():
    real = np.ones(4000)
    elsewhere = replace(betting(1 - real, 0.1), low=0.0, high=1e-6, notes=())
    never = _hedge(lambda level: elsewhere, real, 0.1, (0.0, 1.0), "test", False)
    assert (never.low, never.high, never.alpha) == (0.0, 1.0, 0.1)


def test_divided_levels_keep_the_ladder():
    y, f, e = WIDTH_REGIMES[1].draw(np.random.default_rng(3))
    for alpha in (0.2, 0.1, 0.05, 0.01):
        aims = [games[0][1] for games in (rungs(0.9 * alpha, 0.9), rungs(alpha - 0.9 * alpha, 0.1))]
        assert aims == pytest.approx([0.9 * alpha, 0.1 * alpha], rel=1e-8)
    widths = [suresim_2stage(y, f, e, alpha).width for alpha in (0.2, 0.1, 0.07, 0.05)]
    assert widths == sorted(widths)


def test_control_variate_matches_its_formula_and_says_asymptotic():
    y, f, e = WIDTH_REGIMES[1].draw(np.random.default_rng(0))
    n, total = y.size, e.size
    b = np.cov(y, f)[0, 1] / np.var(f, ddof=1) * total / (total + n)
    mean = y.mean() - b * (f.mean() - e.mean())
    variance = np.var(y - b * f, ddof=1) / n + b**2 * np.var(e, ddof=1) / total
    found = control_variate(y, f, e, 0.1, tail="normal")
    assert found.low == pytest.approx(mean - 1.6448536 * math.sqrt(variance), abs=1e-6)
    wide = control_variate(y, f, e, 0.1)
    assert wide.width == pytest.approx(2 * math.sqrt(variance / 0.1), rel=1e-9)
    for method in (control_variate, control_variate_split):
        assert method(y, f, e).guarantee == "asymptotic"


def test_control_variate_does_under_cover_near_one():
    cell = cover(COVERAGE_REGIMES[2], ["control_variate"], draws=150, alpha=0.1)[0]
    assert cell.fails


@pytest.mark.parametrize("method", [suresim, suresim_2stage, suresim_ub, suresim_2stage_ub, control_variate])
def test_unpaired_lengths_are_refused(method):
    with pytest.raises(ValueError, match="pair one to one"):
        method([0.1] * 4, [0.2] * 3, [0.5] * 9)
