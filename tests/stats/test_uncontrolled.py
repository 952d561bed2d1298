"""The fast game without a control has the ends of the game that `Gambler` plays, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats import uncontrolled
from foretell.stats.blocked import CAP, PRIOR_TRIALS, Gambler, candidates, every_game, lower_end, planned
from foretell.stats.evidence import _run
from foretell.stats.interval import Horizon
from foretell.stats.rungs import rungs
from foretell.stats.scores import Floats

STEPS = 200


def by_gambler(y: Floats, alpha: float, horizon: Horizon) -> float:
    m = candidates(STEPS)
    gambler = every_game(m, rungs(alpha), horizon or y.size)
    for score in y:
        gambler.update(float(score), 0.0, 0.0)
    gambler.drop()
    return gambler.leading(m) / STEPS


def drawn(kind: str, n: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    rate = float(rng.choice([0.02, 0.3, 0.5, 0.9, 0.99]))
    draws = {
        "binary": rng.random(n) < rate,
        "means": rng.binomial(5, rate, n) / 5,
        "any": rng.beta(8 * rate, 8 * (1 - rate), n),
        "none": np.zeros(n),
        "all": np.ones(n),
        "sorted": np.sort(rng.random(n)),
    }
    return np.asarray(draws[kind], dtype=np.float64)


@pytest.mark.parametrize("kind", ["binary", "means", "any", "none", "all", "sorted"])
@pytest.mark.parametrize("horizon", [None, "open", 40])
@pytest.mark.parametrize("n", [1, 7, 60, 400])
def test_ends_are_those_of_the_gambler(kind: str, horizon: Horizon, n: int) -> None:
    for seed, alpha in enumerate((0.05, 0.2, 0.001, 0.0371)):
        y = drawn(kind, n, seed)
        nothing = np.zeros(n)
        assert lower_end(y, nothing, nothing, alpha, horizon, STEPS) == by_gambler(y, alpha, horizon)


def test_candidates_played_alone_or_together_fall_alike() -> None:
    y, m, games = drawn("means", 300, 3), candidates(STEPS), rungs(0.05)
    left = np.array([planned(t, y.size) for t in range(y.size)], dtype=np.float64)
    fell = uncontrolled.fallen(m, games, y, left, CAP, PRIOR_TRIALS)
    assert 0 < fell < m.size
    for size in (1, 8, m.size):
        cut = list(uncontrolled.parts(m, y, 0.05, size))
        assert np.array_equal(np.concatenate(cut), m)
        found = 0
        for part in cut:
            lost = uncontrolled.fallen(part, games, y, left, CAP, PRIOR_TRIALS)
            found += lost
            if lost < part.size:
                break
        assert found == fell


@pytest.mark.parametrize("kind", ["binary", "means", "any", "none", "all", "sorted"])
@pytest.mark.parametrize("horizon", [None, "open", 40])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_test_of_one_candidate_has_the_wealth_of_the_gambler(kind: str, horizon: Horizon, share: float) -> None:
    """With a control (share of its bound) and without."""
    for n, level in ((1, 0.025), (60, 0.2), (400, 0.025), (400, 1e-9)):
        y = drawn(kind, n, n)
        g = np.full(n, share)
        c = g * np.random.default_rng(n).uniform(-1.0, 1.0, n)
        gambler, peak, when = Gambler(np.array([0.5]), 2.0 * level, horizon or n), 0.0, None
        for t in range(n):
            gambler.update(float(y[t]), float(c[t]), float(g[t]))
            peak = max(peak, float(gambler.log_wealth[0]))
            if when is None and gambler.refuted[0]:
                when = t + 1
        assert _run(y, c, g, level, horizon or n) == (peak, float(gambler.log_wealth[0]), when)
