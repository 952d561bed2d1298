"""What is kept of a success rate: the ratio of two rates on the same scenarios, and its relative drop."""

from __future__ import annotations

import math
import operator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.binomial import z_value
from foretell.stats.interval import ALPHA, BINARY, FIXED_N, IID, NORMAL, Interval
from foretell.stats.scores import check_alpha, is_binary, scores

__all__ = ["bonett_price", "relative_drop", "retention"]

SAME = "both were tried on the same scenarios"
DRAWS = 2000
BLOCK = 2_000_000
"""Picks that are in memory at a time."""


def bonett_price(both: int, only_a: int, only_b: int, neither: int, alpha: float = ALPHA) -> Interval:
    """Bonett and Price's interval of the ratio rate_a / rate_b of paired successes (Stat. Med. 25, 2006). Scalars in.

    The four counts of the 2 x 2 table, as in `newcombe_paired`; rate_b must be above 0. Scenarios where neither
    succeeds say nothing about a ratio. The upper end is missing where rate_b may be 0.
    """
    cells = [operator.index(v) for v in (both, only_a, only_b, neither)]
    if min(cells) < 0 or cells[0] + cells[2] < 1:
        raise ValueError(f"the four counts must be >= 0 and b must have succeeded at least once, got {cells}")
    n = cells[0] + cells[1] + cells[2]
    a, b = cells[0] + cells[1], cells[0] + cells[2]
    joint = math.sqrt((cells[1] + cells[2] + 2) / ((a + 1) * (b + 1)))
    apart = sum(math.sqrt((1.0 - (k + 1) / (n + 2)) / (k + 1)) for k in (a, b))
    z = joint / apart * z_value(alpha)

    def ends(k: int) -> tuple[float, float]:
        half = z * math.sqrt(z * z + 4.0 * k * (1.0 - k / n))
        low, high = ((2.0 * k + z * z + side * half) / (2.0 * (n + z * z)) for side in (-1.0, 1.0))
        return 0.0 if k == 0 else low, 1.0 if k == n else high

    (low_a, high_a), (low_b, high_b) = ends(a), ends(b)
    high = high_a / low_b if low_b > 0.0 else None
    assumes = (IID, BINARY, FIXED_N, NORMAL, SAME)
    return Interval(a / b, low_a / high_b, high, alpha, "bonett_price", "asymptotic", assumes, sum(cells))


def retention(kept: ArrayLike, base: ArrayLike, alpha: float = ALPHA, *, seed: int = 0) -> Interval | None:
    """Interval of mean(kept) / mean(base), scores in [0, 1] on the same scenarios, both of shape (n,).

    Successes: Bonett and Price. Partial credit: scenarios resampled. None where mean(base) is 0: there is no ratio.
    """
    check_alpha(alpha)
    a, b = scores(kept, "kept"), scores(base, "base")
    if a.shape != b.shape:
        raise ValueError(f"kept and base must pair one to one, got {a.size} and {b.size} values")
    if not b.any():
        return None
    if is_binary(a) and is_binary(b):
        both, only_a, only_b = int((a * b).sum()), int((a * (1 - b)).sum()), int(((1 - a) * b).sum())
        return bonett_price(both, only_a, only_b, a.size - both - only_a - only_b, alpha)
    rng, step = np.random.default_rng(seed), max(1, BLOCK // a.size)
    means = []
    for at in range(0, DRAWS, step):  # the same draws as all at once, which would take gigabytes
        pick = rng.integers(a.size, size=(min(step, DRAWS - at), a.size))
        means.append((a[pick].mean(axis=1), b[pick].mean(axis=1)))
    top, bottom = (np.concatenate(side) for side in zip(*means, strict=True))
    ratios = top[bottom > 0.0] / bottom[bottom > 0.0]
    low, high = (float(v) for v in np.quantile(ratios, [alpha / 2.0, 1.0 - alpha / 2.0]))
    value = float(a.mean() / b.mean())
    ends = min(low, value), max(high, value)
    return Interval(value, *ends, alpha, "bootstrap over scenarios", "asymptotic", (IID, SAME), a.size)


def relative_drop(kept: Interval) -> Interval:
    """The interval of 1 - ratio, from that of the ratio."""
    low = None if kept.high is None else 1.0 - kept.high
    return replace(kept, estimate=1.0 - kept.estimate, low=low, high=None if kept.low is None else 1.0 - kept.low)
