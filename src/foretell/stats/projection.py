"""Intervals of metrics over policies by projection: the range of values that plausible true rates give.

A metric is a function of the true rates of P policies in two worlds. Noise pushes its estimate to one side
(correlations fall, gaps rise), and resampling adds the same push again, so percentiles of resamples miss the truth.
Here the true rates are bounded jointly, and the interval is the range of the metric over that region.

Each rate has a signed distance from its data: the normal quantile of its exact binomial tail (mid-p). The region
holds all rates whose squared distances sum to at most a cut-off. It need not hold the true rates, which would take
2P degrees of freedom; it must hold some rates that give the true value of the metric. The cut-off is therefore the
quantile of the distance to the value that is hardest to reach (`hardest`). This holds as trials grow, so the guarantee
is asymptotic; `python -m foretell.stats.coverage --predictivity` shows what it gives with few trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.agreement import RANGES, Metric
from foretell.stats.scores import Floats, is_binary

__all__ = [
    "Region",
    "common_luck",
    "counted",
    "counts",
    "cut_off",
    "equivalent",
    "known",
    "measured",
    "metric_range",
    "region",
]

STEPS = 96
"""Cells of the table that maps distances to rates, on each side of the data."""
CLOUD = 1024
"""Points on the edge of the region that the search starts from."""
ROUNDS = 24
STARTS = 6
CHILDREN = 48
PRIOR = 4.0
"""Scores with the variance of successes that join the sample before its variance is taken."""
GAP = "success_gap"


def hardest(metric: str, policies: int) -> Floats:
    """Distribution of the degrees of freedom of the distance to the hardest value; shape (P + 1,), sums to 1.

    A gap of zero puts P equations on the rates. Of an order or a correlation the hardest value is a perfect one when
    the true rates are all but equal: the rates that give it then form a cone, and no cone is further away than a
    single ray (one sequence of rates, free in its mean and its spread): P - 2 equations half of the time, and P - 1
    when the data lie behind the start of the ray.
    """
    weights = np.zeros(policies + 1)
    if metric in RANGES and metric != GAP and policies > 1:
        weights[policies - 2 : policies] = 0.5
    else:
        weights[policies] = 1.0
    return weights


@lru_cache(maxsize=256)
def cut_off(metric: str, tasks: tuple[int, ...], alpha: float) -> float:
    """Largest sum of squared distances in the region; tasks: number of policies of each task that is averaged over."""
    from scipy.optimize import brentq
    from scipy.special import gammaincc

    weights = np.ones(1)
    for policies in tasks:
        weights = np.convolve(weights, hardest(metric, policies))
    freedom = np.arange(1, weights.size) / 2.0

    def beyond(cut: float) -> float:
        # Two policies in order: the value comes free half of the time, yet an end may miss on either side.
        return float(max(weights[1:] @ gammaincc(freedom, cut / 2.0), gammaincc(0.5, cut / 2.0))) - alpha

    return float(brentq(beyond, 1e-9, 200.0 + 20.0 * weights.size))


def common_luck(real: Sequence[Floats], sim: Sequence[Floats], alpha: float) -> float:
    """Sum of squared distances that a gap of zero takes where policies share scenarios; 0 where they do not.

    A scenario's luck that all policies share, but not both worlds, moves all gaps together; so does a scenario that is
    easy in one world and hard in the other. The sum is then no chi-square but a mixture, known by its two moments.
    """
    from scipy.special import gammaincinv

    if len({x.size for x in (*real, *sim)}) > 1 or real[0].size < 2:
        return 0.0
    x, y = np.array(real), np.array(sim)
    scale = np.sqrt(np.maximum(x.var(axis=1, ddof=1) + y.var(axis=1, ddof=1), 1e-12))[:, None]
    apart = (x - y) / scale
    few = (x.shape[1] - 1.0) / max(x.shape[1] - 3.0, 1.0)  # a variance from few scenarios is often too small
    together = few * float(apart.sum(axis=0).var(ddof=1)) / len(apart)
    each = max(float(apart.var(axis=1, ddof=1).sum()) - together, 0.0) / max(len(apart) - 1, 1)
    mean, square = together + (len(apart) - 1) * each, together**2 + (len(apart) - 1) * each**2
    if square <= 0.0:
        return 0.0
    return float(square / mean * 2.0 * gammaincinv(mean**2 / square / 2.0, 1.0 - alpha))


@dataclass(frozen=True)
class Region:
    """Plausible rates of K = 2P coordinates, real first: rate by signed distance, distances up to `radius`."""

    rates: Floats
    """Shape (K, 2 STEPS + 1)."""
    radius: float
    seed: int = 0

    @cached_property
    def cloud(self) -> tuple[Floats, Floats]:
        """Distances and rates of the points that every search starts from; both of shape (n, K)."""
        half = np.random.default_rng(self.seed).standard_normal((CLOUD // 2, self.rates.shape[0]))
        half *= self.radius / np.sqrt((half * half).sum(axis=1, keepdims=True))
        points = np.concatenate([half, -half, 0.4 * half, _agreeing(self)])
        return points, self.at(points)

    def at(self, distance: Floats) -> Floats:
        """Rates at the given distances; shape (..., K) -> same shape. Points outside are drawn in along their ray."""
        size = np.sqrt((distance * distance).sum(axis=-1, keepdims=True))
        place = distance * (STEPS / np.maximum(size, self.radius)) + STEPS
        cell = np.minimum(place.astype(np.int64), 2 * STEPS - 1)
        part = place - cell
        k = np.arange(self.rates.shape[0])
        rates: Floats = (1.0 - part) * self.rates[k, cell] + part * self.rates[k, cell + 1]
        return rates


def counts(rates: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    """(successes, trials) of binary trials; rates and trials: shape (P,)."""
    p, n = np.asarray(rates, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if p.shape != n.shape or p.ndim != 1:
        raise ValueError(f"rates and trial counts must have shape (P,), got {p.shape} and {n.shape}")
    if (p < 0.0).any() or (p > 1.0).any():
        raise ValueError("trial counts need success rates in [0, 1]; pass the trials instead")
    if (n < 1).any() or (n != np.round(n)).any():
        raise ValueError("trial counts must be whole numbers of at least 1")
    return np.clip(np.round(p * n, 9), 0.0, n), n


def equivalent(outcomes: Sequence[ArrayLike]) -> tuple[Floats, Floats]:
    """(successes, trials) of binary trials that tell as much as these; outcomes: P arrays of shape (n_i,) in [0, 1].

    Graded scores and means of several trials vary less than successes do: they count as more trials, by the ratio of
    the two variances. The sample's variance is trusted the less the fewer scores there are.
    """
    successes, trials = np.empty(len(outcomes)), np.empty(len(outcomes))
    for i, scores in enumerate(outcomes):
        x = np.asarray(scores, dtype=np.float64)
        n, mean = x.size, float(x.mean())
        worth = 1.0
        if not is_binary(x):
            most = (n * mean + 1.0) * (n - n * mean + 1.0) / (n + 2.0) ** 2
            worth = max(most / ((((x - mean) ** 2).sum() + PRIOR * most) / (n - 1.0 + PRIOR)), 1.0) if n > 1 else 1.0
        successes[i], trials[i] = n * worth * mean, n * worth
    return successes, trials


def known(rates: ArrayLike) -> Floats:
    """Rows of a region for values without error; shape (P,) -> shape (P, 2 STEPS + 1)."""
    return np.repeat(np.asarray(rates, dtype=np.float64)[:, None], 2 * STEPS + 1, axis=1)


def measured(outcomes: Sequence[ArrayLike], radius: float) -> Floats:
    """Rows of a region for means of numbers on any scale, by Student's t; outcomes: P arrays of shape (n_i,)."""
    from scipy.special import ndtr, stdtrit

    rows = []
    for values in outcomes:
        x = np.asarray(values, dtype=np.float64)
        if x.size < 2:
            rows.append(known(x)[0])
            continue
        error = x.std(ddof=1) / x.size**0.5
        rows.append(x.mean() + error * stdtrit(x.size - 1, ndtr(np.linspace(-radius, radius, 2 * STEPS + 1))))
    return np.array(rows)


