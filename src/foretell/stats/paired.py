"""Exact intervals for two rates on the same scenarios: their difference, and their ratio.

Scenarios fall into four cells: both succeeded, only a, only b, neither. Write x for the number of `only a`, y for `only
b`. For the difference (x, y) is trinomial in n scenarios with chances p and q, and rate_a - rate_b = p - q. For the
ratio, scenarios where neither succeeded say nothing: given that m = n - neither scenarios are left, (x, y) is trinomial
in m with chances p and q, and rate_a / rate_b = (1 - q) / (1 - p). So one construction serves both (Buehler, J. Amer.
Statist. Assoc. 52, 1957).

1. All tables (x, y) are put in one order, the same for every candidate: by an approximate lower end of the interval,
   made never to fall as x grows or y falls. The *tail* is the set of tables at or above the one observed.
2. The chance of the tail grows with p and falls with q, because the tail is closed under more x and fewer y.
3. The lower end is the largest value v for which no (p, q) with that difference or ratio gives the tail a chance above
   alpha/2. By 2 the largest such chance grows with v: every smaller value is excluded too, and bisection is enough.
4. If the truth v0 lies below the lower end L of the observed table, then the chance, under the truth, of a table at
   least as high as the observed one is at most alpha/2. The highest tail with that property has itself a chance of at
   most alpha/2. So L exceeds the truth with probability at most alpha/2, for every n and every (p, q).
5. The upper end is the lower one with a and b exchanged. Together they miss with probability at most alpha.

The order decides widths only. The largest chance over (p, q) is found on a grid that is made finer around its top, and
ends are rounded outwards by `ROUNDING`; a test compares it with a dense grid. Ends need not be nested in alpha.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foretell.stats.binomial import z_value
from foretell.stats.interval import ALPHA, BINARY, FIXED_N, IID, Interval
from foretell.stats.scores import Floats, check_alpha

__all__ = ["EXACT", "SAME", "paired_difference", "paired_ratio", "table"]

EXACT = 100
"""Scenarios up to which intervals are exact; above, the approximate ones are quick and cover (docs/statistics.md)."""
SAME = "both were tried on the same scenarios"
GRID = 32
MORE = 0.08
"""Added to the normal quantile of the order: without it tables of many discordant scenarios would widen all others."""
ROUNDING = 1e-5

Curve = Callable[[float, Floats], tuple[Floats, Floats]]
"""(value, places from 0 to 1 on the curve of equal value) -> chances p and q there."""


def table(a: Floats, b: Floats) -> tuple[int, int, int, int]:
    """Counts of both, only a, only b, neither; a and b: successes (0 or 1) of shape (n,)."""
    both, only_a, only_b = int((a * b).sum()), int((a * (1 - b)).sum()), int(((1 - a) * b).sum())
    return both, only_a, only_b, a.size - both - only_a - only_b


def paired_difference(both: int, only_a: int, only_b: int, neither: int, alpha: float = ALPHA) -> Interval:
    """Exact interval of rate_a - rate_b on the same scenarios, from the four counts. Scalars in."""
    cells = _cells(both, only_a, only_b, neither)
    n = sum(cells)
    low, high = (
        _lower("difference", n, x, y, check_alpha(alpha)) for x, y in ((cells[1], cells[2]), (cells[2], cells[1]))
    )
    estimate = (cells[1] - cells[2]) / n
    return Interval(
        estimate=estimate,
        low=low,
        high=-high,
        alpha=alpha,
        method="paired_difference",
        guarantee="finite-sample",
        assumes=(IID, BINARY, FIXED_N, SAME),
        n=n,
    )


def paired_ratio(both: int, only_a: int, only_b: int, neither: int, alpha: float = ALPHA) -> Interval:
    """Exact interval of rate_a / rate_b on the same scenarios, from the four counts; b must have succeeded once.

    The upper end is missing where it lies beyond 1 / `ROUNDING`.
    """
    cells = _cells(both, only_a, only_b, neither)
    if cells[0] + cells[2] < 1:
        raise ValueError(f"b must have succeeded at least once, got counts {cells}")
    m = cells[0] + cells[1] + cells[2]
    low, inverse = (
        _lower("ratio", m, x, y, check_alpha(alpha)) for x, y in ((cells[1], cells[2]), (cells[2], cells[1]))
    )
    # ends are shares of the sum, r / (1 + r), which have a finite range
    high = None if inverse <= 0.0 else (1.0 - inverse) / inverse
    estimate = (cells[0] + cells[1]) / (cells[0] + cells[2])
    assumes = (IID, BINARY, FIXED_N, SAME)
    return Interval(
        estimate=estimate,
        low=low / (1.0 - low),
        high=high,
        alpha=alpha,
        method="paired_ratio",
        guarantee="finite-sample",
        assumes=assumes,
        n=sum(cells),
    )


def _cells(*counts: int) -> list[int]:
    cells = [operator.index(v) for v in counts]
    if min(cells) < 0 or sum(cells) < 1:
        raise ValueError(f"the four counts must be >= 0 and not all zero, got {cells}")
    return cells


def _difference(value: float, place: Floats) -> tuple[Floats, Floats]:
    apart = abs(value) + place * (1.0 - abs(value))
    return 0.5 * (apart + value), 0.5 * (apart - value)


def _ratio(value: float, place: Floats) -> tuple[Floats, Floats]:
    """value = r / (1 + r) in [0, 1), r = (1 - q) / (1 - p)."""
    r = value / (1.0 - value)
    least = max(0.0, 1.0 - 1.0 / r) if r > 0.0 else 0.0
    p = least + place * (value - least)  # p + q <= 1 up to p = r / (1 + r)
    return p, np.clip(1.0 - r * (1.0 - p), 0.0, 1.0)


CURVES: dict[str, tuple[Curve, float, float]] = {"difference": (_difference, -1.0, 1.0), "ratio": (_ratio, 0.0, 1.0)}


@lru_cache(maxsize=64)
def _order(kind: str, n: int, alpha: float) -> Floats:
    """The place of every table (x, y) in the order, shape (n + 1, n + 1); tables with x + y > n do not exist."""
    z = z_value(alpha) + MORE
    x, y = np.arange(n + 1.0)[:, None], np.arange(n + 1.0)[None, :]
    if kind == "difference":  # Bonett and Price's adjusted Wald interval (2012)
        p, q = (x + 1.0) / (n + 2.0), (y + 1.0) / (n + 2.0)
        with np.errstate(invalid="ignore"):
            place = (p - q) - z * np.sqrt(np.maximum(p + q - (p - q) ** 2, 0.0) / (n + 2.0))
    else:  # of the logarithm of the ratio, by the delta method
        a, b = n - y + 0.5, n - x + 0.5
        place = np.log(a / b) - z * np.sqrt((x + y + 1.0) / (a * b))
    place = np.where(x + y > n, -np.inf, place)
    place = np.maximum.accumulate(place[:, ::-1], axis=1)[:, ::-1]
    place = np.maximum.accumulate(place, axis=0)
    place.flags.writeable = False
    return place


def _chance(n: int, least: NDArray[np.int64], p: Floats, q: Floats) -> Floats:
    """Chance of the tail {x >= least[y]}; least: shape (n + 1,), p and q: shape (G,) -> shape (G,)."""
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy

    y = np.flatnonzero(least <= n - np.arange(n + 1))  # columns in which the tail has a table
    ways = gammaln(n + 1.0) - gammaln(y + 1.0) - gammaln(n - y + 1.0)
    column = np.exp(ways + xlogy(y, q[:, None]) + xlog1py(n - y, -q[:, None]))  # chance of y
    there = column > 1e-15  # the slow part is skipped where it does not matter
    row, at = np.nonzero(there)
    share = np.clip(p / np.maximum(1.0 - q, 1e-300), 0.0, 1.0)
    k = least[y][at]
    above = np.where(k > 0, bdtrc(np.maximum(k - 1.0, 0.0), (n - y)[at], share[row]), 1.0)
    return np.asarray(np.bincount(row, column[row, at] * above, minlength=p.size), dtype=np.float64)


@lru_cache(maxsize=4096)
def _lower(kind: str, n: int, x: int, y: int, alpha: float) -> float:
    """Lower end for the table (x, y): the last value, searched to `ROUNDING`, whose tail is too rare."""
    from scipy.special import ndtri

    curve, bottom, top = CURVES[kind]
    order = _order(kind, n, alpha)
    least = (order < order[x, y] - 1e-12).sum(axis=0)
    if least[n] == 0:  # the tail holds the lowest table, and so all of them
        return bottom
    goal = float(ndtri(alpha / 2.0))

    def excess(value: float, places: Floats) -> tuple[float, int]:
        """How far the largest chance lies above alpha/2, in normal quantiles, and at which place it is the largest."""
        chance = _chance(n, least, *curve(value, places))
        most = int(chance.argmax())
        return float(ndtri(np.clip(chance[most], 1e-300, 1.0 - 1e-16))) - goal, most

    def last(places: Floats, near: float, step: float, error: float) -> float:
        """Last value, to `error`, at which these places have no excess; searched from `near`, first in steps."""
        return _crossing(lambda value: excess(value, places)[0], bottom, top, near, step, error)

    guess = float(order[x, y])  # approximately the lower end itself
    whole = 0.5 - 0.5 * np.cos(np.pi * np.arange(GRID + 1) / GRID)
    low = last(whole, guess if kind == "difference" else 1.0 / (1.0 + math.exp(-guess)), 0.02, 1e-3)
    for _ in range(5):
        places = whole
        for _ in range(2):
            _, most = excess(low, places)
            places = np.linspace(places[max(most - 1, 0)], places[min(most + 1, places.size - 1)], 9)
            low = last(places, low, 1e-3, ROUNDING)
        if excess(low, whole)[0] <= 0.0:
            break
        low = last(whole, low, 1e-3, ROUNDING)
    return max(bottom, low - ROUNDING)


def _crossing(f: Callable[[float], float], bottom: float, top: float, near: float, step: float, error: float) -> float:
    """Largest value known, to `error`, to lie below the crossing of f, which is below 0 at `bottom`, above at `top`."""
    a, fa, b, fb = bottom, -9.0, top, 9.0
    at = min(max(near, bottom + error), top - error)
    while b - a > error:
        value = f(at)
        if value > 0.0:
            b, fb, fa = at, value, 0.5 * fa if a > bottom else fa
        else:
            a, fa, fb = at, value, 0.5 * fb if b < top else fb
        if a == bottom or b == top:  # not yet between two values tried
            at, step = (b - step if a == bottom else a + step), 2.0 * step
        else:  # Illinois: the secant, the end that stays counting half
            at = (a * fb - b * fa) / (fb - fa)
        at = min(max(at, a + 0.2 * error), b - 0.2 * error)
    return a
