"""`blocked`: fairness of the game by exact summation, and the machinery around it."""

import itertools
import math

import numpy as np
import pytest

from foretell.stats import BlockedSequence, StarSequence, blocked, sequence, star
from foretell.stats.blocked import CAP, STEPS, Gambler, both_ends, candidates, controls, every_game, lower_end, stake
from foretell.stats.order import by_content
from foretell.stats.regimes import COVERAGE_REGIMES, WIDTH_REGIMES, regime
from foretell.stats.rungs import rungs

SMALL = regime("small", (0.0, 0.5, 1.0), (0.3, 0.3, 0.4), (0.0, 1.0), (0.4, 0.6), 0.5, 3, 6)
WORLDS = [SMALL, *WIDTH_REGIMES[:2], COVERAGE_REGIMES[8], COVERAGE_REGIMES[10]]


def blocks(world, k):
    """Every (probability, y, c) one block with k extra scenarios can produce."""
    margin = world.table.sum(axis=0)
    for i, y in enumerate(world.real_levels):
        for j, f in enumerate(world.sim_levels):
            for others in itertools.product(range(world.sim_levels.size), repeat=k):
                chance = world.table[i, j] * math.prod(margin[o] for o in others)
                fbar = sum(world.sim_levels[o] for o in others) / k
                yield chance, y, k / (k + 1) * (f - fbar)


@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)
def test_every_factor_has_mean_one_at_the_truth(world, k, side):
    rng = np.random.default_rng(k)
    g = k / (k + 1)
    flip = side == "below"
    mu = 1 - world.mean if flip else world.mean
    games = rungs(0.1)
    gambler = every_game(np.array([mu, min(mu + 0.05, 0.999)]), games, 12)
    support = list(blocks(world, k))
    for _ in range(12):
        lam, beta = gambler.bets(g)
        mean, least = np.zeros(2 * len(games)), np.inf
        for chance, y, c in support:
            value, control = (1 - y, -c) if flip else (y, c)
            factor = 1 + lam * (value - gambler.m - beta * control)
            mean += chance * factor
            least = min(least, factor.min())
        assert mean[0::2] == pytest.approx(1.0, abs=1e-12)
        assert (mean[1::2] <= 1.0 + 1e-12).all()
        assert least >= 1 - CAP - 1e-12
        _, y, c = support[rng.integers(len(support))]
        gambler.update(*((1 - y, -c) if flip else (y, c)), g)


def test_full_game_tree_is_fair_and_obeys_ville():
    k, alpha = 1, 0.8
    g = k / (k + 1)
    support = list(blocks(SMALL, k))
    total, hit = np.zeros(2), np.zeros(2)
    for path in itertools.product(support, repeat=3):
        gambler = every_game(np.array([SMALL.mean]), [(alpha, alpha), (alpha, alpha / 2)], 3)
        for _, y, c in path:
            gambler.update(y, c, g)
        chance = math.prod(step[0] for step in path)
        total += chance * np.exp(gambler.log_wealth)
        hit += chance * gambler.refuted
    assert total == pytest.approx(1.0, abs=1e-10)
    assert (hit > 0).all()
    assert (hit <= alpha / 2).all()


def test_an_unfair_control_would_be_noticed():
    # The same sum with a control whose mean is not zero (pairs compared with another distribution).
    gambler = Gambler(np.array([SMALL.mean]), 0.1, 12)
    lam, beta = gambler.bets(0.5)
    mean = sum(p * (1 + lam * (y - gambler.m - beta * (c - 0.1))) for p, y, c in blocks(SMALL, 1))
    assert (beta > 0).all()
    assert abs(mean.item() - 1) > 1e-4


def test_controls_have_mean_zero_exactly_for_uneven_blocks():
    world = SMALL
    margin = world.table.sum(axis=0)
    total = np.zeros(2)
    levels = range(2)
    for sims in itertools.product(levels, repeat=2):
        for extra in itertools.product(levels, repeat=3):
            chance = math.prod(margin[i] for i in sims + extra)
            c, g = controls(world.sim_levels[list(sims)], world.sim_levels[list(extra)])
            assert g.tolist() == [2 / 3, 1 / 2]
            assert (np.abs(c) <= g + 1e-12).all()
            total += chance * c
    assert total == pytest.approx([0, 0], abs=1e-12)


