"""`strata`: exact bound on a success rate from real trials sorted by what the simulator said of them.

Construction
------------
Real trials succeed or fail. Simulation splits scenarios in two strata: those it solves (a simulated score from a cut
on; below) and those it does not. Let q be the share of solved scenarios, a and b the real success
rates in the two strata. The wanted rate is

    p = q a + (1 - q) b.

Of n real trials n1 lie in the first stratum with k1 successes, n0 in the second with k0 successes; of all
n + N simulated scenarios S are solved. For every triple (a, b, q) the lower end takes two chances, which
are small where the data speak for a larger p:

    U = P_q(S or more solved) if a >= b, P_q(S or fewer solved) if a < b
    V = P_ab(an outcome ranked at least as high as (k1, k0)).

Let w in [0, 1) be fixed for every triple in advance, and z(u) the normal quantile of 1 - u. A triple is refuted when

    w max(z(U), -FLOOR) + sqrt(1 - w^2) z(V) >= z((1 - 2 GUARD) alpha/2 / (1 + P(Z < -FLOOR))),

or when a guard refutes it: q lies outside the Clopper-Pearson interval of the simulated scenarios at 1 - GUARD * alpha,
or a or b outside that of its stratum at 1 - GUARD * alpha/2. The lower end is the least p of any triple that stands.
The upper end is one minus the lower end of 1 - Y.

A triple of which the n trials are to have fewer than HARDLY of one stratum, n min(q, 1 - q) < HARDLY, has another test,
because hardly a trial tells of that stratum: all K = k1 + k0 successes against the binomial of n trials and chance p,
as Clopper and Pearson do. It is refuted when P_p(K or more successes) <= (1 - 2 GUARD) alpha/2, or by the guard of q.
So has a triple of which the n trials are to have few failures, n (1 - p) < SCARCE: where nearly all trials succeed,
strata only divide what little is known of failures.

*Scouts.* Where one stratum is small, simulation costs more than it gains. So one extra scenario in SCOUTS is set aside
(none where that would be fewer than PARTY) and only tells how many of the n trials each stratum is to have. If that is
fewer than FEW, or than a fifth of n where that is less, for one of them, the answer is Clopper and Pearson's interval
of the real trials; otherwise that of the above, from the other extra scenarios. Scouts also set the cut where simulated
scores are graded: their mean. (Scores of 0 and 1 it splits as any cut does.) Without scouts the cut is the middle of
the range. Which scenarios are scouts is drawn, and a hash of all scores seeds the draw, so that the order of rows does
not matter.

Why it covers
-------------
Assume scenarios are independent draws from one distribution, and those that get a real trial were chosen without
looking at outcomes. Nothing is assumed of the simulator. Let (a, b, q) be the truth.

1. S is binomial with n + N trials and chance q, so P(U <= u) <= u.
2. Given all simulated scores, k1 and k0 are independent binomials with chances a and b. The ranking is a function
   of simulated scores, so P(V <= v) <= v given all of them, hence given U.
3. So z(U) is stochastically below a normal Z1, and z(V), given U, below a normal Z2 that is independent of Z1. The
   left side of the test is increasing in both, thus below w max(Z1, -FLOOR) + sqrt(1 - w^2) Z2. That reaches t >= 0
   only if w Z1 + sqrt(1 - w^2) Z2 does, or if Z1 < -FLOOR and Z2 >= t: a chance of at most
   P(Z >= t) (1 + P(Z < -FLOOR)). So the weighted test refutes the truth with probability (1 - 2 GUARD) alpha/2. Which
   test a triple has depends on the triple and on n alone, and the test of K has that probability too.
4. The lower end exceeds p only if the truth is refuted. The weighted tests of both ends do that with probability
   (1 - 2 GUARD) alpha. Both ends share the guards: that of q fails with probability GUARD * alpha, those of a and
   b with GUARD * alpha/2 each, given the simulated scores. Together at most alpha.
5. Scouts are independent of all other scenarios and of real trials, so both answers cover given what the scouts say,
   and so does the answer with the cut that they set.

Nothing has to be maximised over nuisances by search: every triple is judged by itself. Triples are judged in cells of
a fixed grid. V increases in a and in b, since the ranked outcomes form an up-set (below), so a cell is judged at the
corner where V is largest, and its p is taken at the corner where p is least. U increases in q, so what stands of a cell
is an interval of q whose end is a beta quantile. Weights w are constant on coarse cells. So discretisation only
widens. Coarse cells are split where they can matter; what is left out has a larger p than the answer.

*Ranking.* Outcomes are ranked by the lower limit of s a + (1 - s) b, s = S/(n + N), from the profile likelihood ratio
at a fixed level. Raising k1 or k0 raises it, so outcomes ranked at least as high as the one seen form an up-set. Ties
are counted in, within 1e-7, so that rounding of the limit can only enlarge the set.

*Nested in alpha.* Ranking, weights, U and V do not depend on alpha; a smaller alpha asks more of the same tests.

*Weights.* z(U) and z(V) are weighed like the errors they stand for: w^2 is the share that (a - b)^2 q (1 - q) / (n + N)
has in the variance of the estimate. This gives power only; any weights keep 1-4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.binomial import clopper_pearson_ends
from foretell.stats.interval import ALIKE, ALPHA, BINARY, FIXED_N, IID, PAIRS, UNFITTED, Interval
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, is_binary, simulated, stretch
from foretell.stats.scouts import graded_scouts, scouted
from foretell.stats.staircase import SLACK, Chance, Ints, chances, staircase

GUARD = 0.01
"""Share of alpha spent on leaving out values of q, and again of a and b, that the data refute by themselves.

