"""Actuation noise: its moments are those of the tables."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy.stats import truncnorm

from foretell.arrays import Floats
from foretell.planar.actuation import ACTUATION, Actuation, Spread, disturb, truncated
from foretell.robots.base import BaseMotion, Velocity
from foretell.robots.locobot import LoCoBot

N = 20_000
TURN = np.radians(30.0)


def draws(actuation: Actuation, ahead: float, turn: float, multiplier: float = 1.0, spread: Spread = "std") -> Floats:
    uniform = np.random.default_rng(0).random((N, 3))
    motion = told(N, ahead, turn)
    return disturb(uniform, motion, actuation=actuation, multiplier=multiplier, spread=spread)


def told(count: int, ahead: float, turn: float) -> BaseMotion:
    """So many bases are told the same step or turn."""
    same = {"ahead": ahead, "turn": turn, "seconds": 1.0, "steps": ahead != 0, "turns": ahead == 0 != turn}
    return BaseMotion(stops=np.zeros(count, dtype=bool), **{name: np.full(count, float(x)) for name, x in same.items()})


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


@pytest.mark.parametrize("spread", get_args(Spread))
@pytest.mark.parametrize(("ahead", "turn"), [(1.0, 0.0), (0.0, -1.0), (0.6, 0.4)])
def test_noise_of_a_velocity_does_not_depend_on_how_often_it_is_told(ahead: float, turn: float, spread: Spread) -> None:
    """Three seconds of one velocity, told in 3 or in 30 actions, err alike: by mean and by spread."""
    controller, ends = Velocity(LoCoBot(), group="base", slots=1, tick=0.02), []
    for pieces in (3, 30):
        rng, total = np.random.default_rng(1), np.zeros((N, 3))
        for _ in range(pieces):
            motion = controller.motion(np.tile([ahead, turn], (N, 1)), np.full(N, 3 / pieces))
            uniform = rng.random((N, 3))
            total += disturb(uniform, motion, actuation="locobot_ilqr", multiplier=0.5, spread=spread)
        ends.append(total)
    assert ends[1].std(axis=0) == pytest.approx(ends[0].std(axis=0), rel=0.05 if spread == "std" else 0.35)
    if spread == "std":  # as a variance, the spread is so large that pieces are cut: none goes back
        assert ends[1].mean(axis=0) == pytest.approx(ends[0].mean(axis=0), abs=6 * ends[0].std() / np.sqrt(N))


def test_a_velocity_of_a_step_has_the_noise_of_a_step() -> None:
    """0.25 m/s for a second are one step; 10 degrees/s for three seconds one turn; a tenth has a tenth of the mean."""
    controller, uniform = Velocity(LoCoBot(), group="base", slots=1, tick=0.02), np.random.default_rng(0).random((N, 3))

    def noise(action: tuple[float, float], seconds: float) -> Floats:
        motion = controller.motion(np.tile(action, (N, 1)), np.full(N, seconds))
        return disturb(uniform, motion, actuation="locobot_ilqr", multiplier=1.0, spread="std")

    assert (noise((1.0, 0.0), 1.0) == draws("locobot_ilqr", 0.25, 0.0)).all()
    assert noise((0.0, -1.0), 3.0) == pytest.approx(draws("locobot_ilqr", 0.0, -TURN))
    brief = noise((1.0, 0.0), 0.1)
    assert brief[:, 0].mean() == pytest.approx(0.1 * 0.014, rel=0.05)
    assert brief[:, 1].std() == pytest.approx(np.sqrt(0.1) * draws("locobot_ilqr", 0.25, 0.0)[:, 1].std(), rel=0.02)


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
            motion = told(4000, 0.25, 0.0)
            noise = disturb(rng.random((4000, 3)), motion, actuation="locobot_ilqr", multiplier=1.0, spread=spread)
            ahead = 0.25 + noise[:, 0]
            place[:, 0] += np.cos(heading) * ahead - np.sin(heading) * noise[:, 1]
            place[:, 1] += np.sin(heading) * ahead + np.cos(heading) * noise[:, 1]
            heading += noise[:, 2]
        assert np.linalg.norm(place - [2.0, 0.0], axis=1).mean() == pytest.approx(expected, rel=0.06)
