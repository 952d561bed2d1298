"""Outcomes of real trials in two strata, ranked by how high a success rate they speak for (see `strata`).

Outcomes ranked at least as high as the one seen form an up-set: its edge is a staircase.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foretell.stats.scores import Floats

__all__ = ["SLACK", "Chance", "Ints", "chances", "ranks", "staircase"]

Ints = NDArray[np.int64]
Chance = Callable[[Floats, Floats], Floats]

RANK_Z = 1.3
"""Normal quantile of the limit that ranks outcomes. Widths hardly change from 0.9 to 1.5."""
TIE = 1e-7
SLACK = 1e-9
"""Probabilities and quantiles are moved outwards by this share, far above their rounding."""


def ranks(k1: Floats, n1: int, k0: Floats, n0: int, q: float) -> Floats:
    """Lower limit of q a + (1 - q) b by the profile likelihood ratio, for counts of equal shape.

    On the constrained optimum (k - n x) / (x (1 - x)) is lam times the stratum's share, a quadratic equation for
    the rate x. Rates fall and the likelihood ratio rises in lam, so one bisection over lam gives the limit.
    """
    from scipy.special import xlog1py, xlogy

    parts = [(k, n, share) for k, n, share in ((k1, n1, q), (k0, n0, 1.0 - q)) if n and share > 0.0]
    peaks = [xlogy(k, k / n) + xlog1py(n - k, -k / n) for k, n, _ in parts]

    def rates(lam: Floats) -> list[Floats]:
        sums = [n + lam * share for _, n, share in parts]
        return [
            2.0 * k / (s + np.sqrt(np.maximum(s * s - 4.0 * lam * share * k, 0.0)))
            for (k, _, share), s in zip(parts, sums, strict=True)
        ]

    below, above = np.full(k1.shape, -12.0), np.full(k1.shape, math.log(1e6 * (n1 + n0)))
    for _ in range(31):  # to 1e-8 of the limit, a tenth of TIE
        middle = 0.5 * (below + above)
        lost = np.zeros(k1.shape)
        for (k, n, _), x, peak in zip(parts, rates(np.exp(middle)), peaks, strict=True):
            lost += peak - xlogy(k, x) - xlog1py(n - k, -x)
        enough = lost >= 0.5 * RANK_Z**2
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    limit = np.zeros(k1.shape)
    for (k, _, share), x in zip(parts, rates(np.exp(below)), strict=True):
        limit += share * np.where(k > 0, x, 0.0)
    return limit


def staircase(k1: int, n1: int, k0: int, n0: int, q: float) -> Ints:
    """Least k0 that ranks with the outcome (k1, k0) seen, for each of 0..n1, shape (n1 + 1,); n0 + 1: none does."""
    wanted = float(ranks(np.array([float(k1)]), n1, np.array([float(k0)]), n0, q)[0]) - TIE
    rows = np.arange(n1 + 1.0)
    fails, holds = np.full(n1 + 1, -1), np.full(n1 + 1, n0 + 1)
    while (holds - fails > 1).any():
        middle = (fails + holds) // 2  # -1 and n0 + 1 are never asked for where the bracket is open
        good = ranks(rows, n1, np.clip(middle, 0, n0).astype(np.float64), n0, q) >= wanted
        open_ = holds - fails > 1
        holds, fails = np.where(open_ & good, middle, holds), np.where(open_ & ~good, middle, fails)
    return np.minimum.accumulate(holds)


def chances(steps: Ints, n1: int, n0: int) -> Chance:
    """P_ab(outcome in the up-set above the staircase) as a function of rates a and b of equal shape (M,)."""
    from scipy.special import gammaln, xlog1py, xlogy

    def weights(n: int, x: Floats) -> Floats:
        k = np.arange(n + 1)
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        chance: Floats = np.exp(ways + xlogy(k, x[:, None]) + xlog1py(n - k, -x[:, None]))
        return chance

    def at(a: Floats, b: Floats) -> Floats:
        rows, row = np.unique(a, return_inverse=True)
        columns, column = np.unique(b, return_inverse=True)
        tails = np.zeros((columns.size, n0 + 2))
        tails[:, :-1] = weights(n0, columns)[:, ::-1].cumsum(axis=1)[:, ::-1]
        first, second = weights(n1, rows), tails[:, steps]
        if rows.size * columns.size <= 40 * a.size:
            chance = (first @ second.T)[row, column]
        else:
            chance = np.einsum("ij,ij->i", first[row], second[column])
        return np.minimum(chance * (1.0 + SLACK), 1.0)

    return at
