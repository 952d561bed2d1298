"""Betting bounds in the manner of Waudby-Smith and Ramdas, by root finding instead of a grid.

A gambler who believes the mean to be above m starts with wealth 1 and multiplies it at trial t by
1 + lam_t (z_t - m). The bet lam_t is fixed before z_t is seen and kept so small that wealth stays
positive. If m is the true mean the expected factor is one, so wealth exceeds 2/alpha at any time with
probability at most alpha/2 (Ville). The lower end is the largest m that the gambler has refuted; the
upper end is the mirror image.

Bets here depend on past scores only, except for the solvency cap c / (m - floor_t). Each factor is then
nonincreasing in m, also where the cap binds, because (z - m) / (m - floor) falls in m whenever z >= floor.
So the refuted means form an interval from the bottom of the range, one root per side is enough, and the
end reported is the last multiple of `TOLERANCE` known to be refuted: rounding goes outwards and does not
depend on the search. Bets aim at a rung, not at alpha, which makes intervals nested in alpha (see `rungs`).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.blocked import played
from foretell.stats.interval import (
    ALPHA,
    CONTRADICTION,
    FIXED_N,
    IID,
    OPEN,
    RANGE,
    Horizon,
    Interval,
    check_horizon,
    looked_at,
)
from foretell.stats.order import by_content
from foretell.stats.rungs import Ends, Games, meeting, rungs
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, scores, stretch
from foretell.stats.united import few_valued, united

CAP = 0.99
"""Share of the solvency limit that may be staked; the value used by SureSim."""
TOLERANCE = 2.0**-24
"""Resolution of the ends, in units of the success rate; a power of two, so that multiples are exact."""


def predictable_bets(
    z: Floats,
    aim: float,
    horizon: int | Literal["open"],
    low: float = 0.0,
    high: float = 1.0,
    prior_variance: float | None = None,
) -> Floats:
    """Bets lam_t before the solvency cap, shape (n,), from z of shape (n,) lying in [low, high].

    They are tuned to reach a wealth of 2/aim within `horizon` trials; with an open horizon the bet of trial t is
    that of a horizon t log(1 + t) (Waudby-Smith and Ramdas), which suits every n a little less.

    The running mean starts at the middle of the range and the running variance at a quarter of its square,
    each worth one observation (`prior_variance` replaces the latter). lam_t uses z_1 .. z_{t-1} only.
    """
    weight = np.arange(2, z.size + 2)
    mean = np.cumsum(z)
    mean += 0.5 * (low + high)
    mean /= weight
    variance = np.empty(z.size + 1)
    variance[0] = 0.25 * (high - low) ** 2 if prior_variance is None else prior_variance
    np.cumsum((z - mean) ** 2, out=variance[1:])
    variance[1:] += variance[0]
    variance[1:] /= weight
    t = np.arange(1, z.size + 1)
    planned = t * np.log1p(t) if horizon == OPEN else horizon
    bets: Floats = np.sqrt((2.0 * math.log(2.0 / aim) / planned) / variance[:-1])
    return bets


def peak_log_wealth(m: float, z: Floats, bets: Floats, floor: Floats | float = 0.0, cap: float = CAP) -> float:
    """Largest log wealth over time of the gambler betting on a mean above m; arrays of shape (n,)."""
    wealth = np.minimum(bets, cap / (m - floor))
    wealth *= z - m
    np.log1p(wealth, out=wealth)
    np.cumsum(wealth, out=wealth)
    return float(wealth.max())


def lower_end(z: Floats, bets: Floats, alpha: float, floor: Floats | float = 0.0, cap: float = CAP) -> float:
    """Largest multiple of `TOLERANCE` in [0, 1] refuted from below; z, bets and floor of shape (n,).

    z_t >= floor_t, floor_t <= 0, and z_t has conditional mean mu in [0, 1] given the past. Secant steps on
    the bracket, with a bisection whenever one failed to halve it.
    """
    goal = math.log(2.0 / alpha)

    def excess(k: int) -> float:
        return peak_log_wealth(k * TOLERANCE, z, bets, floor, cap) - goal

    refuted, standing = 1, round(1.0 / TOLERANCE)
    above = excess(refuted)
    if above < 0.0:
        return 0.0
    below = excess(standing)
    if below >= 0.0:  # every mean in the range is refuted: chance at most alpha/2 when the assumptions hold
        return 1.0
    bisect = False
    while standing - refuted > 1:
        size = standing - refuted
        share = 0.5 if bisect else above / (above - below)
        guess = refuted + int(size * min(max(share, 1e-3), 1.0 - 1e-3))
        guess = min(max(guess, refuted + 1), standing - 1)
        value = excess(guess)
        if value >= 0.0:
            refuted, above = guess, value
        else:
            standing, below = guess, value
        bisect = 2 * (standing - refuted) > size
    return refuted * TOLERANCE


def nested_end(z: Floats, bets: Floats, games: Games, floor: Floats | float = 0.0, cap: float = CAP) -> float:
    """Smallest `lower_end` over the games; z, floor and the bets of the first game of shape (n,)."""
    first = math.log(2.0 / games[0][1])
    low = lower_end(z, bets, games[0][0], floor, cap)
    for level, aim in games[1:]:
        if low == 0.0:
            break
        lam = bets * math.sqrt(math.log(2.0 / aim) / first)
        if peak_log_wealth(low, z, lam, floor, cap) < math.log(2.0 / level):  # rare: refuted at alpha, not here
            low = min(low, lower_end(z, lam, level, floor, cap))
    return low


def mirrored_ends(
    z: Floats,
    alpha: float,
    horizon: int | Literal["open"],
    low: float = 0.0,
    high: float = 1.0,
    floor: Floats | float = 0.0,
    ceiling: Floats | float = 1.0,
    cap: float = CAP,
    prior_variance: float | None = None,
    share: float = 1.0,
) -> tuple[Ends, float]:
    """((low, high), level) of the mean mu in [0, 1] of z, shape (n,), with z_t in [floor_t, ceiling_t].

    [low, high] is the nominal range used to scale the bets; the gambler on the other side plays 1 - z.
    share: part that `alpha` is of a divided level. level: as in `blocked.both_ends`.
    """

    def at(level: float) -> Ends:
        games = rungs(level, share)
        bets = predictable_bets(z, games[0][1], horizon, low, high, prior_variance)
        return nested_end(z, bets, games, floor, cap), 1.0 - nested_end(1.0 - z, bets, games, 1.0 - ceiling, cap)

    ends, level = meeting(at, alpha)
    return (0.0, 1.0) if ends is None else ends, level


def betting(
    real: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    horizon: Horizon = None,
    shuffled: bool = False,
    cap: float = CAP,
) -> Interval:
    """Hedged capital interval of the mean of real scores, shape (n,).

    horizon: the number of trials planned before the first look, or "open": scores then stand as run, and the interval
    is anytime-valid. Without it scores are taken in canonical order (`order`), for a single look, and where they have
    few values in several (`united`), because the array may be sorted. shuffled: its order cannot follow outcomes.
    """
    horizon = check_horizon(horizon)
    z = scores(real, "real", within=within)
    if horizon is None and not shuffled and few_valued(z):
        return united(partial(betting, cap=cap), real, alpha, within)
    z = z[by_content(z)] if horizon is None else z
    (low, high), level = mirrored_ends(z, check_alpha(alpha), horizon or z.size, cap=cap)
    estimate = float(np.clip(z.mean(), low, high))
    assumes = (IID, RANGE, *looked_at(horizon))
    notes = () if level == alpha else (CONTRADICTION.format(level),)
    anytime = horizon is not None
    unit = Interval(
        estimate=estimate,
        low=low,
        high=high,
        alpha=alpha,
        method="betting",
        guarantee="finite-sample",
        assumes=assumes,
        n=z.size,
        n_extra=0,
        reason=None,
        anytime=anytime,
        contradiction=None if level == alpha else level,
        notes=notes,
    )
    return stretch(unit, within)


def star(
    real: ArrayLike, alpha: float = ALPHA, *, within: Range = UNIT, horizon: Horizon = None, shuffled: bool = False
) -> Interval:
    """Interval of the mean of real scores, shape (n,), by bets that re-aim at the missing wealth every trial.

    The same game as `blocked` without a control (see there for validity, `horizon` and `shuffled`). Usually narrower
    than `betting`.
    """
    y = scores(real, "real", within=within)
    if horizon is None and not shuffled and few_valued(y):
        return united(star, real, alpha, within)
    y = y[by_content(y)] if horizon is None else y
    nothing = np.zeros_like(y)
    return stretch(played(y, nothing, nothing, alpha, horizon, "star", (IID, RANGE)), within)


def hoeffding(real: ArrayLike, alpha: float = ALPHA, *, within: Range = UNIT) -> Interval:
    """Hoeffding's interval of the mean of real scores, shape (n,): uses the range and nothing else."""
    y = scores(real, "real", within=within)
    half = math.sqrt(math.log(2.0 / check_alpha(alpha)) / (2.0 * y.size))
    mean = float(y.mean())
    low, high = max(0.0, mean - half), min(1.0, mean + half)
    unit = Interval(
        estimate=mean,
        low=low,
        high=high,
        alpha=alpha,
        method="hoeffding",
        guarantee="finite-sample",
        assumes=(IID, RANGE, FIXED_N),
        n=y.size,
    )
    return stretch(unit, within)
