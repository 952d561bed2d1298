"""Tests of one policy against another: Fisher, McNemar, and a betting test that may stop at any time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.barnard import Alternative
from foretell.stats.binomial import check_counts
from foretell.stats.blocked import CAP, CONTROLLED, PRIOR_TRIALS, Gambler, in_turn, planned, played
from foretell.stats.family import LEAN, Expected
from foretell.stats.interval import ALPHA, HASHED, IID, RANGE, SHUFFLED, Horizon, Interval, check_horizon
from foretell.stats.order import by_content, several
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, scores
from foretell.stats.uncontrolled import SLACK
from foretell.stats.united import few_valued, hull

NAME = "paired_betting"


def fisher(successes_a: int, n_a: int, successes_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """p-value of Fisher's exact test on two independent counts. Scalars in."""
    from scipy.stats import fisher_exact

    (ka, na), (kb, nb) = check_counts(successes_a, n_a), check_counts(successes_b, n_b)
    return float(fisher_exact(np.array([[ka, kb], [na - ka, nb - kb]]), alternative=alternative).pvalue)


def mcnemar(only_a: int, only_b: int, alternative: Alternative = "two-sided") -> float:
    """p-value of the exact McNemar test; counts of scenarios solved by a alone and by b alone. Scalars in."""
    from scipy.special import bdtr, bdtrc  # a hundred times faster than scipy.stats.binomtest

    if min(only_a, only_b) < 0:
        raise ValueError(f"counts must be >= 0, got {only_a} and {only_b}")
    if only_a + only_b == 0:
        return 1.0
    n = only_a + only_b
    if alternative == "two-sided":
        return min(1.0, 2.0 * float(bdtr(min(only_a, only_b), n, 0.5)))
    if alternative == "less":
        return float(bdtr(only_a, n, 0.5))
    return float(bdtrc(only_a - 1, n, 0.5)) if only_a else 1.0


@dataclass(frozen=True)
class Evidence:
    """Outcome of the betting test of mean(a) = mean(b)."""

    e_value: float
    """Wealth after the last trial (two-sided: mean of both gamblers); at most one on average without a difference.
    Where several orders are tested, the smallest of theirs."""
    p_value: float
    """One over the largest wealth on the way. May be read after every trial if a horizon was given."""
    decided_at: int | None
    """Number of trials after which the aim was reached, or None."""
    interval: Interval
    """Interval of mean(a) - mean(b)."""


def _difference(a: ArrayLike, b: ArrayLike, name: str, within: Range) -> Floats:
    """(1 + a - b) / 2 in [0, 1] for scores of shape (n,) on the same scenarios."""
    x, y = scores(a, f"{name}_a", within=within), scores(b, f"{name}_b", within=within)
    if x.size != y.size:
        raise ValueError(f"{name}_a and {name}_b must list the same scenarios, got {x.size} and {y.size}")
    out: Floats = 0.5 * (1.0 + x - y)
    return out


def _run(
    y: Floats, c: Floats, g: Floats, level: float, horizon: int | Literal["open"]
) -> tuple[float, float, int | None]:
    """Peak and last log wealth at m = 1/2, and the trial at which it met log(1/level)."""
    if not g.any():
        return _alone(y, level, horizon)
    gambler = Gambler(np.array([0.5]), 2.0 * level, horizon)
    peak = 0.0
    for t in range(y.size):
        gambler.update(float(y[t]), float(c[t]), float(g[t]))
        peak = max(peak, float(gambler.log_wealth[0]))
        if gambler.refuted[0]:  # it bets no more
            return peak, float(gambler.log_wealth[0]), t + 1
    return peak, float(gambler.log_wealth[0]), None


def _alone(y: Floats, level: float, horizon: int | Literal["open"]) -> tuple[float, float, int | None]:
    """`_run` where no trial has a control: the same bets as those of `Gambler`, number by number and bit by bit. Arrays
    of one number cost twenty times as much. The logarithm is that of numpy, which may round unlike that of `math`."""
    log1p, sqrt, half = np.log1p, math.sqrt, 0.5
    goal = float(np.log(2.0 / (2.0 * level)))
    wealth = peak = total = squares = 0.0
    limit = CAP / half
    for t, score in enumerate(y.tolist()):
        moment = squares + half * ((PRIOR_TRIALS - 2.0 * total) + half * (t - PRIOR_TRIALS))
        need = (goal - wealth) / planned(t, horizon)
        bet = min(sqrt(2.0 * need / (moment / (PRIOR_TRIALS + t))), limit)
        wealth += float(log1p(bet * (score - half)))
        peak = max(peak, wealth)
        if wealth >= goal - SLACK:  # it bets no more
            return peak, wealth, t + 1
        total += score
        squares += score * score
    return peak, wealth, None