Without it triples with absurd nuisances stand."""
HARDLY = 1.5
"""Expected trials of the smaller stratum below which a triple is judged by all successes together.

Without it a simulator that solves every scenario costs 7 % of width instead of 1 % at n = 20, N = 80 (`python -m
foretell.stats.useless --successes --method strata --sizes 20x80 --rates 0.7 --without HARDLY --draws 24`)."""
SCARCE = (8.0, 12.0)
"""Expected failures below which the lower end judges a triple by all successes together (the upper end: successes): a
quarter of n, but at least the first number and at most the second.

Without it a useless simulator costs 4 to 6 % of width at n = 60, N = 300, where the success rate is 0.98 (`python -m
foretell.stats.useless --successes --sizes 60x300 --rates 0.98 --without SCARCE --draws 24`). More than 8 at n = 30
costs what a good simulator gains at 0.9; fewer than 12 leaves a loss with more trials."""
FEW = 8.0
"""Real trials that scouts must let expect of each stratum, or a fifth of all (`FIFTH`) where that is fewer.

Without this rule a simulator that solves 97 % of the scenarios and knows nothing of reality costs 4.5 % of width at
n = 40, N = 300, where the success rate is 0.9 (`python -m foretell.stats.useless --successes --sizes 40x300 --rates 0.9
--without FEW --draws 24`)."""
FIFTH = 0.2
FLOOR = 2.5
"""z(U) counts as no less than -FLOOR, so that a simulator that never varies cannot forbid a refutation."""
RARE = (
    "simulation solves {} of {} extra scenarios, so that {} real trials meet few of one kind: real trials are judged "
    "alone, by clopper_pearson"
)
CUT = "a scenario counts as solved in simulation from a score of {:.3g} on, the mean of {} extra scenarios set aside"
BASE = 64
"""Coarse cells along a and along b, on which weights are constant."""
SHARES = 24
"""Cells along q, equal in arcsin(sqrt(q)), on which weights are constant."""
NONE = 2.0
"""A rate no triple can have: nothing stands in a cell."""
PROBES = 64
"""Cells from which an upper bound of the answer is taken at every split; they set the time, never the answer."""
LEVELS = np.concatenate([np.arange(-FLOOR, 8.0, 0.02), np.arange(8.0, 37.01, 0.25)])
"""Values of z(U) at which the least standing q is tabulated; in between the next one counts."""


def guarded(k: int, n: int, level: float) -> Range:
    """Clopper-Pearson ends at 1 - level, rounded outwards; all of [0, 1] without trials. Scalars in."""
    if not n:
        return UNIT
    low, high = clopper_pearson_ends(k, n, level)
    return low * (1.0 - SLACK), high * (1.0 + SLACK)


def weights_of(large: Floats, small: Floats, share: Floats, n: int, total: int) -> Floats:
    """w for rates and the share of the stratum with the larger one, arrays that broadcast."""

    def spread(x: Floats) -> Floats:
        inside = (n * x + 0.5) / (n + 1.0)
        return inside * (1.0 - inside)

    real = (share * spread(large) + (1.0 - share) * spread(small)) / n
    sim = (large - small) ** 2 * share * (1.0 - share) / total
    return np.sqrt(sim / (sim + real))


def share_edges() -> Floats:
    """Edges of the cells along q, shape (SHARES + 1,), symmetric about one half."""
    edges = np.sin(np.linspace(0.0, 0.5 * math.pi, SHARES + 1)) ** 2
    edges[SHARES // 2] = 0.5
    edges[SHARES // 2 + 1 :] = 1.0 - edges[: SHARES // 2][::-1]
    return edges


class Boxes:
    """Cells of triples with one rate at least the other, and the least p that stands in each.

    chance: V of (larger, smaller) rate. solved: scenarios, of `total`, in the stratum of the larger rate.
    """

    def __init__(
        self, chance: Chance, *, rates: tuple[Range, Range], solved: int, total: int, n: int, alpha: float
    ) -> None:
        from scipy.special import betaincinv, ndtr, ndtri

        self.chance, self.rates, self._ndtri = chance, rates, ndtri
        self.top = scarce_from(n)
        self.goal = -float(ndtri(0.5 * alpha * (1.0 - 2.0 * GUARD) / (1.0 + ndtr(-FLOOR))))
        least = betaincinv(solved, total - solved + 1, ndtr(-LEVELS)) if solved else np.zeros(LEVELS.size)
        self._least = np.append(least * (1.0 - SLACK), 0.0)
        low, high = guarded(solved, total, GUARD * alpha)
        low, high = max(low, HARDLY / n), min(high, 1.0 - HARDLY / n)
        edges = share_edges()
        near = (edges[:-1] <= high) & (edges[1:] >= low)
        self.from_, self.to = np.maximum(edges[:-1][near], low), np.minimum(edges[1:][near], high)
        middle = 0.5 * (edges[:-1] + edges[1:])
        middle[0], middle[-1] = 0.0, 1.0
        i, j = np.tril_indices(BASE)
        inside = self.inside(i / BASE, j / BASE, 1.0 / BASE)
        i, j = i[inside], j[inside]
        gap = np.where(i == j, 0.5, 0.0)
        large, small = (i + 0.5) / BASE, (j + 0.5 - gap) / BASE
        w = weights_of(large[:, None], small[:, None], middle[near][None, :], n, total)
        count = int(near.sum())
        self.i, self.j = np.repeat(i, count), np.repeat(j, count)
        self.share, self.w = np.tile(np.arange(count), i.size), w.ravel()
        self.size = 1.0 / BASE
        v = np.repeat(chance((i + 1) / BASE, (j + 1) / BASE), count)
        self.low = self.least(self.i / BASE, self.j / BASE, 1.0 / BASE, self.share, self.w, v)

    def inside(self, large: Floats, small: Floats, size: float) -> NDArray[np.bool_]:
        """Whether cells with these lower corners hold rates that the guard leaves."""
        (from_l, to_l), (from_s, to_s) = self.rates
        held: NDArray[np.bool_] = (
            (large <= to_l) & (large + size >= from_l) & (small <= to_s) & (small + size >= from_s)
        )
        return held

    def least(
        self, large: Floats, small: Floats, size: float, share: Ints, w: Floats, v: Floats | None = None
    ) -> Floats:
        """Least p standing in cells with these lower corners; NONE where all of a cell is refuted, or all that is not
        is judged by all successes together.

        v: V at the upper corners, if known.
        """
        v = self.chance(large + size, small + size) if v is None else v
        z = np.maximum(-self._ndtri(np.maximum(v, 1e-300)), -40.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            need = (self.goal - np.sqrt(1.0 - w * w) * z) / w
        need = np.where(w > 0.0, need, np.where(z >= self.goal, -np.inf, np.inf))
        q = np.maximum(self._least[np.searchsorted(LEVELS, need)], self.from_[share])
        p = small + q * (large - small)
        standing = (need > -FLOOR) & (q <= self.to[share]) & (p <= self.top) & self.inside(large, small, size)
        return np.where(standing, p, NONE)

    def pick(self, keep: NDArray[np.bool_] | Ints) -> None:
        """Go on with some of the cells."""
        self.i, self.j, self.share = self.i[keep], self.j[keep], self.share[keep]
        self.w, self.low = self.w[keep], self.low[keep]

    def probe(self, finest: float) -> float:
        """An upper bound of the answer: the least p standing in some cells of the finest size."""
        first = np.argsort(self.low, kind="stable")[:PROBES]
        large, small = (np.asarray(x[first] * self.size, dtype=np.float64) for x in (self.i, self.j))
        return float(self.least(large, small, finest, self.share[first], self.w[first]).min(initial=NONE))

    def split(self) -> None:
        """Replace each cell by its four quarters, less those where the larger rate is the smaller one."""
        self.size *= 0.5
        i = np.concatenate([2 * self.i, 2 * self.i + 1, 2 * self.i + 1, 2 * self.i])
        j = np.concatenate([2 * self.j, 2 * self.j, 2 * self.j + 1, 2 * self.j + 1])
        keep = i >= j
        self.i, self.j, self.share, self.w = i[keep], j[keep], np.tile(self.share, 4)[keep], np.tile(self.w, 4)[keep]
        large, small = (np.asarray(x * self.size, dtype=np.float64) for x in (self.i, self.j))
        self.low = self.least(large, small, self.size, self.share, self.w)


def judged(solved: int, total: int, n: int, alpha: float) -> tuple[bool, bool]:
    """Whether the guard leaves shares q at which all successes are judged together, and others. Scalars in."""
    low, high = guarded(solved, total, GUARD * alpha)
    from_, to = HARDLY / n, 1.0 - HARDLY / n
    return low < from_ or high > to, max(low, from_) <= min(high, to)


def scarce_from(n: int) -> float:
    """Success rate above which failures are scarce among n trials. Scalar in."""
    least, most = SCARCE
    return 1.0 - min(max(n / 4.0, least), most) / n


def lower_end(k1: int, n1: int, k0: int, n0: int, solved: int, total: int, alpha: float) -> float:
    """Lower end from k1 of n1 and k0 of n0 real successes and `solved` of `total` simulated ones. Scalars in."""
    if k1 + k0 == 0:
        return 0.0
    n = n1 + n0
    together, apart = judged(solved, total, n, alpha)
    pooled = guarded(k1 + k0, n, (1.0 - 2.0 * GUARD) * alpha)[0]
    if not apart:
        return pooled
    if not together:
        pooled = max(pooled, scarce_from(n))
    chance = chances(staircase(k1, n1, k0, n0, solved / total), n1, n0)
    a, b = (guarded(k, m, 0.5 * GUARD * alpha) for k, m in ((k1, n1), (k0, n0)))
    sides = (
        Boxes(chance=chance, rates=(a, b), solved=solved, total=total, n=n, alpha=alpha),
        Boxes(
            chance=lambda large, small: chance(small, large),
            rates=(b, a),
            solved=total - solved,
            total=total,
            n=n,
            alpha=alpha,
        ),
    )
    halvings = 5 + max(0, math.ceil(math.log2(n / 500.0)))
    finest, best = 1.0 / BASE / 2**halvings, pooled
    for level in range(halvings + 1):
        for side in sides:
            best = min(best, side.probe(finest))
        for side in sides:
            side.pick(side.low <= best + SLACK)
            if level < halvings:
                side.split()
    return min(pooled, *(float(side.low.min(initial=1.0)) for side in sides))


def both_ends(y: Floats, f: Floats, solved: int, extra: int, alpha: float) -> tuple[float, float, bool]:
    """(low, high, whether simulation counts) from paired scores y and f in [0, 1], shape (n,), and `solved` of `extra`
    simulated scenarios without a real partner. A scenario is solved from the middle of the range on."""
    first = f >= 0.5
    return _both_ends(y, first, solved, extra, scouted(*_counts(y, first), solved, extra), alpha)


def _counts(y: Floats, first: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """(k1, n1, k0, n0) of real scores y and their strata, both of shape (n,)."""
    if not is_binary(y):
        raise ValueError("strata needs binary real scores at the ends of the range; use blocked")
    n1, k1 = int(first.sum()), int(y[first].sum())
    return k1, n1, int(y.sum()) - k1, y.size - n1


def _both_ends(
    y: Floats, first: NDArray[np.bool_], solved: int, extra: int, party: tuple[int, int], alpha: float
) -> tuple[float, float, bool]:
    """As `both_ends`, from the strata of the pairs. party: how many scouts there are, and how many are solved."""
    (k1, n1, k0, n0), (scouts, seen) = _counts(y, first), party
    if scouts and y.size * min(seen, scouts - seen) < min(FEW, FIFTH * y.size) * scouts:
        return *clopper_pearson_ends(k1 + k0, y.size, alpha), False
    solved, total = n1 + solved - seen, y.size + extra - scouts
    low = lower_end(k1, n1, k0, n0, solved, total, alpha)
    return low, 1.0 - lower_end(n1 - k1, n1, n0 - k0, n0, solved, total, alpha), True


def solved_from(y: Floats, f: Floats, e: Floats) -> tuple[float, Floats]:
    """The simulated score from which on a scenario counts as solved, and the scores of the scouts who say so, shape
    (S,); y, f: shape (n,), e: shape (N,). Without scouts it is the middle of the range; scores of 0 and 1 need none."""
    if is_binary(f) and is_binary(e):
        return 0.5, np.empty(0)
    party = graded_scouts(y, f, e)
    return (float(party.mean()) if party.size else 0.5), party


def strata(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
) -> Interval:
    """Bound on the real success rate; real, sim: shape (n,), paired; extra: shape (N,), N >= 1; in any order.

    Real scores must be binary. Graded simulated ones count as solved from the scouts' mean on, or, where there are too
    few extra scenarios for scouts, from the middle of their range on.
    """
    y, f, e = simulated(real, sim, extra, within, sim_within)
    cut, party = solved_from(y, f, e)
    first, solved = f >= cut, int((e >= cut).sum())
    if party.size:
        met = party.size, int((party >= cut).sum())
        low, high, used = _both_ends(y, first, solved, e.size, met, check_alpha(alpha))
    else:
        low, high, used = both_ends(y, f, solved, e.size, check_alpha(alpha))
    q = (solved + int(first.sum())) / (y.size + e.size)
    split = used and first.any() and not first.all()
    mean = q * y[first].mean() + (1.0 - q) * y[~first].mean() if split else y.mean()
    guess = min(max(float(mean), low), high)
    assumes = (IID, PAIRS, ALIKE, UNFITTED, BINARY, FIXED_N)
    notes: tuple[str, ...] = () if used else (RARE.format(solved, e.size, y.size),)
    if party.size:
        notes = (*notes, CUT.format(sim_within[0] + cut * (sim_within[1] - sim_within[0]), party.size))
    unit = Interval(
        estimate=guess,
        low=low,
        high=high,
        alpha=alpha,
        method="strata",
        guarantee="finite-sample",
        assumes=assumes,
        n=y.size,
        n_extra=e.size,
        notes=notes,
    )
    return stretch(unit, within)
