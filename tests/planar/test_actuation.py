"""Actuation noise: its moments are those of the tables."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy.stats import truncnorm

from foretell.arrays import Floats
from foretell.planar.actuation import ACTUATION, Actuation, Spread, disturb, truncated

N = 20_000
TURN = np.radians(30.0)


def draws(actuation: Actuation, ahead: float, turn: float, multiplier: float = 1.0, spread: Spread = "std") -> Floats:
    uniform = np.random.default_rng(0).random((N, 3))
    told = np.full(N, ahead), np.full(N, turn)
    return disturb(uniform, *told, actuation=actuation, multiplier=multiplier, spread=spread)


@pytest.mark.parametrize("spread", get_args(Spread))
@pytest.mark.parametrize("actuation", get_args(Actuation))
def test_moments(actuation: Actuation, spread: Spread) -> None:
    """Of a step and of a turn: a normal cut at 3 sigma and, along what is commanded, at -0.95 of it."""
    for table, ahead, turn in zip(ACTUATION[actuation], (0.25, 0.0), (0.0, TURN), strict=True):
        noise = draws(actuation, ahead, turn, spread=spread) * [1, -1, 1]  # tables count to the right
        for axis, commanded in enumerate((ahead, 0.0, turn)):
            mean, sigma = table.mean[axis], table.spread[axis]
            sigma = np.sqrt(sigma) if spread == "variance" else sigma
            if sigma == 0:
                assert (noise[:, axis] == mean).all()
                continue
            low = max(-3.0, (-0.95 * commanded - mean) / sigma) if commanded else -3.0
            law = truncnorm(low, 3.0, loc=mean, scale=sigma)
            assert noise[:, axis].mean() == pytest.approx(law.mean(), abs=5 * law.std() / np.sqrt(N))
            assert noise[:, axis].std() == pytest.approx(law.std(), rel=0.03)
            assert noise[:, axis].min() >= mean + low * sigma - 1e-12
            assert noise[:, axis].max() <= mean + 3 * sigma + 1e-12


def test_a_step_ahead_never_goes_back() -> None:
    """Of a variance of 0.055 m2, noise would take 0.25 m away in one of eight steps."""
    assert draws("lite_movebase", 0.25, 0.0, spread="variance")[:, 0].min() >= -0.95 * 0.25
    assert draws("lite_movebase", 0.25, 0.0, spread="variance", multiplier=2.0)[:, 0].min() >= -0.95 * 0.25


def test_a_turn_to_the_right_overshoots_to_the_right() -> None:
    left, right = draws("locobot_ilqr", 0.0, TURN), draws("locobot_ilqr", 0.0, -TURN)
    assert (left[:, 2] == -right[:, 2]).all() and left[:, 2].mean() > 0


def test_the_multiplier_scales_mean_and_spread() -> None:
    whole, half = draws("locobot_proportional", 0.25, 0.0), draws("locobot_proportional", 0.25, 0.0, multiplier=0.5)
    assert half == pytest.approx(0.5 * whole)
    assert not draws("locobot_proportional", 0.25, 0.0, multiplier=0.0).any()


def test_who_stands_still_stands_still() -> None:
    assert not draws("lite_movebase", 0.0, 0.0, spread="variance").any()


def test_no_spread_is_safe() -> None:
    none = np.zeros(3)
    drawn = truncated(np.array([0.0, 0.5, 0.999]), np.full(3, 0.1), none, np.array([-np.inf, 0.2, -1.0]))
    assert drawn.tolist() == [0.1, 0.2, 0.1]


def test_the_published_error_over_two_metres() -> None:
    """Eight steps of 0.25 m by ILQR end 0.32 m off on average where spreads are variances, 0.115 m where they are
    standard deviations."""
    for spread, expected in (("variance", 0.32), ("std", 0.115)):
        rng = np.random.default_rng(0)
        place, heading = np.zeros((4000, 2)), np.zeros(4000)
        for _ in range(8):
            told = np.full(4000, 0.25), np.zeros(4000)
            noise = disturb(rng.random((4000, 3)), *told, actuation="locobot_ilqr", multiplier=1.0, spread=spread)
            ahead = 0.25 + noise[:, 0]
            place[:, 0] += np.cos(heading) * ahead - np.sin(heading) * noise[:, 1]
            place[:, 1] += np.sin(heading) * ahead + np.cos(heading) * noise[:, 1]
            heading += noise[:, 2]
        assert np.linalg.norm(place - [2.0, 0.0], axis=1).mean() == pytest.approx(expected, rel=0.06)
