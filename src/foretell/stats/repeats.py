"""What it would buy to simulate each scenario several times: a forecast, not a bound.

A simulated score that is the mean of t trials varies for two reasons: scenarios differ, and trials of one scenario
differ. Only the first tells about reality, so its mean over more trials correlates better with the real score:

    variance of the mean of t trials = between + within / t,
    correlation with t' trials = correlation with t trials * sqrt(variance with t / variance with t').
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from foretell.stats.budget import forecast_width
from foretell.stats.interval import ALPHA

__all__ = ["RepeatsWorth", "repeated_correlation", "repeats_worth"]

TRIALS = (1, 2, 5, 10, 30)


@dataclass(frozen=True)
class RepeatsWorth:
    """Correlation and width if each scenario were simulated so many times."""

    now: int
    """Trials of each scenario at hand."""
    trials: tuple[int, ...]
    correlations: tuple[float, ...]
    widths: tuple[float, ...]


def repeated_correlation(correlation: float, variance: float, within: float, trials: int, wanted: int) -> float:
    """Correlation of real scores with the mean of `wanted` simulated trials, from that with `trials`. Scalars in.

    variance: of the means of `trials` over scenarios. within: variance of single trials inside a scenario.
    """
    if trials < 1 or wanted < 1 or variance < 0.0 or within < 0.0:
        given = f"{trials}, {wanted}, {variance}, {within}"
        raise ValueError(f"need trials >= 1, wanted >= 1, variance >= 0 and within >= 0, got {given}")
    between = max(variance - within / trials, 0.0)  # below zero by chance only
    now, then = between + within / trials, between + within / wanted
    if not then > 0.0:
        return correlation
    return min(max(correlation * math.sqrt(now / then), -1.0), 1.0)


def repeats_worth(
    n: int,
    rate: float,
    correlation: float,
    *,
    extra: float,
    trials: int,
    sim_variance: float,
    within: float,
    variance: float | None = None,
    alpha: float = ALPHA,
    wanted: Sequence[int] = TRIALS,
) -> RepeatsWorth:
    """Forecast for n real trials and `extra` simulated scenarios, each simulated `trials` times so far. Scalars in.

    variance: of the real score, default that of a binary one. The rest as in `repeated_correlation`.
    """
    sizes = sorted({*wanted, trials})
    rhos = [repeated_correlation(correlation, sim_variance, within, trials, size) for size in sizes]
    widths = [forecast_width(n, rate, correlation=r, extra=extra, variance=variance, alpha=alpha) for r in rhos]
    return RepeatsWorth(trials, tuple(sizes), tuple(rhos), tuple(widths))
