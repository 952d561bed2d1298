"""Stopping when the answer is good enough: after which scenario a cell of a study stops.

A rule is looked at after fixed numbers of scenarios: every so many, and at the horizon. The horizon, the largest number
of scenarios, is fixed before the first one, and the intervals and tests of these looks hold at all looks at once
(`star` and the betting test, Ville's inequality). So they hold at the one at which a rule stops. An interval for a
fixed number of trials, as Clopper-Pearson's, does not: see `python -m foretell.stats.stopping`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.betting import star
from foretell.stats.blocked import surely_wider
from foretell.stats.compare import compare
from foretell.stats.interval import ALPHA, Interval

__all__ = ["interval_at", "is_decided", "is_narrow", "looks", "stop_after"]

EVERY = 10
"""Scenarios between two looks."""


def looks(horizon: int, every: int = EVERY) -> tuple[int, ...]:
    """Numbers of scenarios after which a rule is looked at; the last is the horizon. Scalars in."""
    if horizon < 1 or every < 1:
        raise ValueError(f"horizon and every must be at least 1, got {horizon} and {every}")
    return (*range(every, horizon, every), horizon)


def interval_at(scores: ArrayLike, horizon: int, alpha: float = ALPHA) -> Interval:
    """The interval of a study that stops by a rule, from the scores so far in the order planned, shape (n,)."""
    return star(scores, alpha, horizon=horizon)


def is_narrow(scores: ArrayLike, width: float, horizon: int, alpha: float = ALPHA) -> bool:
    """Whether the interval of the mean is at most so wide; scores so far in the order planned, shape (n,)."""
    if not 0.0 < width < 1.0:
        raise ValueError(f"width must lie between 0 and 1, got {width:g}")
    y = np.asarray(scores, dtype=np.float64)
    if not y.size or surely_wider(y, width, alpha, horizon):
        return False
    return interval_at(y, horizon, alpha).width <= width


def is_decided(a: ArrayLike, b: ArrayLike, horizon: int, alpha: float = ALPHA) -> bool:
    """Whether the betting test tells two policies apart; their scores so far on the same scenarios, shape (n,) each."""
    if np.size(a) < 1:
        return False
    return compare(a, b, paired=True, horizon=horizon, alpha=alpha).verdict in ("better", "worse")


def stop_after(stops: Callable[[int], bool], horizon: int, every: int = EVERY) -> int:
    """The number of scenarios after which a rule stops. stops(n): whether it stops at the look after n of them."""
    planned = looks(horizon, every)
    return next((n for n in planned[:-1] if stops(n)), planned[-1])
