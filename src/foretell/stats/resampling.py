"""Intervals of predictivity metrics by resampling: trials within policies, or the policies themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.agreement import RANGES, Metric
from foretell.stats.interval import ALPHA, Interval
from foretell.stats.scores import Floats, check_alpha

Over = Literal["trials", "policies"]

MIN_POLICIES = 5
"""Fewer policies than this carry no interval."""

POLICIES_FIXED = "policies fixed, trials resampled"
POLICIES_DRAWN = "policies resampled as if drawn at random from a population of policies"
UNDEFINED = 0.5
"""No interval when the metric is undefined in more than this share of resamples."""


def resample_rates(rates: ArrayLike, trials: ArrayLike, draws: int, rng: np.random.Generator) -> Floats:
    """Success rates of resampled binary trials; rates and trials: shape (P,) -> shape (draws, P)."""
    p, n = np.asarray(rates, dtype=np.float64), np.asarray(trials)
    if p.shape != n.shape or p.ndim != 1:
        raise ValueError(f"rates and trial counts must have shape (P,), got {p.shape} and {n.shape}")
    if (p < 0.0).any() or (p > 1.0).any():
        raise ValueError("resampling from trial counts needs success rates in [0, 1]; pass the trials instead")
    if (n < 1).any() or (n != np.round(n)).any():
        raise ValueError("trial counts must be whole numbers of at least 1")
    return np.asarray(rng.binomial(n.astype(np.int64), p, size=(draws, p.size)) / n)


def resample_outcomes(outcomes: Sequence[ArrayLike], draws: int, rng: np.random.Generator) -> Floats:
    """Mean scores of resampled trials; outcomes: P arrays of shape (n_i,) -> shape (draws, P)."""
    columns = []
    for one in outcomes:
        scores = np.asarray(one, dtype=np.float64)
        if scores.ndim != 1 or not scores.size or not np.isfinite(scores).all():
            raise ValueError("outcomes of each policy must be finite and of shape (n,), n >= 1")
        columns.append(scores[rng.integers(scores.size, size=(draws, scores.size))].mean(axis=1))
    return np.stack(columns, axis=1)


def _replicates(
    values: Floats,
    trials: ArrayLike | None,
    outcomes: Sequence[ArrayLike] | None,
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    if outcomes is not None:
        return resample_outcomes(outcomes, draws, rng)
    if trials is not None:
        return resample_rates(values, trials, draws, rng)
    return np.broadcast_to(values, (draws, values.size))


def with_interval(
    metric: Metric,
    real: ArrayLike,
    sim: ArrayLike,
    *,
    n_real: ArrayLike | None = None,
    n_sim: ArrayLike | None = None,
    real_outcomes: Sequence[ArrayLike] | None = None,
    sim_outcomes: Sequence[ArrayLike] | None = None,
    over: Over | None = None,
    alpha: float = ALPHA,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """A metric with a bootstrap interval; real and sim: shape (P,), one value per policy.

    over "trials": policies fixed, trials redrawn within each, from counts (binary outcomes; n_real, n_sim of
    shape (P,)) or from the outcomes themselves (P arrays). A side with neither counts as exactly known, such
    as a validation error. over "policies": policies redrawn. Default: trials if the real ones are known, else
    policies. Fewer than five policies: no ends, with a reason.

    Noise in the trials pushes these metrics to one side (correlations fall, mmrv and the gap rise), and
    resampling adds the same push again, so plain percentiles can miss badly. The interval reaches equally far to
    both sides, by the larger of the two percentile distances; `coverage --predictivity` shows what that gives.
    """
    a, b = np.asarray(real, dtype=np.float64), np.asarray(sim, dtype=np.float64)
    value = float(metric(a, b))
    if a.ndim != 1:
        raise ValueError(f"real must have shape (P,), got {a.shape}")
    known = n_real is not None or real_outcomes is not None
    if over is None:
        over = "trials" if known else "policies"
    if over not in ("trials", "policies"):
        raise ValueError(f"over must be 'trials' or 'policies', got {over!r}")
    if over == "trials" and not known:
        raise ValueError("resampling trials needs n_real or real_outcomes")
    assumes = (POLICIES_FIXED if over == "trials" else POLICIES_DRAWN, "resampling resembles new data")
    name = getattr(metric, "__name__", "metric")
    label = f"{name}, bootstrap over {over}"

    def made(low: float | None, high: float | None, reason: str | None = None) -> Interval:
        return Interval(value, low, high, alpha, label, "asymptotic", assumes, a.size, reason=reason)

    check_alpha(alpha)
    if a.size < MIN_POLICIES:
        return made(None, None, f"{a.size} policies are too few for an interval, {MIN_POLICIES} are needed")
    if not np.isfinite(value):
        return made(None, None, "undefined on these data: real or sim does not vary")
    rng = np.random.default_rng(seed)
    if over == "trials":
        x = _replicates(a, n_real, real_outcomes, draws, rng)
        y = _replicates(b, n_sim, sim_outcomes, draws, rng)
    else:
        pick = rng.integers(a.size, size=(draws, a.size))
        x, y = a[pick], b[pick]
    values = metric(x, y)
    values = values[np.isfinite(values)]
    if values.size < (1.0 - UNDEFINED) * draws:
        return made(None, None, "undefined in most resamples: real or sim hardly varies")
    low, high = np.quantile(values, [alpha / 2.0, 1.0 - alpha / 2.0])
    reach = max(value - float(low), float(high) - value)
    least, most = RANGES.get(name, (-np.inf, np.inf))
    return made(max(value - reach, least), min(value + reach, most))
