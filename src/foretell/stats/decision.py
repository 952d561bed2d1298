"""What picking a policy by simulation costs: regret, short lists, ties, and how far the claim reaches.

Simulation picks policy w (one, or several that tie), and its regret is max_j mean_j - mean_w of the true real means.
Regret is never negative and turns sharply where the best policies are level, so resampling the trials misses it: a
resample has its own best policy, and a regret of 0 is an end of the range. Here every difference of two real means is
bounded instead.

1. *Upper end.* Let b be the policy that is truly best, the first of them if several are. It is fixed, though unknown.
   Take upper bounds A[j, i] of mean_j - mean_i at level alpha / 2 / (P - 1) each. With probability 1 - alpha / 2 all
   P - 1 bounds A[b, i] hold. Then max_j A[j, w] >= A[b, w] >= regret of w, for every w at once. So w may be picked by
   any means: by simulation on the same scenarios, or by the real trials themselves. There is no price for the P (P - 1)
   pairs, because one of the two is always b.
2. *Ties.* Policy i is left out of those that may be the best if A[i, j] < 0 for some j. On the same event b stays.
3. *Lower end.* The same bounds at level alpha / 2 / (P (P - 1)) each, with their signs turned: all hold with
   probability 1 - alpha / 2, and the regret of w is at least the largest lower bound of mean_j - mean_w.

All statements of one `Decision` hold together with probability 1 - alpha, but for those on fewer policies (`without`),
of which each holds by itself: another policy may be the best of the rest. They are as good as the bounds of the pairs:
`finite-sample` for successes (`pairwise`). `python -m foretell.stats.coverage --decisions` shows how often they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.claim import Claim, claim
from foretell.stats.interval import ALPHA, BINARY, FIXED_N, IID, Interval
from foretell.stats.paired import SAME
from foretell.stats.pairwise import Trials, ahead, trials
from foretell.stats.scores import Floats, check_alpha

__all__ = ["Decision", "Shortlist", "Shown", "decide"]

Shown = Literal["yes", "no", "open"]
"""Whether the trials show a statement, show the opposite, or leave it open."""
JOINTLY = "all statements of a decision hold together at the stated level, however simulation and reality are related"
UNRELATED = "real trials of different policies independent, or positively related as on common scenarios"
UNKNOWN = "the number of real trials (n_real) is not given, so their error is unknown"
TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Shortlist:
    """The k best policies in simulation, tried for real: the one that does best there is taken."""

    k: int
    members: tuple[int, ...]
    """Best in simulation first; more than k where simulated values tie at the last place."""
    picks: tuple[int, ...]
    """Best in the real trials among the members; several where they tie."""
    has_best: bool
    """Whether a policy that did best in the real trials is a member."""
    shown: Shown
    """Whether the truly best policy is shown to be a member."""
    regret: Interval


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Picking by simulation; policies are numbers, in the order given."""

    picks: tuple[int, ...]
    """Best in simulation; several where they tie. One of them is taken at random."""
    winners: tuple[int, ...]
    """Best in the real trials."""
    agrees: bool
    """Whether every pick is one of the winners."""
    shown: Shown
    """Whether the pick is shown to be truly the best in reality: yes if no other may be, no if its regret has a lower
    end above 0."""
    regret: Interval
    """Loss of real success by the pick, against the truly best policy."""
    shortlists: tuple[Shortlist, ...]
    maybe_best: tuple[int, ...] | None
    """Policies that the real trials leave as possibly the best; None where the error of the trials is unknown."""
    maybe_best_sim: tuple[int, ...] | None
    """The same in simulation, at the same level, by itself."""
    without: tuple[Interval, ...]
    """Regret without each policy in turn, each with an interval of its own; empty for two policies."""
    claim: Claim


def _top(values: Floats, among: Sequence[int] | None = None) -> tuple[int, ...]:
    chosen = range(values.size) if among is None else among
    most = max(values[i] for i in chosen)
    return tuple(i for i in chosen if values[i] >= most - TINY)


def _ranked(chosen: NDArray[np.bool_], values: Floats) -> tuple[int, ...]:
    """Numbers of the chosen policies, best first; chosen: bool, shape (P,)."""
    order = np.argsort(-values, kind="stable")
    return tuple(int(i) for i in order if chosen[i])


def _maybe_best(bound: Floats, means: Floats) -> tuple[int, ...]:
    return _ranked(np.asarray((bound >= -TINY).all(axis=1)), means)