def test_stakes_are_the_constrained_optimum():
    rng = np.random.default_rng(0)
    for _ in range(40):
        m, need, g = rng.uniform(0.02, 0.98), rng.uniform(0.005, 1.0), rng.uniform(0.3, 0.99)
        vy, vc, rho = rng.uniform(0.01, 0.25), rng.uniform(0.01, 0.2), rng.uniform(-0.9, 0.95)
        cov = rho * math.sqrt(vy * vc)
        lam, beta = (x[0] for x in stake(np.array([m]), np.array([need]), g, np.array([vy]), vc, np.array([cov])))

        def cost(x, vy=vy, vc=vc, cov=cov, need=need):
            return need / x[0] + x[0] * (vy - 2 * x[1] * cov + x[1] ** 2 * vc) / 2

        assert lam * (m + beta * g) <= CAP + 1e-12
        grid_b = np.linspace(0, 1, 201)
        v = vy - 2 * grid_b * cov + grid_b**2 * vc
        grid_l = np.minimum(np.sqrt(2 * need / v), CAP / (m + grid_b * g))
        assert cost((lam, beta)) <= (need / grid_l + grid_l * v / 2).min() + 1e-12


def test_scan_equals_playing_every_candidate():
    rng = np.random.default_rng(4)
    for world in WIDTH_REGIMES[:1] + WIDTH_REGIMES[4:6]:
        y, f, e = world.draw(rng)
        c, g = controls(f, e)
        fallen = np.ones(STEPS - 1, dtype=bool)
        for level, aim in rungs(0.1):
            gambler = Gambler(candidates(), level, y.size, aim)
            for t in range(y.size):
                gambler.update(y[t], c[t], g[t])
            fallen &= gambler.refuted
        assert lower_end(y, c, g, 0.1) == np.argmin(fallen) / STEPS


@pytest.mark.daily
def test_scan_goes_past_the_sample_mean_if_it_must():
    # Late failures with an early streak of successes: candidates above the final mean were already refuted.
    y = np.concatenate([np.ones(30), np.zeros(70)])
    nothing = np.zeros(100)
    low = lower_end(y, nothing, nothing, 0.1, horizon=30)
    assert low > y.mean()
    assert 1.0 - lower_end(1.0 - y, nothing, nothing, 0.1, horizon=30) < low  # every candidate is refuted
    (low, high), level = both_ends(y, nothing, nothing, 0.1, horizon=30)
    assert low <= high
    assert level < 0.1


def test_sequence_ends_where_the_batch_does_and_is_nested():
    y, f, e = WIDTH_REGIMES[0].draw(np.random.default_rng(8))
    n, dealt = y.size, e[by_content(e)]
    play = BlockedSequence(n, alpha=0.1)
    low, high = 0.0, 1.0
    for t in range(n):
        found = play.update(y[t], f[t], dealt[t::n])
        assert low <= found.low <= found.high <= high
        low, high = found.low, found.high
    batch = blocked(y, f, e, 0.1, horizon=n)
    assert (batch.low, batch.high, batch.n, batch.n_extra) == (low, high, found.n, found.n_extra)
    assert batch.estimate == pytest.approx(found.estimate)
    assert batch.anytime
    assert not blocked(y, f, e, 0.1).anytime


def test_star_is_the_game_without_control():
    y = np.random.default_rng(2).random(25)
    play = StarSequence(25, alpha=0.1)
    for value in y:
        found = play.update(value, 0.3, [0.1, 0.2])
    batch = star(y, 0.1, horizon=25)
    assert (found.low, found.high, found.method) == (batch.low, batch.high, "star")
    assert sequence("betting", 25).update(0.5).n == 1
    with pytest.raises(ValueError, match="not anytime-valid"):
        sequence("wilson", 25)


def test_playing_on_past_the_horizon_is_allowed():
    play = BlockedSequence(5, alpha=0.1)
    rng = np.random.default_rng(1)
    widths = [play.update(float(rng.random() < 0.8)).width for _ in range(60)]
    assert widths[-1] < widths[4]


def test_a_good_simulator_narrows_and_a_useless_one_costs_little():
    rng = np.random.default_rng(6)
    good, useless = WIDTH_REGIMES[7], COVERAGE_REGIMES[9]
    ratio = {}
    for world in (good, useless):
        pairs = [world.draw(rng) for _ in range(15)]
        ratio[world.name] = np.mean([blocked(*d, 0.1, shuffled=True).width for d in pairs]) / np.mean(
            [star(d[0], 0.1, shuffled=True).width for d in pairs]
        )
    assert ratio[good.name] < 0.8
    assert 1.0 < ratio[useless.name] < 1.1  # it does cost: the first bets expect a correlation of 0.2