@lru_cache(maxsize=16)
def region(real: bytes, sim: bytes, radius: float, seed: int = 0) -> Region:
    """The region of the given rows, kept: most metrics share one."""
    rows = np.frombuffer(real + sim).reshape(-1, 2 * STEPS + 1)
    return Region(rows, radius, seed)


def counted(successes: Floats, trials: Floats, radius: float) -> Floats:
    """Rows of a region for success rates; successes and trials: shape (P,), not necessarily whole."""
    return _tabled(tuple(successes.tolist()), tuple(trials.tolist()), radius)


@lru_cache(maxsize=16)
def _tabled(successes: tuple[float, ...], trials: tuple[float, ...], radius: float) -> Floats:
    from scipy.special import betainc, ndtr, ndtri

    k, n = np.array(successes)[:, None], np.array(trials)[:, None]
    # A grid fine where rates are plausible: around the data, out to where the tails are below the radius.
    spread = np.sqrt((k + 1.0) * (n - k + 1.0) / (n + 2.0) ** 3)
    span = np.linspace(-1.0, 1.0, 4 * STEPS + 1)
    grid = np.clip(k / n + span * (2.0 * radius * spread + radius**2 / n), 0.0, 1.0)
    above = np.where(k > 0.0, betainc(np.maximum(k, 1e-9), n - k + 1.0, grid), 1.0)
    beyond = np.where(k < n, betainc(k + 1.0, np.maximum(n - k, 1e-9), grid), 0.0)
    limit = max(float(ndtr(-radius - 1.0)), 2e-16)  # below that its complement is 1, and has no quantile
    distance = ndtri(np.clip(0.5 * (above + beyond), limit, 1.0 - limit))
    wanted = np.linspace(-radius, radius, 2 * STEPS + 1)
    rows = [np.interp(wanted, *_increasing(d, g)) for d, g in zip(distance, grid, strict=True)]
    return np.array(rows)


