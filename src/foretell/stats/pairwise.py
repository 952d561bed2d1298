"""How far one policy can be ahead of another: one-sided bounds of every difference of true means, at a level each.

`ahead(...)[j, i]` is an upper bound of mean_j - mean_i that falls short of the truth with a chance of at most `level`,
for each pair by itself. What a set of pairs misses together is the caller's sum.

Independent successes: two exact tails. Let u be the chance of so few successes of j if its rate were p, and v the
chance of so many of i if its rate were q. Both are at least uniform and independent at the true rates, so their product
is below c with a chance of at most c (1 - log c) = level (Fisher's combination). The bound is the largest p - q of all
rates whose product is at least c. Along that curve u = c^t and v = c^(1 - t); t is cut into cells, and each cell counts
by its outer corner, so that the bound is never too small. Policies that meet the same scenarios are seldom one up and
one down at once, which makes the bound too large rather than too small.
Successes on the same scenarios: `paired_difference`, exact up to 100 scenarios, Newcombe's above.
Graded scores in [0, 1] count as successes of more trials (`projection.equivalent`), other numbers by Student's t. Both
hold as n grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.binomial import newcombe_paired
from foretell.stats.interval import Guarantee
from foretell.stats.paired import EXACT, paired_difference, table
from foretell.stats.projection import equivalent
from foretell.stats.scores import Floats, is_binary, vector

__all__ = ["Trials", "ahead"]

CELLS = 96
"""Cells of the curve along which the two tails share their level."""


@dataclass(frozen=True)
class Trials:
    """What is known of the trials of P policies in one world: counts, or scores."""

    means: Floats
    """Shape (P,)."""
    n: Floats | None = None
    """Trials behind each mean, which are successes and failures; shape (P,), not necessarily whole."""
    outcomes: tuple[Floats, ...] | None = None
    """Scores of each policy; with `same`, the i-th of each is of the same scenario."""
    same: bool = False

    @property
    def known(self) -> bool:
        """Whether the error of the means can be told."""
        if self.outcomes is not None:
            return min(x.size for x in self.outcomes) > 1 or self._unit
        return self.n is not None

    @property
    def binary(self) -> bool:
        """Whether every trial is a success or a failure."""
        return all(map(is_binary, self.outcomes)) if self.outcomes is not None else self.n is not None

    @property
    def paired(self) -> bool:
        """Whether policies can be compared scenario by scenario."""
        return self.same and self.outcomes is not None and len({x.size for x in self.outcomes}) == 1

    @property
    def _unit(self) -> bool:
        assert self.outcomes is not None
        return all(x.min() >= 0.0 and x.max() <= 1.0 for x in self.outcomes)

    @property
    def method(self) -> str:
        """How its differences are bounded."""
        if not self.binary and self.outcomes is not None and not self._unit:
            return "Student's t"
        if self.binary and self.paired:
            return "paired differences"
        return "products of binomial tails"

    @property
    def guarantee(self) -> Guarantee:
        """What bounds of its differences are worth."""
        large = self.paired and self.outcomes is not None and self.outcomes[0].size > EXACT
        return "finite-sample" if self.binary and not large and self._counts else "asymptotic"

    @property
    def _counts(self) -> bool:
        """Whether means may be shares of successes, printed with two digits or more."""
        if self.n is None:
            return True
        successes = self.means * self.n
        near = np.abs(successes - np.round(successes)) <= 0.0051 * self.n
        return bool(((self.n == np.round(self.n)) & near).all())

    def without(self, policy: int) -> Trials:
        """All but one policy."""
        outcomes = None if self.outcomes is None else (*self.outcomes[:policy], *self.outcomes[policy + 1 :])
        n = None if self.n is None else np.delete(self.n, policy)
        return Trials(np.delete(self.means, policy), n, outcomes, self.same)


def trials(
    means: ArrayLike, n: ArrayLike | None, outcomes: Sequence[ArrayLike] | None, same: bool, name: str
) -> Trials:
    """Checked: means of shape (P,); n of shape (P,) or None; outcomes: P arrays of shape (n_i,) or None."""
    middle = vector(means, name, at_least=2)
    size = None if n is None else vector(n, f"n_{name}")
    if size is not None and (size.size != middle.size or size.min() <= 0.0):
        raise ValueError(f"n_{name} must have {middle.size} positive numbers, got {size.tolist()}")
    if size is not None and outcomes is None and (middle.min() < 0.0 or middle.max() > 1.0):
        raise ValueError(
            f"n_{name} counts trials, so {name} must be success rates from 0 to 1; pass the scores instead"
        )
    if outcomes is None:
        return Trials(middle, size)
    scores = tuple(vector(x, f"{name}_outcomes[{i}]") for i, x in enumerate(outcomes))
    if len(scores) != middle.size:
        raise ValueError(f"{name}_outcomes must list {middle.size} policies, got {len(scores)}")
    return Trials(middle, size, scores, same)


def ahead(given: Trials, level: float) -> Floats:
    """Upper bounds of mean_j - mean_i at [j, i], each at this level; shape (P, P), zeros on the diagonal."""
    size = given.means.size
    if given.outcomes is None:
        assert given.n is not None
        bound = _products(given.means * given.n, given.n, level)
    elif given.binary and given.paired:
        bound = np.zeros((size, size))
        for j in range(size):
            for i in range(size):
                if i != j:
                    bound[j, i] = _paired_bound(table(given.outcomes[j], given.outcomes[i]), level)
    elif given.method == "Student's t":
        bound = _student(given, level)
    else:
        bound = _products(*equivalent(given.outcomes), level)
    bound = np.maximum(bound, given.means[:, None] - given.means[None, :])
    np.fill_diagonal(bound, 0.0)
    return bound


def _paired_bound(cells: tuple[int, int, int, int], level: float) -> float:
    exact = sum(cells) <= EXACT
    interval = (paired_difference if exact else newcombe_paired)(*cells, 2.0 * level)
    assert interval.high is not None
    return interval.high


@lru_cache(maxsize=256)
def _product(level: float) -> float:
    """The c for which a product of two uniform numbers is below c with chance `level`: c (1 - log c) = level."""
    from scipy.optimize import brentq

    return float(np.exp(brentq(lambda x: np.exp(x) * (1.0 - x) - level, -200.0, 0.0)))


def _products(k: Floats, n: Floats, level: float) -> Floats:
    from scipy.special import betaincinv

    share = np.linspace(0.0, 1.0, CELLS + 1)
    tail = _product(level) ** share
    k, n = np.clip(np.round(k, 9), 0.0, n)[:, None], n[:, None]
    # The rate at which so few successes have the chance `tail`, and the one at which so many have it.
    high = np.where(k < n, betaincinv(k + 1.0, np.maximum(n - k, 1e-9), 1.0 - tail), 1.0)
    low = np.where(k > 0.0, betaincinv(np.maximum(k, 1e-9), n - k + 1.0, tail), 0.0)
    corner = high[:, None, 1:] - low[None, :, ::-1][:, :, :-1]
    bound: Floats = corner.max(axis=-1)
    return bound


def _student(given: Trials, level: float) -> Floats:
    from scipy.special import stdtrit

    assert given.outcomes is not None
    size = given.means.size
    bound = np.zeros((size, size))
    for j, x in enumerate(given.outcomes):
        for i, y in enumerate(given.outcomes):
            if given.paired:
                error, freedom = float((x - y).std(ddof=1) / x.size**0.5), x.size - 1.0
            else:
                a, b = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
                error = float((a + b) ** 0.5)
                freedom = float((a + b) ** 2 / max(a**2 / (x.size - 1) + b**2 / (y.size - 1), 1e-300)) or 1.0
            bound[j, i] = given.means[j] - given.means[i] - error * float(stdtrit(freedom, level))
    return bound
