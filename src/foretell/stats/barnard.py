"""Exact test of two independent counts: Barnard's, with its supremum bounded from above.

Method
------
Policy a solved k_a of n_a trials, policy b k_b of n_b, N = n_a + n_b. Tables are ordered by the pooled z statistic,

    z = (k_a / n_a - k_b / n_b) / sqrt(r (1 - r) (1 / n_a + 1 / n_b)),   r = (k_a + k_b) / N,

and R is the set of tables at least as extreme as the one seen. With p the rate that both policies share,

    p_value = GAMMA + max over p in C of P_p(R),

where C is the Clopper-Pearson interval of p at level GAMMA from all N trials (Berger and Boos 1994). This is valid:
if the true p lies in C the maximum is at least P_p(R), which is at most any level with at most that chance, and p
lies outside C with a chance of at most GAMMA. Rates that the data rule out thus cannot decide the test. It also holds
for "greater" when a is truly worse, p_a < p_b: take p = (n_a p_a + n_b p_b) / N. R then has a smaller chance than with
both rates equal to p, since it grows in k_a and falls in k_b, and the sum k_a + k_b varies less than a binomial of N
trials (Hoeffding 1956), so that C misses p no more often.

Why it is fast
--------------
z falls in k_b for fixed k_a (its derivative has the sign of D (2 m - N) - 2 m (N - m) n_a with D = n_a n_b (p_a - p_b),
m = k_a + k_b, and N - m >= D / n_a). So R is one or two thresholds on k_b per k_a, and P_p(R) is a sum over k_a of a
probability times a tail. Terms further out than a window add their whole probability instead.

Why the maximum is bounded
--------------------------
Put p = sin(t)^2. P is a polynomial whose Bernstein coefficients (chances of R given k_a + k_b) lie in [0, 1], so for
complex t it is bounded: |P - 1/2| <= (|sin t|^2 + |cos t|^2)^N / 2 = cosh(2 Im t)^N / 2.

1. *Interpolation.* C is some ten standard errors wide, which is about 5 / sqrt(N) in t for every N. The interpolant of
   P in K + 1 Chebyshev nodes on an interval of half-width h is off by at most 4 M rho^-K / (rho - 1) for every rho > 1,
   with M the bound of |P - 1/2| on the ellipse whose imaginary half-axis is h (rho - 1/rho) / 2. With 45 nodes this is
   below 1e-11.
2. *Between grid points.* At an inner maximum P' = 0, so a grid of step d misses at most d^2/8 max |P''|, and by
   Cauchy's formula |P''| <= cosh(2 r)^N / r^2 for every r > 0. The interpolant costs little on twelve thousand points,
   which make this about 1e-7.

Both bounds are added. The result exceeds the true maximum by less than 1e-6 and is never below it. Memory grows as the
window does, with sqrt(N) times the number of nodes.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from foretell.stats.binomial import check_counts, clopper_pearson_ends
from foretell.stats.scores import Floats

__all__ = ["GAMMA", "Alternative", "barnard"]

Alternative = Literal["two-sided", "greater", "less"]
"""greater: policy a does better than b."""

GAMMA = 1e-6
"""Chance with which the common rate may lie outside the interval searched; part of every p-value."""
TIES = 1e-9
"""Tables whose z is this close (as a share) to the one seen count as tied with it, whatever rounding did."""
ROUNDING = 1e-10
"""More than the rounding errors of a sum of probabilities."""
NODES = 45
GRID = 12_000
WINDOW = 7.0
"""Half-width of the window in standard deviations; what lies outside is counted in full."""

Counts = NDArray[np.int64]


def barnard(successes_a: int, n_a: int, successes_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """p-value of Barnard's exact test on two independent counts; more powerful than Fisher's. Scalars in.

    Ordered by the pooled z, common rate restricted to its 1 - 1e-6 interval; see the module for the proof.
    """
    (ka, na), (kb, nb) = check_counts(successes_a, n_a), check_counts(successes_b, n_b)
    if alternative not in ("two-sided", "greater", "less"):
        raise ValueError(f"alternative must be two-sided, greater or less, got {alternative!r}")
    if ka + kb in (0, na + nb) or (alternative == "two-sided" and ka * nb == kb * na):
        return 1.0
    if alternative == "less":
        ka, na, kb, nb = kb, nb, ka, na
    if alternative == "two-sided" and ka * nb < kb * na:
        ka, na, kb, nb = kb, nb, ka, na
    seen = _z(ka, kb, na, nb).item()
    limit = seen - TIES * abs(seen)
    low, high = clopper_pearson_ends(ka + kb, na + nb, GAMMA)
    region = _Region(na=na, nb=nb, limit=limit, both=alternative == "two-sided", low=low, high=high)
    return min(1.0, GAMMA + region.most(math.asin(math.sqrt(low)), math.asin(math.sqrt(high))))


def _z(ka: Counts | int, kb: Counts | int, na: int, nb: int) -> Floats:
    """Pooled z up to a constant factor; 0 where no trial or every trial succeeded."""
    m = np.asarray(ka, dtype=np.float64) + kb
    spread = m * (na + nb - m)
    ahead = np.asarray(ka, dtype=np.float64) * nb - np.asarray(kb, dtype=np.float64) * na
    out: Floats = np.where(spread > 0.0, ahead / np.sqrt(np.maximum(spread, 1.0)), 0.0)
    return out


def _log_choose(n: int, k: Counts) -> Floats:
    from scipy.special import gammaln

    out: Floats = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return out


class _Region:
    """Tables at least as extreme as one seen, near the rates from low to high."""

    def __init__(self, *, na: int, nb: int, limit: float, both: bool, low: float, high: float) -> None:
        self.n = na + nb
        self.a, self.b = _window(na, low, high), _window(nb, low, high)
        self.na, self.nb = na, nb
        self._choose_a, self._choose_b = _log_choose(na, self.a), _log_choose(nb, self.b)
        self.below = self._count(limit)
        self.above = self._count(-limit, beyond=True) if both else None

    def _count(self, limit: float, beyond: bool = False) -> Counts:
        """Number of k_b in the window, for each k_a, with z >= limit (beyond: z > limit), by bisection."""
        least, most = np.zeros_like(self.a), np.full_like(self.a, self.b.size)
        while (least < most).any():
            middle = (least + most) // 2
            z = _z(self.a, self.b[np.minimum(middle, self.b.size - 1)], self.na, self.nb)
            inside = (z > limit if beyond else z >= limit) & (middle < most)
            least, most = np.where(inside, middle + 1, least), np.where(inside, most, middle)
        return least

    def chance(self, t: Floats) -> Floats:
        """P(R) for p = sin(t)^2, t of shape (T,), rounded up: shape (T,)."""
        up, down = np.log(np.sin(t) ** 2)[:, None], np.log(np.cos(t) ** 2)[:, None]
        pa = np.exp(self._choose_a + self.a * up + (self.na - self.a) * down)
        pb = np.exp(self._choose_b + self.b * up + (self.nb - self.b) * down)
        tail = np.concatenate([np.zeros((t.size, 1)), np.cumsum(pb, axis=1)], axis=1)
        hit = tail[:, self.below]
        if self.above is not None:
            hit = hit + (tail[:, -1:] - tail[:, self.above])
        outside = np.maximum(0.0, 2.0 - pa.sum(axis=1) - tail[:, -1])
        out: Floats = (pa * hit).sum(axis=1) + outside
        return out

    def most(self, start: float, stop: float) -> float:
        """Upper bound of the largest P(R) for t from start to stop; above it by less than 1e-6."""
        middle, half = 0.5 * (start + stop), 0.5 * (stop - start)
        x = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
        values = self.chance(middle + half * x)
        # Coefficients of the interpolant in Chebyshev polynomials, by their orthogonality on the nodes.
        series = 2.0 / NODES * np.cos(np.outer(np.arange(NODES), np.arccos(x))) @ values
        series[0] *= 0.5
        grid = np.polynomial.chebyshev.chebval(np.linspace(-1.0, 1.0, GRID + 1), series)
        step = 2.0 * half / GRID
        r2 = 0.5 / self.n  # near the best radius; any is valid
        bend = math.exp(self.n * math.log(math.cosh(2.0 * math.sqrt(r2)))) / r2
        off = interpolation_error(NODES - 1, half, self.n)
        return float(grid.max()) + off + step * step / 8.0 * bend + ROUNDING


def _window(n: int, low: float, high: float) -> Counts:
    """Counts of n trials that are likely at some rate from low to high."""

    def reach(p: float) -> float:
        return WINDOW * math.sqrt(n * p * (1.0 - p)) + 15.0

    first = max(0, math.floor(n * low - reach(low)))
    last = min(n, math.ceil(n * high + reach(high)))
    return np.arange(first, last + 1)


def interpolation_error(degree: int, half: float, n: int) -> float:
    """Bound of |P - interpolant| on an interval of t of this half-width; n: all trials. Scalars in."""
    rho = np.linspace(1.05, 8.0, 140)
    log_bound = n * np.log(np.cosh(half * (rho - 1.0 / rho)))
    return float(np.exp(np.min(math.log(2.0) + log_bound - degree * np.log(rho) - np.log(rho - 1.0))))