def _regret(
    given: Trials,
    picks: Sequence[int],
    bounds: tuple[Floats, Floats] | None,
    alpha: float,
    among: Sequence[int] | None = None,
) -> Interval:
    """Mean regret of the picks; bounds: upper and lower bounds of all differences, shape (P, P) each. `among`: the
    policies that there are; None: all of them."""
    rest = list(range(given.means.size) if among is None else among)
    lost = float(given.means[rest].max() - given.means[list(picks)].mean())
    low = high = None
    if bounds is not None:
        over, under = (bound[np.ix_(rest, picks)].max(axis=0) for bound in bounds)
        high = max(float(np.maximum(over, 0.0).mean()), lost)
        low = min(float(np.maximum(under, 0.0).mean()), lost)
    return Interval(
        estimate=lost,
        low=low,
        high=high,
        alpha=alpha,
        method=f"regret, {given.method}",
        guarantee=given.guarantee,
        assumes=(*_assumes(given), *((JOINTLY,) if among is None else ())),
        n=len(rest),
        reason=None if bounds is not None else UNKNOWN,
    )


def _assumes(given: Trials) -> tuple[str, ...]:
    binary = (BINARY,) if given.binary else ()
    return (IID, *binary, FIXED_N, SAME if given.paired else UNRELATED)


def _bounds(given: Trials, alpha: float) -> tuple[Floats, Floats] | None:
    if not given.known:
        return None
    others = given.means.size - 1
    return ahead(given, alpha / 2.0 / others), -ahead(given, alpha / 2.0 / (others * (others + 1))).T


def decide(
    real: ArrayLike,
    sim: ArrayLike,
    *,
    n_real: ArrayLike | None = None,
    n_sim: ArrayLike | None = None,
    real_outcomes: Sequence[ArrayLike] | None = None,
    sim_outcomes: Sequence[ArrayLike] | None = None,
    same: bool = False,
    runs: Sequence[str] | None = None,
    top: Sequence[int] = (3,),
    alpha: float = ALPHA,
    seed: int = 0,
) -> Decision:
    """What picking by simulation costs; real, sim: shape (P,), one mean per policy, P >= 2, larger is better.

    Trials are counts (n_real, n_sim: shape (P,), successes) or scores (P arrays); `same`: the i-th score of every
    policy is of one scenario. `runs`: the training run that each policy comes from; a claim about the next policy
    counts runs, not their checkpoints. `top`: sizes of the short lists, each from 1 to P. Without n_real or
    real_outcomes there are estimates and no intervals.
    """
    check_alpha(alpha)
    tried = trials(real, n_real, real_outcomes, same, "real")
    simulated = trials(sim, n_sim, sim_outcomes, same, "sim")
    size = tried.means.size
    if simulated.means.size != size:
        raise ValueError(f"real and sim must list the same policies, got {size} and {simulated.means.size}")
    for k in top:
        if not 1 <= k <= size:
            raise ValueError(f"top must be from 1 to the number of policies, {size}, got {k}")
    bounds = _bounds(tried, alpha)
    best = None if bounds is None else _maybe_best(bounds[0], tried.means)
    best_sim = None
    if simulated.known:
        best_sim = _maybe_best(ahead(simulated, alpha / 2.0 / (size - 1)), simulated.means)
    picks, winners = _top(simulated.means), _top(tried.means)
    loss = _regret(tried, picks, bounds, alpha)
    lists = []
    for k in top:
        least = np.sort(simulated.means)[-k]
        members = _ranked(simulated.means >= least - TINY, simulated.means)
        taken = _top(tried.means, members)
        lists.append(
            Shortlist(
                k=k,
                members=members,
                picks=taken,
                has_best=any(i in members for i in winners),
                shown=_shown(best, members),
                regret=_regret(tried, taken, bounds, alpha),
            )
        )
    rests = [[j for j in range(size) if j != i] for i in range(size)] if size > 2 else []
    return Decision(
        picks=picks,
        winners=winners,
        agrees=set(picks) <= set(winners),
        shown="yes" if best == picks and len(picks) == 1 else "no" if loss.low else "open",
        regret=loss,
        shortlists=tuple(lists),
        maybe_best=best,
        maybe_best_sim=best_sim,
        without=tuple(_regret(tried, _top(simulated.means, rest), bounds, alpha, rest) for rest in rests),
        claim=claim(tried, simulated, loss, bounds, picks, runs=runs, alpha=alpha, seed=seed),
    )


def _shown(best: tuple[int, ...] | None, members: Sequence[int]) -> Shown:
    if best is None:
        return "open"
    inside = set(best) & set(members)
    return "yes" if inside == set(best) else "open" if inside else "no"
