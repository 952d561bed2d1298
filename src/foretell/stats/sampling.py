"""Which scenarios to run for real next, and a bound that stays valid when they were not chosen evenly.

Scenarios X_1, X_2, ... are put into canonical order (`order`) and each is simulated. Scenario i is run for real with a
probability pi_i that depends on X_i and on earlier scenarios only, by a coin flipped for it alone. Then

    z_i = sim_i + (real_i - sim_i) / pi_i if run for real, else sim_i

has mean mu given the past whatever the simulator and the rule, and lies in [1 - 1/least, 1/least] if no pi_i
is below `least`. So the betting bound applies to z as it stands. The number of real trials is random; its
mean is about the budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.betting import mirrored_ends
from foretell.stats.interval import ALPHA, FIXED_N, HASHED, IID, RANGE, Interval
from foretell.stats.order import by_content
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, scores, stretch, vector

Rule = Literal["uniform", "stratified", "active"]
COINS = "each real trial decided by an independent coin of known probability"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Scenarios to run for real."""

    chosen: NDArray[np.int64]
    """Indices into the pool, ascending, shape (n,)."""
    probability: Floats
    """Chance each scenario of the pool had, shape (N,)."""
    least: float
    """No scenario, also none outside this pool, could have had a smaller chance."""
    rule: Rule
    seed: int
    order: NDArray[np.int64]
    """Order in which scenarios of the pool were weighed, and are bet on, shape (N,)."""


def next_scenarios(
    sim: ArrayLike,
    budget: float,
    *,
    rule: Rule = "uniform",
    uncertainty: ArrayLike | None = None,
    strata: int = 4,
    even: float = 0.5,
    within: Range = UNIT,
    seed: int = 0,
) -> Selection:
    """Flip a coin for each simulated scenario; sim: scores of shape (N,). They are weighed in canonical order.

    uniform: every scenario has the same chance budget / N. stratified: the range of sim scores is cut into
    `strata` equal parts, and those met so far share the real trials evenly, so that rare outcomes are seen.
    active: chances follow `uncertainty`, shape (N,), nonnegative, larger where real and sim may differ. A share
    `even` of the budget is always spread uniformly, which keeps the bound's range finite. Parts and
    uncertainties are weighed by what came before, as validity demands.
    """
    f = scores(sim, "sim", within=within)
    rate = budget / f.size
    if not 0.0 < rate <= 1.0:
        raise ValueError(f"budget must lie in (0, {f.size}], got {budget}")
    if not 0.0 < even <= 1.0:
        raise ValueError(f"even must lie in (0, 1], got {even}")
    order = by_content(f)
    if rule == "uniform":
        boost, even = np.ones(f.size), 1.0
    elif rule == "stratified":
        part = np.minimum((f[order] * strata).astype(int), strata - 1)
        seen = np.zeros((f.size, strata))
        seen[np.arange(f.size), part] = 1.0
        before = np.cumsum(seen, axis=0) - seen
        parts = np.maximum(((before + seen) > 0).sum(axis=1), 1)  # met so far, this one included
        share = (1.0 + before[np.arange(f.size), part]) / (parts + np.arange(f.size))
        boost = 1.0 / (parts * share)
    elif rule == "active":
        if uncertainty is None:
            raise ValueError("rule 'active' needs uncertainty, one value per scenario")
        u = vector(uncertainty, "uncertainty")
        if u.size != f.size or (u < 0.0).any():
            raise ValueError(f"uncertainty must be nonnegative and of shape ({f.size},)")
        u = u[order]
        typical = (0.5 + np.cumsum(u) - u) / (1.0 + np.arange(f.size))
        boost = u / np.maximum(typical, 1e-12)
    else:
        raise ValueError(f"rule must be uniform, stratified or active, got {rule!r}")
    probability = np.empty(f.size)
    probability[order] = np.minimum(rate * (even + (1.0 - even) * boost), 1.0)
    chosen = np.flatnonzero(np.random.default_rng(seed).random(f.size) < probability)
    return Selection(chosen=chosen, probability=probability, least=even * rate, rule=rule, seed=seed, order=order)


def sampled_bound(
    real: ArrayLike,
    sim: ArrayLike,
    selection: Selection,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
) -> Interval:
    """Interval of mean real performance after `next_scenarios`.

    real: shape (n,), scores of `selection.chosen` in that order; sim: shape (N,), scores of the whole pool.
    """
    f = scores(sim, "sim", within=sim_within)
    y = scores(real, "real", within=within)
    pick, pi, least = selection.chosen, selection.probability, selection.least
    if pi.size != f.size or pick.size != y.size:
        raise ValueError(f"expected {pick.size} real and {pi.size} sim scores, got {y.size} and {f.size}")
    z = f.copy()
    z[pick] += (y - f[pick]) / pi[pick]
    floor, ceiling = 1.0 - 1.0 / least, 1.0 / least
    prior = 0.25 / least
    turn = z[selection.order]
    (low, high), _ = mirrored_ends(turn, check_alpha(alpha), z.size, floor=floor, ceiling=ceiling, prior_variance=prior)
    guess = float(np.clip(z.mean(), low, high))
    assumes = (IID, COINS, RANGE, HASHED, FIXED_N)
    extra = f.size - y.size
    unit = Interval(
        estimate=guess,
        low=low,
        high=high,
        alpha=alpha,
        method="sampled_bound",
        guarantee="finite-sample",
        assumes=assumes,
        n=y.size,
        n_extra=extra,
    )
    return stretch(unit, within)
