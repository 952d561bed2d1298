"""Real trials alone, where the rows of a file differ too little to seed an order of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.interval import FIXED_N, IID, RANGE, UNITED, Interval
from foretell.stats.order import several
from foretell.stats.scores import UNIT, Floats, Range, scores, stretch


def two_valued(y: Floats) -> bool:
    """Whether scores y, shape (n,), have two values at most. A sorted file of them is known by their number: there are
    n + 1 such files, and one order for each is too few (`order.several`)."""
    return bool(np.all((y == y.min()) | (y == y.max())))


def united(method: Callable[..., Interval], real: ArrayLike, alpha: float, within: Range = UNIT) -> Interval:
    """Hull of a betting method's intervals over several orders of real scores, shape (n,)."""
    y = scores(real, "real", within=within)
    found = [method(y[order], alpha, horizon=y.size) for order in several(y)]
    low, high = min(one.low or 0.0 for one in found), max(1.0 if one.high is None else one.high for one in found)
    guess = min(max(float(y.mean()), low), high)
    notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
    one = replace(found[0], estimate=guess, low=low, high=high, anytime=False, notes=notes)
    return stretch(replace(one, assumes=(IID, RANGE, UNITED, FIXED_N)), within)
