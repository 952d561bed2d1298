"""SureSim (arXiv 2510.04354): prediction-powered bounds, with the corrections that make the claim hold.

Departures from the printed algorithms, each for a reason:

- Uniform form (Algorithm 2): pairs and extra simulations are shuffled with a recorded seed, since pairs first
  would not have mean mu given the past. With exactly n pairs among n + N scenarios the chance that the next
  one is a pair is pi_t = (pairs left) / (scenarios left), known beforehand; weighting by 1/pi_t instead of
  (n + N)/n makes every increment have conditional mean mu exactly. `weights="paper"` keeps the printed
  constant weight and range for comparison with published numbers; its guarantee is not claimed.
- Two-stage form (Algorithm 3): with the rectifier real - sim the ends add (low + low, high + high), and the
  larger share delta of alpha goes to the rectifier. The printed listing has both the other way round.
- Means are searched on the success-rate axis, not on a grid of the normalised one.

All are nested in alpha: bets aim at rungs (see `rungs`), sums and intersections of nested intervals are nested, and
where an intersection is empty the interval of the largest level at which it is not takes its place. With a delta
of one's own this holds as long as it stays the same share of alpha; with `delta="search"` it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.betting import CAP, betting, mirrored_ends
from foretell.stats.interval import ALIKE, ALPHA, FIXED_N, HASHED, IID, PAIRS, RANGE, SHUFFLED, UNFITTED, Interval
from foretell.stats.order import by_content
from foretell.stats.rungs import Ends, meeting
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, simulated, stretch
from foretell.stats.united import few_valued, united_pairs

RECTIFIER_SHARE = 0.9
"""Share of alpha given to the rectifier in the two-stage form (the paper's rule of thumb)."""


def _uniform_ends(
    y: Floats, f: Floats, extra: Floats, alpha: float, seed: int, weights: str, cap: float
) -> tuple[float, float]:
    n, total = y.size, y.size + extra.size
    order = np.random.default_rng(seed).permutation(total)
    score = np.concatenate([f, extra])[order]
    paired = order < n
    gap = np.zeros(total)
    gap[paired] = (y - f)[order[paired]]
    if weights == "paper":
        z = score + gap * (total / n)
        low, high = -total / n, 1.0 + total / n
        return mirrored_ends(z, alpha, total, low, high, low, high, cap)[0]
    used: NDArray[np.int64] = np.cumsum(paired) - paired
    stop = int(np.flatnonzero(paired)[-1]) + 1  # once no pair is left an increment says nothing about mu
    chance = (n - used[:stop]) / (total - np.arange(stop))
    z = score[:stop] + gap[:stop] / chance
    spread = extra.size / n
    return mirrored_ends(z, alpha, total, -spread, 1.0 + spread, 1.0 - 1.0 / chance, 1.0 / chance, cap)[0]


def suresim(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    seed: int = 0,
    weights: Literal["exact", "paper"] = "exact",
    cap: float = CAP,
    shuffled: bool = False,
) -> Interval:
    """Uniform prediction-powered interval. real and sim: shape (n,), paired; extra: shape (N,).

    The width depends on the shuffle; the seed is fixed and noted so that nobody shops for a good one. Arrays may be
    sorted: unless they are `shuffled`, rows are put into canonical order first, or, where pairs have few values, into
    several (`united`). With the paper's weights they stay as given.
    """
    y, f, e = simulated(real, sim, extra, within, sim_within)
    shuffled = shuffled or weights == "paper"
    if not shuffled and few_valued(y, f):
        game = partial(suresim, seed=seed, weights=weights, cap=cap, shuffled=True)
        return united_pairs(game, real, sim, extra, alpha, within, sim_within)
    if not shuffled:
        order, more = by_content(y, f, e), by_content(e, y, f)
        y, f, e = y[order], f[order], e[more]
    if weights not in ("exact", "paper"):
        raise ValueError(f"weights must be 'exact' or 'paper', got {weights!r}")
    low, high = _uniform_ends(y, f, e, check_alpha(alpha), seed, weights, cap)
    guess = float(y.mean() - f.mean() + np.concatenate([f, e]).mean())
    paper = weights == "paper"
    unit = Interval(
        estimate=float(np.clip(guess, low, high)),
        low=low,
        high=high,
        alpha=alpha,
        method="suresim",
        guarantee="asymptotic" if paper else "finite-sample",
        assumes=(IID, PAIRS, ALIKE, UNFITTED, RANGE, SHUFFLED if shuffled else HASHED, FIXED_N),
        n=y.size,
        n_extra=e.size,
        reason="constant weights need Bernoulli choice of the pairs, n is fixed here" if paper else None,
        notes=(f"shuffle seed {seed}",),
    )
    return stretch(unit, within)


def _two_stage_ends(y: Floats, f: Floats, extra: Floats, alpha: float, delta: float) -> tuple[float, float]:
    share = round(delta / alpha, 9)  # the same ladder for every alpha, whatever the last digit
    gap, more = (y - f)[by_content(y, f)], extra[by_content(extra)]
    (r_low, r_high), _ = mirrored_ends(0.5 * (1.0 + gap), delta, y.size, share=share)
    (f_low, f_high), _ = mirrored_ends(more, alpha - delta, extra.size, share=1.0 - share)
    low, high = 2.0 * r_low - 1.0 + f_low, 2.0 * r_high - 1.0 + f_high
    return min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0)


