"""A predictivity metric with its interval: over trials by projection, over policies by resampling them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.agreement import CORRELATED, MIN_CORRELATED, RANGES, STEPPED, Metric, pearson
from foretell.stats.interval import ALPHA, Interval
from foretell.stats.projection import (
    GAP,
    common_luck,
    counted,
    counts,
    cut_off,
    equivalent,
    known,
    measured,
    metric_range,
    region,
)
from foretell.stats.scores import Floats, check_alpha, vector

Over = Literal["trials", "policies"]

MIN_POLICIES = 5
"""Fewer policies than this are no sample of policies: no interval over policies."""

POLICIES_FIXED = "policies fixed; range of the metric over all true rates that the trials leave plausible together"
POLICIES_DRAWN = "policies resampled as if drawn at random from a population of policies"
TRIALS = "scenarios or trials drawn independently; policies and worlds may share scenarios"
UNDEFINED = 0.5
"""No interval when the metric is undefined in more than this share of resamples."""
CLOSEST = 0.9995
"""Correlations nearer to one than this count as this on Fisher's scale, which has no end."""
SLACK = 0.01
"""Share of the width by which ends of a continuous metric move out: a search stops short of the very end."""


def _rows(
    values: Floats, trials: ArrayLike | None, outcomes: Sequence[ArrayLike] | None, radius: float, name: str
) -> Floats | None:
    """Plausible values of one world's policies by distance; None where their error cannot be told."""
    if outcomes is not None:
        given = [vector(scores, f"{name}_outcomes[{i}]") for i, scores in enumerate(outcomes)]
        if len(given) != values.size:
            raise ValueError(f"{name}_outcomes must list {values.size} policies, got {len(given)}")
        if all(x.min() >= 0.0 and x.max() <= 1.0 for x in given):
            return counted(*equivalent(given), radius)
        return None if min(x.size for x in given) < 2 else measured(given, radius)
    if trials is not None:
        return counted(*counts(values, trials), radius)
    return known(values)


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
    tasks: Sequence[int] | None = None,
    stop_at: float | None = None,
) -> Interval:
    """A metric with an interval for its value at the true rates; real and sim: shape (P,), one value per policy.

    over "trials": policies fixed, their rates uncertain as far as the trials leave them so (`projection`), from counts
    (binary outcomes; n_real, n_sim of shape (P,)) or from the outcomes themselves (P arrays, one score per scenario;
    on a scale other than [0, 1] by Student's t). A side with neither counts as exactly known, such as a validation
    error. over "policies": policies redrawn; five or more. Default: trials if the real ones are known, else policies.
    Correlations need three policies. `tasks`: how many policies each task has, where `metric` is a mean over tasks.
    The search ends early when it has `stop_at` between its ends: the interval is then a part of the full one.
    """
    a, b = np.asarray(real, dtype=np.float64), np.asarray(sim, dtype=np.float64)
    value = float(metric(a, b))
    if a.ndim != 1:
        raise ValueError(f"real must have shape (P,), got {a.shape}")
    tried = n_real is not None or real_outcomes is not None
    if over is None:
        over = "trials" if tried else "policies"
    if over not in ("trials", "policies"):
        raise ValueError(f"over must be 'trials' or 'policies', got {over!r}")
    if over == "trials" and not tried:
        raise ValueError("an interval over trials needs n_real or real_outcomes")
    check_alpha(alpha)
    name = getattr(metric, "__name__", "metric")
    sizes = tuple(tasks) if tasks is not None else (a.size,)
    assumes: tuple[str, ...] = (POLICIES_FIXED, TRIALS)
    label = f"{name}, projection over trials"
    if over == "policies":
        assumes, label = (POLICIES_DRAWN, "resampling resembles new data"), f"{name}, bootstrap over policies"

    def made(low: float | None, high: float | None, reason: str | None = None) -> Interval:
        return Interval(
            estimate=value,
            low=low,
            high=high,
            alpha=alpha,
            method=label,
            guarantee="asymptotic",
            assumes=assumes,
            n=a.size,
            reason=reason,
        )

    reason = _no_interval(name, value, sizes, a.size, over)
    if reason is not None:
        return made(None, None, reason)
    if over == "policies":
        ends = _redrawn(metric, a, b, value, alpha, draws, seed)
        if ends is None:
            return made(
                None, None, "resamples of these policies hardly vary, or are undefined: more policies are needed"
            )
    else:
        cut = cut_off(name, sizes, alpha)
        if name == GAP and real_outcomes is not None and sim_outcomes is not None:
            cut = max(cut, common_luck([*map(np.asarray, real_outcomes)], [*map(np.asarray, sim_outcomes)], alpha))
        radius = cut**0.5
        sides = (_rows(a, n_real, real_outcomes, radius, "real"), _rows(b, n_sim, sim_outcomes, radius, "sim"))
        if sides[0] is None or sides[1] is None:
            return made(None, None, "a policy has one outcome on a scale without bounds: its error is unknown")
        where = region(sides[0].tobytes(), sides[1].tobytes(), radius, seed)
        low, high = metric_range(metric, where, stop_at=stop_at)
        slack = 0.0 if name in STEPPED else SLACK * (high - low)
        ends = low - slack, high + slack
    low, high = min(ends[0], value), max(ends[1], value)
    least, most = RANGES.get(name, (-np.inf, np.inf))
    return made(float(max(low, least)), float(min(high, most)))


