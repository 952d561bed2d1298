"""Were paired and extra scenarios drawn alike? A permutation test on their simulated scores.

Methods with simulation need paired and extra scenarios from one distribution. If that is so, the paired scenarios are a
random subset of all: whatever scores there are, each subset of that size is as likely as any other. The test looks at
the mean of the paired ones among all subsets, so it needs no model of the scores and holds for every n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.scores import Floats, vector

__all__ = ["same_draw"]

BINS = 64
"""Scores are put into at most so many bins of equal number, and stand for their bin's mean."""
DRAWS = 4999
"""Random subsets that stand for all of them where scores have more than two values."""
CLOSE = 1e-9
"""Means that differ by less are equal: rounding must not decide."""


def same_draw(paired: ArrayLike, extra: ArrayLike) -> float:
    """p-value of "paired and extra scenarios come from one distribution"; paired: shape (n,), extra: shape (N,).

    Two-sided, on the difference of the means. Exact for scores of two values (hypergeometric, as Fisher's test);
    otherwise `DRAWS` random subsets, with the observed one among them, which keeps every level too.
    """
    f, e = vector(paired, "paired"), vector(extra, "extra")
    levels, place = _binned(np.concatenate([f, e]))
    if levels.size < 2:
        return 1.0
    counts, ours = (np.bincount(x, minlength=levels.size) for x in (place, place[: f.size]))
    usual = f.size * float(counts @ levels) / place.size
    far = abs(float(ours @ levels) - usual) - CLOSE * f.size
    if levels.size == 2:
        from scipy.stats import hypergeom

        few = np.arange(max(0, f.size - counts[0]), min(f.size, counts[1]) + 1)
        sums = few * levels[1] + (f.size - few) * levels[0]
        chance = hypergeom(place.size, counts[1], f.size).pmf(few)
        return float(min(1.0, chance[np.abs(sums - usual) >= far].sum()))
    draws = np.random.default_rng(0).multivariate_hypergeometric(counts, f.size, size=DRAWS, method="marginals")
    return float((1 + np.sum(np.abs(draws @ levels - usual) >= far)) / (1 + DRAWS))


def _binned(pool: Floats) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Values that scores stand for, and which of them each has; pool: shape (n + N,).

    Bins are a symmetric function of all scores, so the test stays exact.
    """
    levels, place = np.unique(pool, return_inverse=True)
    if levels.size <= BINS:
        return levels, place.astype(np.int64)
    cuts = np.unique(np.quantile(pool, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
    place = np.searchsorted(cuts, pool, side="right")
    sums, counts = np.bincount(place, pool, cuts.size + 1), np.bincount(place, minlength=cuts.size + 1)
    return sums / np.maximum(counts, 1), place.astype(np.int64)
