"""Intervals of fitted parameters cover, also where residuals of a recording hang together."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.identify.certainty import certainty
from foretell.identify.parameter import Parameter

PAIR = [Parameter(name=name, path=("theta",), value=1.0, low=0.01, high=100.0) for name in ("a", "b")]


def draw(rng: np.random.Generator, units: int, rows: int = 30) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Slopes, and residuals about 0: walks in each recording, those of residuals scaled by a factor of its own."""
    slopes = [np.cumsum(rng.standard_normal((rows, 1, 2)), axis=0) / 4 for _ in range(units)]
    left = [rng.uniform(0.5, 2) * 0.05 * np.cumsum(rng.standard_normal((rows, 1)), axis=0) / 4 for _ in range(units)]
    return slopes, left


def test_intervals_cover_with_walks_for_noise() -> None:
    rng = np.random.default_rng(0)
    for units in (4, 6, 12):
        hits = []
        for _ in range(400):
            slopes, noise = draw(rng, units)
            flat = np.concatenate([s.reshape(-1, 2) for s in slopes])
            off = np.linalg.lstsq(flat, np.concatenate([n.ravel() for n in noise]), rcond=None)[0]
            left = [n - s @ off for s, n in zip(slopes, noise, strict=True)]
            answers, _ = certainty(PAIR, -off, slopes, left)
            hits += [answer.low <= 1.0 <= answer.high for answer in answers]
        # of 800 draws at 0.95, fewer than 0.925 happen once in 1,000; draws come in pairs
        assert np.mean(hits) > 0.915, (units, np.mean(hits))


def test_three_recordings_give_no_interval() -> None:
    answers, _ = certainty(PAIR, np.zeros(2), *draw(np.random.default_rng(4), 3))
    for answer in answers:
        assert not answer.identified
        assert "3 recordings cannot tell" in answer.why
        assert (answer.low, answer.high) == pytest.approx((0.01, 100.0))


def test_twins_have_a_ratio_and_no_values() -> None:
    rng = np.random.default_rng(1)
    once = [rng.standard_normal((20, 1)) for _ in range(6)]
    slopes = [np.stack([s, -s], axis=2) for s in once]
    left = [1e-3 * rng.standard_normal((20, 1)) for _ in range(6)]
    answers, ratios = certainty(PAIR, np.log([2.0, 0.5]), slopes, left)
    assert not any(answer.identified for answer in answers)
    assert "how it relates to b" in answers[0].why
    (ratio,) = ratios
    assert ratio.low < ratio.value < ratio.high
    assert ratio.value == pytest.approx(4.0)
    assert ratio.high / ratio.low < 1.1


def test_no_slope_is_no_information() -> None:
    rng = np.random.default_rng(2)
    slopes, left = draw(rng, 5)
    for s in slopes:
        s[:, :, 1] = 0.0
    answers, _ = certainty(PAIR, np.zeros(2), slopes, left)
    assert answers[0].identified
    assert (answers[1].low, answers[1].high) == pytest.approx((0.01, 100.0))
    assert answers[1].why == "no recorded motion depends on it"