def _no_interval(name: str, value: float, sizes: Sequence[int], policies: int, over: Over) -> str | None:
    """Why these data have no interval of a metric; None where they have one. sizes: policies of each task."""
    if name in CORRELATED and min(sizes) < MIN_CORRELATED:
        few = f"{min(sizes)} policies are too few for a correlation, {MIN_CORRELATED} are needed"
        return f"{few}: two always lie on a line"
    if not np.isfinite(value):
        return "undefined on these data: real or sim does not vary"
    if over == "policies" and policies < MIN_POLICIES:
        return f"{policies} policies are too few for an interval, {MIN_POLICIES} are needed"
    return None


def _redrawn(
    metric: Metric, a: Floats, b: Floats, value: float, alpha: float, draws: int, seed: int
) -> tuple[float, float] | None:
    """Ends from redrawn policies; None where resamples hardly vary, as they do when all pairs are in order.

    They reach equally far to both sides, by the larger of the percentile distances: plain percentiles inherit the push
    that noise gives the estimate. Resamples of few policies vary too little: the reach grows as Student's t does over
    the normal. Correlations are put on Fisher's scale, where their error does not depend on their size.
    """
    from scipy.special import ndtri, stdtrit

    name = getattr(metric, "__name__", "")
    if name == "r_squared":
        ends = _redrawn(pearson, a, b, float(pearson(a, b)), alpha, draws, seed)
        if ends is None:
            return None
        return 0.0 if ends[0] <= 0.0 <= ends[1] else min(abs(ends[0]), abs(ends[1])) ** 2, max(map(abs, ends)) ** 2
    pick = np.random.default_rng(seed).integers(a.size, size=(draws, a.size))
    values = metric(a[pick], b[pick])
    values = values[np.isfinite(values)]
    if values.size < (1.0 - UNDEFINED) * draws or np.ptp(values) == 0.0:
        return None
    if name in CORRELATED:
        values, value = (
            np.arctanh(np.clip(values, -CLOSEST, CLOSEST)),
            float(np.arctanh(np.clip(value, -CLOSEST, CLOSEST))),
        )
    low, high = np.quantile(values, [alpha / 2.0, 1.0 - alpha / 2.0])
    few = float(stdtrit(a.size - 1, alpha / 2.0) / ndtri(alpha / 2.0)) * (a.size / (a.size - 1.0)) ** 0.5
    reach = few * max(value - float(low), float(high) - value)
    if name in CORRELATED:
        return float(np.tanh(value - reach)), float(np.tanh(value + reach))
    return value - reach, value + reach
