"""Bets on rows without names that differ too little to seed an order of their own: several orders, united.

A sorted array is known by how often it has each value. One order drawn for each such array is as good as a random one
only if there are many of them. Where there are few, bets are placed in several orders: an interval is the hull of
theirs, a p-value the largest of theirs, and an e-value the smallest of theirs.

Why this is valid. Let the orders be drawn at random, whatever the rows. Rows are exchangeable, so they are bet on in a
random order in each of them, and each E_i is an e-value: its mean is at most one if there is no difference. The
smallest of them is at most E_1, so its mean is at most one too. In the same way the largest p-value is at least P_1,
and the hull holds the first interval. This takes the hash that draws the orders for a random draw. It is a fixed
function, so for a given number of rows and values the mean is not proven but summed over all outcomes
(`tests/stats/test_order.py`, `tests/stats/test_compare.py`). One order does not pass there: it has one draw for each
sorted array, of which there are few. The smallest of eight does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.interval import AS_RUN, FIXED_N, HASHED, PLANNED, SAME_EXTRA, UNITED, Interval
from foretell.stats.order import several
from foretell.stats.scores import UNIT, Floats, Range, scores, simulated, stretch

FEW = 100_000
"""Sorted arrays below which one order for each is too few."""
LOOKS = (AS_RUN, PLANNED, SAME_EXTRA, HASHED)
"""What a single order assumes."""


def two_valued(y: Floats) -> bool:
    """Whether scores y, shape (n,), have two values at most. A sorted file of them is known by their number: there are
    n + 1 such files, and one order for each is too few (`order.several`)."""
    return bool(np.all((y == y.min()) | (y == y.max())))


def few_valued(*columns: Floats) -> bool:
    """Whether there are few sorted arrays of as many rows with these values; columns of shape (n,) each."""
    n, kinds = columns[0].size, np.unique(np.round(np.stack(columns), 9), axis=1).shape[1]
    many = min(n, kinds - 1) >= 20  # then there are more than comb(40, 20) of them, and the exact number takes long
    return not many and math.comb(n + kinds - 1, kinds - 1) < FEW


def united(method: Callable[..., Interval], real: ArrayLike, alpha: float, within: Range = UNIT) -> Interval:
    """Hull of a betting method's intervals over several orders of real scores, shape (n,)."""
    y = scores(real, "real", within=within)
    return stretch(hull([method(y[order], alpha, horizon=y.size) for order in several(y)], float(y.mean())), within)


def united_pairs(
    method: Callable[..., Interval],
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    **options: int,
) -> Interval:
    """As `united`, of a method with simulation that takes these options; real, sim: shape (n,), extra: shape (N,)."""
    y, f, e = simulated(real, sim, extra, within, sim_within)
    orders = zip(several(y, f), several(e), strict=True)
    return stretch(hull([method(y[i], f[i], e[j], alpha, **options) for i, j in orders]), within)


def hull(intervals: list[Interval], mean: float | None = None) -> Interval:
    """The smallest interval that holds those of several orders. mean: its estimate (default: the mean of theirs)."""
    low = min(interval.low or 0.0 for interval in intervals)
    high = max(1.0 if interval.high is None else interval.high for interval in intervals)
    guess = float(np.mean([interval.estimate for interval in intervals])) if mean is None else mean
    levels = [interval.contradiction for interval in intervals]
    notes = tuple(dict.fromkeys(note for interval in intervals for note in interval.notes))
    kept = [assumption for assumption in intervals[0].assumes if assumption not in (*LOOKS, FIXED_N)]
    return replace(
        intervals[0],
        estimate=min(max(guess, low), high),
        low=low,
        high=high,
        anytime=False,
        contradiction=None if None in levels else max(level for level in levels if level is not None),
        notes=notes,
        assumes=(*kept, UNITED, FIXED_N),
    )
