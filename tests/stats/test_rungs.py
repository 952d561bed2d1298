"""The ladder of aims, and that the looser games are needed."""

import sys

import numpy as np
import pytest

from foretell.stats.blocked import STEPS, candidates, controls, every_game, lower_end
from foretell.stats.rungs import RUNGS, rungs


def test_the_ladder_descends_in_small_steps_over_customary_levels():
    ratio = np.array(RUNGS[:-1]) / np.array(RUNGS[1:])
    assert (ratio > 1).all()
    used = np.array(RUNGS[1:]) > 1e-6
    assert (ratio[used] < 1.34).all()
    for alpha in (0.5, 0.25, 0.2, 0.1, 0.05, 0.025, 0.02, 0.01, 0.005, 0.001, 0.1 - 0.09):
        assert rungs(alpha)[0] == (alpha, pytest.approx(alpha, rel=1e-8))


def test_a_lower_level_adds_games_and_drops_none():
    for strict, loose in ((0.1, 0.2), (0.07, 0.1), (0.011, 0.3), (1e-9, 1e-5), (1e-305, 1e-200)):
        (level, aim), *above = rungs(loose)
        assert aim <= level or level < RUNGS[-1]
        assert set(above) <= set(rungs(strict)[1:])
        assert rungs(strict)[0][1] == aim or (aim, aim) in rungs(strict)[1:]
    levels = [level for level, _ in rungs(0.03)]
    assert levels == sorted(levels)
    assert rungs(0.9) == [(0.9, RUNGS[0])]


def test_without_the_looser_games_a_smaller_alpha_can_be_narrower(monkeypatch):
    monkeypatch.setattr(sys.modules["foretell.stats.blocked"], "FEW_TRIALS", 0)  # an example of the larger prior
    y = np.repeat([0.0, 0.5, 1.0], [4, 5, 6])
    c, g = controls(y, np.array([float(bit) for bit in "110011001110100110000011000100011100001001000"]))
    alone = {}
    for alpha in (0.1, 0.2):
        gambler = every_game(candidates(), rungs(alpha)[:1], y.size)
        for t in range(y.size):
            gambler.update(y[t], c[t], g[t])
        gambler.drop()
        alone[alpha] = gambler.leading(candidates()) / STEPS
    assert alone[0.1] > alone[0.2] + 0.02
    assert lower_end(y, c, g, 0.1) <= lower_end(y, c, g, 0.2) <= alone[0.2]
