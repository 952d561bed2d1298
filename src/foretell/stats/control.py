"""Control variates: the classical way to use simulation, good on average and without finite-sample guarantee.

The variance put into Chebyshev's inequality (or a normal quantile) is itself estimated from n pairs, so at
small n these intervals can miss more often than stated. They are here as baselines and say `asymptotic`.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.binomial import z_value
from foretell.stats.interval import ALIKE, ALPHA, FIXED_N, IID, PAIRS, UNFITTED, Interval
from foretell.stats.order import by_content
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, simulated, stretch

Tail = Literal["chebyshev", "normal"]
ESTIMATED = "the estimated variance equals the true one"


def best_coefficient(y: Floats, f: Floats, total_extra: int) -> float:
    """Coefficient b least in variance for mean(y) - b (mean(f) - mean(extra)); y and f of shape (n,)."""
    variance = float(np.var(f, ddof=1))
    if variance == 0.0:
        return 0.0
    covariance = float(np.cov(y, f, ddof=1)[0, 1])
    return covariance / variance * total_extra / (total_extra + y.size)


def _moments(y: Floats, f: Floats, extra: Floats, b: float) -> tuple[float, float]:
    """Estimate and its estimated variance for a given coefficient b."""
    mean = float(y.mean() - b * (f.mean() - extra.mean()))
    spread = float(np.var(extra, ddof=1)) if extra.size > 1 else 0.25
    return mean, float(np.var(y - b * f, ddof=1)) / y.size + b * b * spread / extra.size


def _interval(
    mean: float, variance: float, alpha: float, tail: Tail, method: str, n: int, total: int, within: Range
) -> Interval:
    if tail not in ("chebyshev", "normal"):
        raise ValueError(f"tail must be 'chebyshev' or 'normal', got {tail!r}")
    factor = 1.0 / math.sqrt(check_alpha(alpha)) if tail == "chebyshev" else z_value(alpha)
    half = factor * math.sqrt(max(variance, 0.0))
    low, high = min(max(mean - half, 0.0), 1.0), max(min(mean + half, 1.0), 0.0)
    assumes = (IID, PAIRS, ALIKE, UNFITTED, FIXED_N, ESTIMATED)
    estimate = float(np.clip(mean, low, high))
    notes = (f"{tail} tail",)
    unit = Interval(
        estimate=estimate,
        low=low,
        high=high,
        alpha=alpha,
        method=method,
        guarantee="asymptotic",
        assumes=assumes,
        n=n,
        n_extra=total,
        notes=notes,
    )
    return stretch(unit, within)


def control_variate(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    tail: Tail = "chebyshev",
) -> Interval:
    """Control variate interval. real and sim: shape (n,), n >= 3, paired; extra: shape (N,)."""
    y, f, e = simulated(real, sim, extra, within, sim_within, at_least=3)
    mean, variance = _moments(y, f, e, best_coefficient(y, f, e.size))
    return _interval(mean, variance, alpha, tail, "control_variate", y.size, e.size, within)


def control_variate_split(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    tail: Tail = "chebyshev",
) -> Interval:
    """Control variate interval with the coefficient of each half fitted on the other; shapes (n,), n >= 6, and (N,).

    Splitting removes the bias of choosing the coefficient on the data it is used on, not the need to
    estimate a variance. The order of `extra` only decides which half a score belongs to.
    """
    y, f, e = simulated(real, sim, extra, within, sim_within, at_least=6)
    if e.size < 2:
        raise ValueError(f"extra needs at least 2 values to be split, got {e.size}")
    order = by_content(y, f)
    y, f, e = y[order], f[order], e[by_content(e)]
    half = y.size // 2
    parts = [(slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))]
    mean = variance = 0.0
    for (fit, use), some in zip(parts, (e[0::2], e[1::2]), strict=True):
        share = y[use].size / y.size
        b = best_coefficient(y[fit], f[fit], some.size)
        m, v = _moments(y[use], f[use], some, b)
        mean += share * m
        variance += share * share * v
    return _interval(mean, variance, alpha, tail, "control_variate_split", y.size, e.size, within)