def paired_betting(
    real_a: ArrayLike,
    real_b: ArrayLike,
    sim_a: ArrayLike | None = None,
    sim_b: ArrayLike | None = None,
    extra_a: ArrayLike | None = None,
    extra_b: ArrayLike | None = None,
    *,
    alpha: float = ALPHA,
    aim: float | None = None,
    alternative: Alternative = "two-sided",
    expected: Expected | None = None,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    horizon: Horizon = None,
    shuffled: bool = False,
) -> Evidence:
    """Betting test on scenarios met by both policies, with simulation as control if given.

    real_a, real_b, sim_a, sim_b: shape (n,), the same scenarios in the same order; extra_a, extra_b: shape
    (N,), both policies simulated on the same further scenarios. The difference of scores lies in [-1, 1] and
    is handled as `blocked` handles a score, at the single candidate "no difference". Bets aim at a p-value of
    `aim` (default alpha) and stop there: set it lower when many tests are to be adjusted. `expected` gives the share
    `LEAN` of a two-sided test to one direction; like everything else it must not come from the trials tested. With a
    horizon (as in `bounds.bound`) the result may be read after every trial; without, it is for a single look. shuffled:
    as in `bounds.bound`. Without simulation rows are then taken as given. Otherwise they are put into canonical order,
    and where differences have few values several orders are tested.
    """
    y = _difference(real_a, real_b, "real", within)
    given = [x is not None for x in (sim_a, sim_b, extra_a, extra_b)]
    if any(given) and not all(given):
        raise ValueError("simulation as control needs all of sim_a, sim_b, extra_a and extra_b")
    check_alpha(alpha)
    horizon = check_horizon(horizon)
    size = within[1] - within[0]
    if sim_a is not None and sim_b is not None and extra_a is not None and extra_b is not None:
        f, e = (
            _difference(sim_a, sim_b, "sim", sim_within),
            _difference(extra_a, extra_b, "extra", sim_within),
        )
        if f.size != y.size:
            raise ValueError(f"real and sim must pair one to one, got {y.size} and {f.size} values")
        few = horizon is None and not shuffled and few_valued(y, f)
        orders = zip(several(y, f), several(e), strict=True) if few else ()
        games = [in_turn(y[i], f[i], e[j], y.size) for i, j in orders] or [in_turn(y, f, e, horizon)]
        assumes: tuple[str, ...] = CONTROLLED
        extra = e.size
    else:
        few = horizon is None and not shuffled and few_valued(y)
        nothing = np.zeros_like(y)
        y = y[by_content(y)] if horizon is None and not shuffled else y
        games = [(y[i], nothing, nothing) for i in several(y)] if few else [(y, nothing, nothing)]
        assumes, extra = (IID, RANGE), 0
    goal = check_alpha(alpha if aim is None else aim)
    lean = {"greater": LEAN, "less": 1.0 - LEAN, None: 0.5}[expected]
    shares = {"greater": lean, "less": 1.0 - lean} if alternative == "two-sided" else {alternative: 1.0}
    # rows without names that differ too little: the largest p-value and the smallest e-value of several orders
    made = [_wagered(rows, shares, goal, horizon) for rows in games]
    plan = y.size if few else horizon
    intervals = [played(*rows, alpha, plan, NAME, assumes, extra) for rows in games]
    unit = hull(intervals) if few else intervals[0]
    if shuffled and horizon is None and not extra:
        unit = replace(unit, assumes=tuple({HASHED: SHUFFLED}.get(word, word) for word in unit.assumes))
    late = [when for *_, when in made]
    times = None if None in late else max(when for when in late if when is not None)
    return Evidence(min(e for e, _, _ in made), max(p for _, p, _ in made), times, _doubled(unit, size))


def _wagered(
    rows: tuple[Floats, Floats, Floats], shares: Mapping[Any, float], goal: float, horizon: Horizon
) -> tuple[float, float, int | None]:
    """e-value, p-value and when the goal was met, of rows (y, c, g) in the order bet on. shares: of each direction."""
    y, c, g = rows
    sides = {"greater": (y, c), "less": (1.0 - y, -c)}
    runs = [(part, *_run(*sides[side], g, part * goal, horizon or y.size)) for side, part in shares.items()]
    times = [when for *_, when in runs if when is not None]
    e_value = sum(part * math.exp(last) for part, _, last, _ in runs)
    p_value = min(1.0, *(math.exp(-peak) / part for part, peak, _, _ in runs))
    return e_value, p_value, min(times, default=None)


def _doubled(unit: Interval, size: float) -> Interval:
    """Interval of (1 + d) / 2 turned into one of d, in units of the score's range."""

    def back(x: float | None) -> float | None:
        return None if x is None else size * (2.0 * x - 1.0)

    estimate = size * (2.0 * unit.estimate - 1.0)
    return replace(unit, estimate=estimate, low=back(unit.low), high=back(unit.high))
