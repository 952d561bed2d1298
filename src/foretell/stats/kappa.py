"""How far two judges agree on the same trials: the share of equal verdicts, and Cohen's kappa."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.binomial import clopper_pearson_ends
from foretell.stats.interval import ALPHA, BINARY, FIXED_N, IID, Interval
from foretell.stats.scores import check_alpha

__all__ = ["kappa"]


def kappa(first: ArrayLike, second: ArrayLike, alpha: float = ALPHA) -> Interval:
    """Cohen's kappa of two judges who said yes (1) or no (0) to the same trials; first, second: shape (n,).

    It is 1 - d / e: d is how often they differ, and e how often they would differ by chance, each with their own share
    of yes. Exact intervals of d and of both shares, at alpha / 3 each, give the ends, so the interval holds for every
    n. It is wide where a judge says nearly always the same: then chance alone explains that they agree. The estimate is
    NaN where both judges say the same of every trial.
    """
    a, b = (np.asarray(values, dtype=float) for values in (first, second))
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise ValueError(f"first and second must both have shape (n,) with n >= 1, got {a.shape} and {b.shape}")
    if not np.isin(np.concatenate([a, b]), (0.0, 1.0)).all():
        raise ValueError("first and second must hold 0 and 1 only")
    check_alpha(alpha)
    n, each = len(a), alpha / 3
    counts = [int((a != b).sum()), int(a.sum()), int(b.sum())]
    (d_low, d_high), first_ends, second_ends = (clopper_pearson_ends(count, n, each) for count in counts)
    chances = [_chance(p, q) for p, q in product(first_ends, second_ends)]  # bilinear: its extremes are at corners
    chance = _chance(counts[1] / n, counts[2] / n)
    estimate = 1.0 - counts[0] / n / chance if chance > 0 else float("nan")
    low = max(-1.0, 1.0 - d_high / min(chances)) if min(chances) > 0 else -1.0
    high = min(1.0, 1.0 - d_low / max(chances))
    return Interval(
        estimate=estimate,
        low=min(low, estimate) if chance > 0 else low,
        high=max(high, estimate) if chance > 0 else high,
        alpha=alpha,
        method="kappa",
        guarantee="finite-sample",
        assumes=(IID, BINARY, FIXED_N),
        n=n,
    )


def _chance(p: float, q: float) -> float:
    """How often two differ who say yes with these shares, independently."""
    return p * (1.0 - q) + q * (1.0 - p)
