"""`bank`: one simulator is `blocked`; weights see the past only; and it covers where rows are sorted or looked at."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats import bank, blocked, last_weights
from foretell.stats.bank import learned
from foretell.stats.coverage_bank import ORDERS, REGIMES, covers


def drawn(n: int, kinds: tuple[str, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    regime = REGIMES[1]
    real, sims, _ = regime.draw(np.random.default_rng(seed), kinds)
    return real[:n], sims[:n], sims[regime.n :]


def test_one_simulator_is_blocked() -> None:
    real, sims, extras = drawn(30, ("good",))
    one = bank(real, sims, extras, horizon=30, steps=200)
    other = blocked(real, sims[:, 0], extras[:, 0], horizon=30, steps=200)
    assert (one.low, one.high, one.estimate) == (other.low, other.high, other.estimate)


def test_weights_depend_on_past_trials_only() -> None:
    rng = np.random.default_rng(1)
    y, c = rng.random(20), rng.uniform(-1, 1, (20, 3))
    weights = learned(y, c)
    y[12:], c[12:] = rng.random(8), rng.uniform(-1, 1, (8, 3))
    again = learned(y, c)
    assert (weights[:13] == again[:13]).all() and (weights[13:] != again[13:]).any()
    assert (weights >= 0).all() and np.allclose(weights.sum(axis=1), 1.0)


def test_weights_go_to_the_simulator_that_knows() -> None:
    assert last_weights(*drawn(60, ("useless", "good")))[1] > 0.75
    assert last_weights(*drawn(60, ("contrary", "good")))[0] < 0.05


def test_the_order_of_a_file_means_nothing() -> None:
    real, sims, extras = drawn(20, ("good", "fair"))
    binary = (real > 0.4).astype(float), (sims > 0.4).astype(float), (extras > 0.4).astype(float)
    by = np.lexsort([*binary[1].T, binary[0]])
    given, sorted_ = bank(*binary, steps=100), bank(binary[0][by], binary[1][by], binary[2], steps=100)
    assert (given.low, given.high) == (sorted_.low, sorted_.high)


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="must have a column for each simulator"):
        bank([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="pair one to one, got 2 and 3 rows"):
        bank([0.0, 1.0], np.zeros((3, 2)), np.zeros((4, 2)))


@pytest.mark.parametrize("order", ORDERS)
def test_it_covers(order: str) -> None:
    """40 draws at 90 %: 28 or fewer would come once in a thousand."""
    rng = np.random.default_rng(ORDERS.index(order))
    held = sum(covers(REGIMES[0], ("good", "useless"), order, rng, 0.1) for _ in range(40))
    assert held > 28