def _increasing(distance: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """The part where distance rises; before it the least rate, after it the largest."""
    rises = np.concatenate([[True], np.diff(distance) > 1e-12])
    rises[:-1] |= rises[1:]
    return distance[rises], rate[rises]


def _agreeing(where: Region) -> Floats:
    """Distances at which ever more policies have one rate in both worlds, the cheapest first; shape (P + 4, 2P)."""
    size = where.rates.shape[0] // 2
    axis = np.linspace(-where.radius, where.radius, 2 * STEPS + 1)
    point, cost = np.zeros(2 * size), np.empty(size)
    for i, (real, sim) in enumerate(zip(where.rates[:size], where.rates[size:], strict=True)):
        partner = np.interp(real, sim, axis) if sim[0] < sim[-1] else np.zeros_like(axis)
        apart = np.abs(real - np.interp(partner, axis, sim))
        both = axis**2 + partner**2
        best = int(np.argmin(both + np.where(apart > apart.min() + 1e-9, np.inf, 0.0)))
        point[i], point[size + i], cost[i] = axis[best], partner[best], both[best]
    rank = np.argsort(np.argsort(cost, kind="stable"), kind="stable")
    firsts = np.where(np.tile(rank, 2) <= np.arange(size)[:, None], point, 0.0)
    return np.concatenate([firsts, point * np.array([[0.2], [0.4], [0.6], [0.8]])])


def metric_range(metric: Metric, where: Region, *, stop_at: float | None = None) -> tuple[float, float]:
    """Least and largest value of a metric over a region of 2P coordinates, real first, found by search.

    A cloud on the edge of the region, then an evolution strategy from its best points, towards either end at once.
    Every value reported has plausible rates behind it. The search ends early when `stop_at` lies between the ends.
    NaN, NaN where the metric is undefined everywhere.
    """
    rng = np.random.default_rng(where.seed)
    size = where.rates.shape[0]

    def value(rates: Floats) -> Floats:
        return np.asarray(metric(rates[..., : size // 2], rates[..., size // 2 :]))

    cloud, rates = where.cloud
    seen = value(rates)
    order = np.argsort(seen, kind="stable")[: np.isfinite(seen).sum()]  # NaN comes last
    if not order.size:
        return np.nan, np.nan
    least, most = float(seen[order[0]]), float(seen[order[-1]])
    best = np.concatenate([cloud[order[:STARTS]], cloud[order[::-1][:STARTS]]])
    sign = np.repeat([1.0, -1.0], len(best) // 2)[:, None]
    for step in where.radius * np.geomspace(0.5, 0.04, ROUNDS):
        if stop_at is not None:
            short = np.where(sign[:, 0] > 0.0, least > stop_at, most < stop_at)
            best, sign = best[short], sign[short]
            if not len(best):
                break
        noise = rng.standard_normal((CHILDREN // 2, size)) * (step * size**-0.5)
        children = best[:, None] + np.concatenate([noise, -noise])
        children *= np.minimum(1.0, where.radius / np.sqrt((children * children).sum(axis=-1, keepdims=True)))
        seen = value(where.at(children))
        least, most = min(least, float(np.nanmin(seen))), max(most, float(np.nanmax(seen)))
        pick = np.argsort(sign * seen, axis=1, kind="stable")[:, : CHILDREN // 4]
        best = np.take_along_axis(children, pick[..., None], axis=1).mean(axis=1)
    return least, most
