"""Cohen's kappa: known values, its extremes, and that its interval covers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.stats.kappa import kappa


def test_a_textbook_table() -> None:
    """Two readers of 50 grant proposals: 20 yes of both, 15 no of both, 5 and 10 apart; kappa is 0.4."""
    first = [1] * 20 + [1] * 5 + [0] * 10 + [0] * 15
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    found = kappa(first, second)
    assert found.estimate == pytest.approx(0.4) and found.low < 0.4 < found.high
    assert (found.n, found.guarantee) == (50, "finite-sample")


def test_extremes() -> None:
    same = [1, 0] * 20
    assert kappa(same, same).estimate == kappa(same, same).high == 1.0
    assert 0.5 < kappa(same, same).low < 1.0  # forty equal verdicts do not prove that all will be
    assert kappa(same, same[::-1]).estimate == -1.0
    always = kappa([1] * 30, [1] * 30)
    assert math.isnan(always.estimate) and (always.low, always.high) == (-1.0, 1.0)


@pytest.mark.parametrize("bad", [([], []), ([1, 0], [1]), ([2, 0], [1, 0]), ([[1]], [[1]])])
def test_what_is_no_verdict_is_refused(bad: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="first and second"):
        kappa(*bad)


@pytest.mark.parametrize(("n", "yes", "agree"), [(12, 0.5, 0.9), (40, 0.7, 0.95), (40, 0.1, 0.8), (25, 0.5, 0.5)])
def test_the_interval_covers(n: int, yes: float, agree: float) -> None:
    """The second judge repeats the first with a probability, and else says the opposite."""
    rng = np.random.default_rng(7)
    q = yes * agree + (1 - yes) * (1 - agree)
    truth = 1 - (1 - agree) / (yes * (1 - q) + q * (1 - yes))
    missed = 0
    for _ in range(400):
        first = rng.random(n) < yes
        second = np.where(rng.random(n) < agree, first, ~first)
        missed += truth not in kappa(first, second)
    assert missed <= 0.05 * 400 + 3 * math.sqrt(400 * 0.05 * 0.95) * 0.2  # it is conservative