def suresim_2stage(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    delta: float | Literal["search"] | None = None,
    shuffled: bool = False,
) -> Interval:
    """Two-stage prediction-powered interval. real and sim: shape (n,), paired; extra: shape (N,).

    delta: share of alpha spent on the rectifier, an absolute level below alpha; None takes 0.9 alpha.
    "search" takes the level with the narrowest result; having looked at the data it claims less, and a smaller
    alpha may then give a narrower interval. shuffled: as in `suresim`.
    """
    y, f, e = simulated(real, sim, extra, within, sim_within)
    check_alpha(alpha)
    if not shuffled and few_valued(y, f):
        game = partial(suresim_2stage, delta=delta, shuffled=True)
        return united_pairs(game, real, sim, extra, alpha, within, sim_within)
    if not shuffled:
        e = e[by_content(e, y, f)]
    searched = delta == "search"
    if searched:
        levels = alpha * np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.995])
        ends = [_two_stage_ends(y, f, e, alpha, float(d)) for d in levels]
        best = int(np.argmin([b - a for a, b in ends]))
        level, (low, high) = float(levels[best]), ends[best]
    else:
        level = RECTIFIER_SHARE * alpha if delta is None else float(delta)
        if not 0.0 < level < alpha:
            raise ValueError(f"delta must lie strictly between 0 and alpha = {alpha}, got {delta!r}")
        low, high = _two_stage_ends(y, f, e, alpha, level)
    unit = Interval(
        estimate=float(np.clip(y.mean() - f.mean() + e.mean(), low, high)),
        low=low,
        high=high,
        alpha=alpha,
        method="suresim_2stage",
        guarantee="asymptotic" if searched else "finite-sample",
        assumes=(IID, PAIRS, ALIKE, UNFITTED, RANGE, HASHED, FIXED_N),
        n=y.size,
        n_extra=e.size,
        reason="delta was searched on the same data" if searched else None,
        notes=(f"delta {level:.4g} for the rectifier, {alpha - level:.4g} for the simulator",),
    )
    return stretch(unit, within)


def _end(value: float | None) -> float:
    """An end that is known to be there."""
    if value is None:
        raise ValueError("both intervals must have two ends")
    return value


def _hedge(
    part: Callable[[float], Interval], real: ArrayLike, alpha: float, within: Range, method: str, shuffled: bool
) -> Interval:
    """Intersection of part(3/4 alpha) with `betting` at 1/4 alpha; where that is empty, the one of a smaller level."""

    def parts(level: float) -> tuple[Interval, Interval]:
        return part(0.75 * level), betting(real, 0.25 * level, within=within, shuffled=shuffled)

    def at(level: float) -> Ends:
        first, second = parts(level)
        return max(_end(first.low), _end(second.low)), min(_end(first.high), _end(second.high))

    ends, level = meeting(at, alpha)
    if ends is None:
        return replace(part(alpha), low=within[0], high=within[1], alpha=alpha, method=method)
    first, second = parts(level)
    notes = first.notes if level == alpha else (*first.notes, f"the two parts do not meet above level {level:.3g}")
    (low, high), assumes = ends, tuple(dict.fromkeys((*first.assumes, *second.assumes)))
    estimate = float(np.clip(first.estimate, low, high))
    return replace(
        first, estimate=estimate, low=low, high=high, alpha=alpha, method=method, assumes=assumes, notes=notes
    )


def suresim_ub(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    seed: int = 0,
    shuffled: bool = False,
) -> Interval:
    """`suresim` at 3/4 alpha cut with `betting` at 1/4 alpha; shapes (n,), (n,), (N,). shuffled: as in `suresim`."""
    y, f, _ = simulated(real, sim, extra, within, sim_within)
    if not shuffled and few_valued(y, f):
        game = partial(suresim_ub, seed=seed, shuffled=True)
        return united_pairs(game, real, sim, extra, check_alpha(alpha), within, sim_within)
    part = partial(suresim, real, sim, extra, within=within, sim_within=sim_within, seed=seed, shuffled=shuffled)
    return _hedge(part, real, check_alpha(alpha), within, "suresim_ub", shuffled)


def suresim_2stage_ub(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    delta: float | None = None,
    shuffled: bool = False,
) -> Interval:
    """`suresim_2stage` at 3/4 alpha cut with `betting` at 1/4 alpha; shapes (n,), (n,), (N,).

    delta: level spent on the rectifier, below 3/4 alpha; None takes nine tenths of that. shuffled: as in `suresim`.
    """
    y, f, _ = simulated(real, sim, extra, within, sim_within)
    if not shuffled and few_valued(y, f):
        game = partial(suresim_2stage_ub, delta=delta, shuffled=True)
        return united_pairs(game, real, sim, extra, check_alpha(alpha), within, sim_within)
    whole = 0.75 * check_alpha(alpha)

    def part(level: float) -> Interval:
        given = None if delta is None else delta * (level / whole)
        stages = partial(suresim_2stage, within=within, sim_within=sim_within, delta=given, shuffled=shuffled)
        return stages(real, sim, extra, level)

    return _hedge(part, real, alpha, within, "suresim_2stage_ub", shuffled)
