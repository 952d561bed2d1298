"""Does success rise or fall along an ordered condition, such as latency? One test, however many values were tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.scores import Floats

__all__ = ["Trend", "trend"]

FLIPS = 9999
"""Random flips where the exact distribution is out of reach; the smallest p-value is then 1 / (FLIPS + 1)."""
TRIALS = 60
"""Scores that are multiples of 1/k for one k up to this have an exact distribution."""
LARGEST = 200_000
"""Largest sum of which the exact distribution is computed."""


@dataclass(frozen=True)
class Trend:
    """A trend of mean scores over ordered columns."""

    value: float
    """Mean contrast of a scenario, in [-1, 1]: above 0 where scores rise. With two columns it is their difference."""
    p_value: float | None
    """Two-sided; None below two scenarios."""
    n: int
    """Scenarios that count in every column."""


def trend(at: ArrayLike, scores: ArrayLike, *, seed: int = 0) -> Trend:
    """Test for a trend along `at`, shape (K,), K >= 2; scores in [0, 1]: shape (S, K), NaN where a scenario lacks one.

    Every scenario gives one number, the sum of its scores weighted by the centred ranks of `at`. If the conditions do
    not matter, a scenario's scores in reverse order are as likely as they are, so each number is as likely with the
    other sign: its sign is flipped. The p-value is the share of all flips whose sum is at least as far from 0, exact
    for scores that are multiples of a common fraction (successes, means of k trials), else from `FLIPS` random flips.
    It is valid for every number of columns and scenarios. With two columns of successes it is McNemar's exact test.
    """
    x, y = np.asarray(at, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if x.ndim != 1 or x.size < 2 or y.ndim != 2 or y.shape[1:] != x.shape or not np.isfinite(x).all():
        raise ValueError(f"at must be finite and of shape (K,), K >= 2, scores (S, K), got {x.shape} and {y.shape}")
    weights = (x[:, None] > x).sum(axis=1) - (x[:, None] < x).sum(axis=1)  # twice the centred ranks, whole numbers
    each = y[np.isfinite(y).all(axis=1)] @ weights
    most = float(np.abs(weights).sum()) / 2.0
    value = float(each.mean() / most) if each.size and most else 0.0
    if each.size < 2:
        return Trend(value, None, each.size)
    return Trend(value, _flipped(each, seed), each.size)


def _flipped(each: Floats, seed: int) -> float:
    """Share of sign flips of `each`, shape (S,), whose sum is at least as far from 0."""
    size, total = np.abs(each[each != 0.0]), abs(float(each.sum()))
    for k in range(1, TRIALS + 1):
        whole = np.round(size * k)
        if whole.sum() > LARGEST:
            break
        if np.abs(size * k - whole).max(initial=0.0) < 1e-9:
            return _exact(whole.astype(np.int64), round(total * k))
    signs = np.random.default_rng(seed).integers(0, 2, size=(FLIPS, size.size), dtype=np.int8)
    sums = np.abs(2.0 * (signs @ size) - size.sum())
    return float((1 + (sums >= total - 1e-9).sum()) / (FLIPS + 1))


def _exact(size: np.ndarray[tuple[int, ...], np.dtype[np.int64]], total: int) -> float:
    """The same, all numbers whole: the distribution of the sum of those that stay positive, one number at a time."""
    chance = np.zeros(int(size.sum()) + 1)
    chance[0] = 1.0
    for v in size:
        moved = np.zeros_like(chance)
        moved[v:] = chance[: chance.size - v]
        chance = 0.5 * (chance + moved)
    far = (int(size.sum()) + total + 1) // 2  # the sum of positives at which the whole sum reaches `total`
    return float(min(1.0, 2.0 * chance[far:].sum())) if total else 1.0
