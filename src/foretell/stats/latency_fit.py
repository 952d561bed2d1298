"""Success against latency: drop per tenfold latency, a curve that never rises, and the latency budget read from it.

A column is one policy under one clock; scenarios are the rows, NaN where one did not count. Where scenarios are
resampled, it is as a whole, so that all columns of a resample saw the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.agreement import pearson
from foretell.stats.binomial import newcombe_paired
from foretell.stats.interval import ALPHA, IID, Interval
from foretell.stats.paired import table
from foretell.stats.retention import retention
from foretell.stats.scores import Floats, check_alpha, is_binary

__all__ = ["LatencyBudget", "antitonic", "crossing", "latency_budget", "tenfold", "tenfold_interval"]

DRAWS = 2000
SLACK = 1e-12
FAR = 1e9
"""Stands for an upper end that is missing."""
BLOCK = 2_000_000
"""Weights that are in memory at a time."""
JOINT = "policies and latencies fixed, scenarios resampled jointly"


def tenfold(latency: ArrayLike, drop: ArrayLike) -> tuple[Floats, Floats]:
    """Least-squares slope of drop per tenfold latency, and the correlation behind it; NaN where latency does not vary,
    and where a drop is NaN.

    latency: shape (K,), above 0; drop: shape (..., K), in any unit -> both of shape (...).
    """
    times, y = np.asarray(latency, dtype=np.float64), np.asarray(drop, dtype=np.float64)
    if times.ndim != 1 or times.size < 2 or y.shape[-1:] != times.shape or not (times > 0.0).all():
        raise ValueError(f"latency must be above 0 and of shape (K,), K >= 2, drop of shape (..., K), got {y.shape}")
    x = np.log10(times)
    if np.ptp(x) == 0.0:
        nothing = np.full(y.shape[:-1], np.nan)
        return nothing, nothing
    centred = x - x.mean()
    slope = (y - y.mean(axis=-1, keepdims=True)) @ centred / (centred @ centred)
    whole = np.isfinite(y).all(axis=-1)  # a resample may miss all scenarios of a column
    strength = np.full(y.shape[:-1], np.nan)
    strength[whole] = pearson(y[whole], np.broadcast_to(x, y.shape)[whole])
    return np.asarray(slope), strength


def _means(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Column means under each set of row weights: values (S, K), NaN left out, weights (D, S) -> means, sums (D, K)."""
    there = np.isfinite(values)
    total = weights @ there.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(weights @ np.where(there, values, 0.0) / total), np.asarray(total)


@lru_cache(maxsize=2)
def _counts(n: int, draws: int, seed: int) -> Any:
    """How often each of n scenarios is in each resample, shape (draws, n), in bytes; not to be written to."""
    rng, share = np.random.default_rng(seed), np.full(n, 1.0 / n)
    resamples = np.empty((draws, n), dtype=np.uint8)
    for rows in _blocks(n, draws):
        resamples[rows] = rng.multinomial(n, share, size=len(resamples[rows]))  # the same draws as all at once
    resamples.flags.writeable = False
    return resamples


