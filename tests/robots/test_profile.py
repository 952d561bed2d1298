"""Time-optimal profiles, handed over a whole action at a time."""

from __future__ import annotations

import numpy as np
import pytest
import ruckig

from foretell.robots.profile import fastest

LIMITS = (1.5, 2.0, 50.0)
TICK = 1 / 513


def starts(n: int = 40) -> tuple:
    rng = np.random.default_rng(5)
    start = rng.normal(size=(n, 7))
    return start, rng.uniform(-1, 1, (n, 7)), start + rng.normal(size=(n, 7)) * rng.choice([1e-3, 0.05, 1.0], (n, 1))


def test_it_is_the_way_of_ruckig() -> None:
    start, rate, goal = starts()
    at, speed = fastest(start, rate, goal, np.full(len(start), 171), TICK, LIMITS)
    for row in range(len(start)):
        asked, way = ruckig.InputParameter(7), ruckig.Trajectory(7)
        asked.current_position, asked.current_velocity, asked.target_position = start[row], rate[row], goal[row]
        asked.max_velocity, asked.max_acceleration, asked.max_jerk = ([limit] * 7 for limit in LIMITS)
        ruckig.Ruckig(7).calculate(asked, way)
        for tick in (0, 1, 57, 171):
            p, v, _ = way.at_time(min(tick * TICK, way.duration))
            assert at[row, tick] == pytest.approx(p, abs=1e-12)
            assert speed[row, tick] == pytest.approx(v, abs=1e-12)


def test_limits_hold_and_it_arrives_at_rest() -> None:
    start, _, goal = starts()
    at, speed = fastest(start, np.zeros_like(start), goal, np.full(len(start), 3000), TICK, LIMITS)
    assert np.abs(speed).max() <= LIMITS[0] + 1e-9
    assert np.abs(np.diff(speed, axis=1)).max() <= LIMITS[1] * TICK + 1e-9
    assert at[:, -1] == pytest.approx(goal, abs=1e-9)
    assert np.abs(speed[:, -1]).max() < 1e-9


def test_a_shorter_plan_beside_a_longer_one_holds_its_end() -> None:
    start, rate, goal = starts(2)
    at, speed = fastest(start, rate, goal, np.array([50, 171]), TICK, LIMITS)
    alone, _ = fastest(start[:1], rate[:1], goal[:1], np.array([50]), TICK, LIMITS)
    assert np.array_equal(at[0, :51], alone[0])
    assert (at[0, 51:] == at[0, 50]).all()
    assert (speed[0, 51:] == 0).all()


@pytest.mark.parametrize("gap", [0.0, 1e-13, 1e-10])
def test_no_way_is_too_short(gap: float) -> None:
    start = np.full((1, 2), 0.3)
    at, speed = fastest(start, np.full((1, 2), 1e-14), start + gap, np.array([171]), TICK, (1.0, 7.0, 50.0))
    assert at == pytest.approx(0.3, abs=1e-9)
    assert (speed == 0).all()


def test_a_start_beyond_the_speed_limit_is_slowed_down() -> None:
    start, goal = np.zeros((1, 1)), np.ones((1, 1))
    at, speed = fastest(start, np.full((1, 1), 3.0), goal, np.array([1500]), TICK, LIMITS)
    assert np.isfinite(at).all()
    assert np.abs(speed[0, 1000:]).max() <= LIMITS[0] + 1e-9