def _blocks(n: int, draws: int) -> list[slice]:
    """Resamples that are looked at together: many scenarios would take gigabytes otherwise."""
    step = max(1, BLOCK // n)
    return [slice(at, at + step) for at in range(0, draws, step)]


def _resampled(function: Callable[[Floats], Floats], n: int, draws: int, seed: int) -> Floats:
    """What a function of weights (d, n) gives, (d, ...), for all resamples of n scenarios: (draws, ...)."""
    counts = _counts(n, draws, seed)
    return np.concatenate([function(counts[rows].astype(np.float64)) for rows in _blocks(n, draws)])


def _matched(sync: ArrayLike, asyn: ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.array(sync, dtype=np.float64), np.array(asyn, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2 or not a.size:
        raise ValueError(f"sync and asyn must have the same shape (S, K), got {a.shape} and {b.shape}")
    lost = ~(np.isfinite(a) & np.isfinite(b))
    a[lost] = b[lost] = np.nan
    if lost.all(axis=0).any():
        raise ValueError("every column needs at least one scenario that counts in both")
    return a, b


def tenfold_interval(
    latency: ArrayLike, sync: ArrayLike, asyn: ArrayLike, alpha: float = ALPHA, *, draws: int = DRAWS, seed: int = 0
) -> Interval:
    """Drop (sync - asyn) per tenfold latency, with an interval; latency (K,), sync and asyn (S, K) as in the module.

    `diagnostics["correlation"]` is None where drop does not vary. Estimate NaN, and a reason, where latency does not.
    """
    check_alpha(alpha)
    a, b = _matched(sync, asyn)
    once = np.ones((1, a.shape[0]))
    slope, strength = tenfold(latency, _means(a, once)[0] - _means(b, once)[0])
    value, r = float(slope[0]), float(strength[0])

    def made(low: float | None, high: float | None, reason: str | None = None) -> Interval:
        about = {"correlation": r if math.isfinite(r) else None, "points": a.shape[1]}
        how = "least squares, bootstrap over scenarios"
        return Interval(
            estimate=value,
            low=low,
            high=high,
            alpha=alpha,
            method=how,
            guarantee="asymptotic",
            assumes=(IID, JOINT),
            n=a.shape[0],
            reason=reason,
            diagnostics=about,
        )

    if not math.isfinite(value):
        return made(None, None, "all latencies are the same: nothing to fit")
    if a.shape[0] < 2:
        return made(None, None, "one scenario is too few for an interval")
    drops = _resampled(lambda weights: _means(a, weights)[0] - _means(b, weights)[0], a.shape[0], draws, seed)
    slopes, _ = tenfold(latency, drops)
    slopes = slopes[np.isfinite(slopes)]  # a resample may miss all scenarios of a column
    if slopes.size < draws / 2:
        return made(None, None, "too few scenarios count in every column")
    low, high = (float(v) for v in np.quantile(slopes, [alpha / 2.0, 1.0 - alpha / 2.0]))
    down, up = _constant(np.log10(np.asarray(latency, dtype=np.float64)), a, b, alpha)
    return made(value - math.hypot(max(value - low, 0.0), down), value + math.hypot(max(high - value, 0.0), up))


def _constant(x: Floats, sync: Floats, asyn: Floats, alpha: float) -> tuple[float, float]:
    """How far down and up the slope may be off because of columns in which every scenario has the same drop.

    Resampling sees no doubt in those: each contributes Newcombe's instead. x: (K,), sync and asyn: (S, K).
    """
    pull = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    down = up = 0.0
    for k, c in enumerate(pull):
        there = np.isfinite(sync[:, k])
        u, v = sync[there, k], asyn[there, k]
        if np.ptp(u - v) == 0.0 and is_binary(u) and is_binary(v):
            doubt = newcombe_paired(*table(u, v), alpha)
            below, above = doubt.estimate - (doubt.low or 0.0), (doubt.high or 0.0) - doubt.estimate
            down, up = (
                math.hypot(down, c * (below if c > 0 else above)),
                math.hypot(up, c * (above if c > 0 else below)),
            )
    return down, up


def antitonic(means: ArrayLike, weights: ArrayLike) -> Floats:
    """Nearest sequence that never rises (weighted least squares), shape (..., K) -> (..., K).

    By the min-max formula, which takes K**3 steps, each for all leading axes at once.
    """
    m, w = np.broadcast_arrays(np.asarray(means, dtype=np.float64), np.asarray(weights, dtype=np.float64))
    sums = np.concatenate([np.zeros((*m.shape[:-1], 1)), np.cumsum(m * w, axis=-1)], axis=-1)
    total = np.concatenate([np.zeros((*m.shape[:-1], 1)), np.cumsum(w, axis=-1)], axis=-1)
    count = m.shape[-1]
    made = np.full(m.shape, np.inf)
    for k in range(count):
        for a in range(k + 1):
            with np.errstate(invalid="ignore", divide="ignore"):
                runs = [
                    (sums[..., b + 1] - sums[..., a]) / (total[..., b + 1] - total[..., a]) for b in range(k, count)
                ]
            made[..., k] = np.minimum(made[..., k], np.max(runs, axis=0))
    return made


def crossing(x: ArrayLike, curve: ArrayLike, level: ArrayLike) -> Floats:
    """Largest x at which a curve that never rises is still at `level`, straight lines between its points.

    x: shape (K,), ascending; curve: (D, K); level: (D,) -> (D,). -inf: below level at every x; inf: at none.
    """
    at, g = np.asarray(x, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    aim = np.asarray(level, dtype=np.float64)
    last = (g >= aim[:, None] - SLACK).sum(axis=1) - 1
    place = np.where(last < 0, -np.inf, np.inf)
    inside = np.flatnonzero((last >= 0) & (last < at.size - 1))
    k = last[inside]
    above, below = g[inside, k], g[inside, k + 1]
    share = np.clip((above - aim[inside]) / np.maximum(above - below, SLACK), 0.0, 1.0)
    place[inside] = at[k] + share * (at[k + 1] - at[k])
    return place


@dataclass(frozen=True, kw_only=True)
class LatencyBudget:
    """The largest latency at which a share `keep` of synchronous success is kept."""

    estimate: float | None
    """Seconds; None where the latencies tried do not enclose it (see `reason`), or sync success is 0."""
    low: float | None
    """Lower end, seconds; None where it may lie below the smallest latency tried."""
    high: float | None
    """Upper end, seconds; None where it may lie above the largest latency tried."""
    kept_at: float | None
    """Largest latency tried at which the curve is still at `keep`; None if it is at none."""
    lost_at: float | None
    """Smallest latency tried above that, at which it no longer is; None if it is at all."""
    keep: float
    alpha: float
    method: str
    n: int
    """Scenarios."""
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return dict(vars(self))


METHOD = "antitonic curve, linear between latencies tried"


def latency_budget(
    latency: ArrayLike,
    sync: ArrayLike,
    asyn: ArrayLike,
    *,
    keep: float = 0.95,
    alpha: float = ALPHA,
) -> LatencyBudget:
    """Latency up to which keep * sync is kept; latency: (K,), in any order; sync: (S,) or (S, K); asyn: (S, K).

    The share kept, mean(asyn) / mean(sync) on the scenarios that both have, is made never to rise with latency, and
    read off where it crosses `keep`. Its interval assumes that the true share never rises with latency and is straight
    between the latencies tried. The lower end is where the lower ends of the shares kept cross `keep`, each taken at
    alpha/4: it lies above the true budget only if one of the two true shares next to the budget lies below its own
    lower end, which has probability at most alpha/2. The upper end mirrors it. Each share's interval is that of
    `retention`, so columns of successes and columns of partial credit may stand side by side. Scenarios stand in an
    order that cannot follow outcomes, such as that of a hash of their ids.
    """
    check_alpha(alpha)
    if not 0.0 < keep <= 1.0:
        raise ValueError(f"keep must lie in (0, 1], got {keep!r}")
    x, base, scored = (np.asarray(v, dtype=np.float64) for v in (latency, sync, asyn))
    if base.ndim == 1:
        base = np.repeat(base[:, None], x.size, axis=1)
    if scored.ndim != 2 or x.shape != scored.shape[1:] or not np.isfinite(x).all():
        raise ValueError(f"latency must be finite and of shape (K,), asyn (S, K), got {x.shape} and {scored.shape}")
    order = np.argsort(x, kind="stable")
    x, (a, b) = x[order], _matched(base[:, order], scored[:, order])
    size = a.shape[0]
    blank = LatencyBudget(
        estimate=None, low=None, high=None, kept_at=None, lost_at=None, keep=keep, alpha=alpha, method=METHOD, n=size
    )
    if not np.nanmax(a) > 0.0:
        return replace(blank, reason="synchronous success is 0: there is nothing to keep")
    points, starts = np.unique(x, return_index=True)

    known = [(v[np.isfinite(v)], u[np.isfinite(u)]) for u, v in zip(a.T, b.T, strict=True)]
    kept = [retention(v, u, alpha / 2.0, shuffled=True) for v, u in known]
    band = [share for share in kept if share is not None]
    if len(band) < len(kept):
        return replace(blank, reason="synchronous success is 0 in the scenarios of a clock: there is nothing to keep")

    def read(curve: Floats) -> float:
        return float(crossing(points, curve[None], [keep])[0])

    count = np.isfinite(a).sum(axis=0).astype(np.float64)
    weight = np.add.reduceat(count, starts)
    smooth = antitonic(np.add.reduceat([share.estimate for share in band] * count, starts) / weight, weight)
    best = read(smooth)
    lows = np.array([share.low for share in band], dtype=np.float64)
    highs = np.array([FAR if share.high is None else share.high for share in band])
    # equal latencies: the pooled share is at least the least of theirs, whose lower end is at least the least
    worst = np.minimum.accumulate(np.minimum.reduceat(lows, starts))
    most = np.maximum.accumulate(np.maximum.reduceat(highs, starts)[::-1])[::-1]
    low, high = min(best, read(worst)), max(best, read(most))
    method = f"{METHOD}; {' and '.join(dict.fromkeys(share.method for share in band))}"
    last = int((smooth >= keep - SLACK).sum())
    reason = "the largest latency tried still keeps it" if best == math.inf else None
    reason = "the smallest latency tried already loses it" if best == -math.inf else reason
    if best == math.inf:
        low = min(low, float(points[-1]))
    if best == -math.inf:
        high = max(high, float(points[0]))
    ends = [v if math.isfinite(v) else None for v in (best, low, high)]
    kept_at, lost_at = [*points.tolist(), None][last - 1 if last else -1], [*points.tolist(), None][last]
    return LatencyBudget(
        estimate=ends[0],
        low=ends[1],
        high=ends[2],
        kept_at=kept_at,
        lost_at=lost_at,
        keep=keep,
        alpha=alpha,
        method=method,
        n=size,
        reason=reason,
    )
