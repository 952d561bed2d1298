"""Is one policy not worse than another by more than a margin? Intervals of the difference, a decision, a forecast.

The candidate passes where the whole interval of its mean less that of the base lies above minus the margin, and fails
where the whole interval lies below. Each end of an interval misses with a chance of at most alpha / 2. So a candidate
that is worse by the margin or more passes with at most that chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from foretell.stats.binomial import newcombe, newcombe_paired, z_value
from foretell.stats.budget import MOST, reach, smallest
from foretell.stats.evidence import paired_betting
from foretell.stats.interval import ALPHA, Horizon, Interval
from foretell.stats.order import by_content
from foretell.stats.paired import paired_difference, table
from foretell.stats.partial import betting_difference
from foretell.stats.robustness import mean_of, put_together
from foretell.stats.scores import Floats, is_binary

__all__ = [
    "EXACT",
    "MARGIN",
    "POWER",
    "Passing",
    "Rivals",
    "decide_margin",
    "difference",
    "pooled",
    "trials_for_margin",
]

MARGIN = 0.05
"""How much worse a candidate may be, as a share of the range of the score."""
POWER = 0.8
"""Chance of a decision that forecasts aim at."""
EXACT = 1000
"""Common scenarios up to which intervals of success are exact: 0.05 s for 800 of them."""

Passing = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """Scores in [0, 1] of a candidate and a base on one task."""

    candidate: Floats
    """Shape (n,)."""
    base: Floats
    """Shape (m,); if paired the same n scenarios in the same order."""
    paired: bool
    sims: tuple[Floats, Floats] | None = None
    """Simulated scores of candidate and base on the n scenarios; they are then paired."""
    extras: tuple[Floats, Floats] | None = None
    """Simulated scores of both on N further scenarios."""

    @property
    def size(self) -> int:
        """Scenarios of the policy that has fewer."""
        return min(self.candidate.size, self.base.size)

    @property
    def binary(self) -> bool:
        return is_binary(self.candidate) and is_binary(self.base)

    @property
    def variance(self) -> float:
        """Of a scenario's difference (unpaired: of both scores together), never quite zero: two scenarios are added, in
        which one policy or the other does better by one."""
        if self.paired:
            gaps = np.concatenate([self.candidate - self.base, [1.0, -1.0]])
            return float(gaps.var())
        padded = (np.concatenate([side, [0.0, 1.0]]) for side in (self.candidate, self.base))
        return float(sum(side.var() for side in padded))

    @property
    def correlation(self) -> float:
        """Of the real difference with the simulated one; 0 without simulation."""
        if self.sims is None:
            return 0.0
        gaps = self.candidate - self.base, self.sims[0] - self.sims[1]
        return float(np.corrcoef(*gaps)[0, 1]) if min(map(np.ptp, gaps)) > 1e-12 else 0.0


def difference(rivals: Rivals, alpha: float = ALPHA, *, horizon: Horizon = None, shuffled: bool = False) -> Interval:
    """Interval of the candidate's mean less the base's on one task.

    Successes: exact (`paired_difference`) up to `EXACT` common scenarios, Newcombe's paired score interval above, and
    Newcombe's where scenarios are not common. Partial credit: bets. horizon and shuffled: as in `bounds.bound`.
    """
    x, y = rivals.candidate, rivals.base
    if rivals.sims is not None and rivals.extras is not None:
        return paired_betting(x, y, *rivals.sims, *rivals.extras, alpha=alpha, shuffled=shuffled).interval
    if horizon is None and rivals.binary:
        if rivals.paired:
            return (paired_difference if x.size <= EXACT else newcombe_paired)(*table(x, y), alpha)
        return newcombe(int(x.sum()), x.size, int(y.sum()), y.size, alpha)
    if not rivals.paired:
        if horizon is None:
            x, y = x[by_content(x)], y[by_content(y)]
        x, y = x[: rivals.size], y[: rivals.size]
    if horizon is None:
        return betting_difference(x, y, alpha, shuffled=shuffled)
    return paired_betting(x, y, alpha=alpha, horizon=horizon, shuffled=shuffled).interval


def pooled(
    tasks: Sequence[Rivals], alpha: float = ALPHA, *, horizon: Horizon = None, shuffled: bool = False
) -> Interval:
    """Interval of the mean over tasks of their differences, each task alike.

    With a horizon or simulation the k-th scenarios of all tasks make one draw, and bets are placed on draws: that holds
    for every n. Otherwise tasks with equally many successes are counted together, and reaches of others squared and
    added (`robustness.mean_of`).
    """
    if len(tasks) == 1:
        return difference(tasks[0], alpha, horizon=horizon, shuffled=shuffled)
    if horizon is not None or all(task.extras is not None for task in tasks):
        return difference(_drawn_together(tasks), alpha, horizon=horizon, shuffled=shuffled)
    sizes = {(task.candidate.size, task.base.size, task.paired, task.binary) for task in tasks}
    if len(sizes) == 1 and tasks[0].binary:
        sides = (np.concatenate([getattr(task, side) for task in tasks]) for side in ("candidate", "base"))
        candidate, base = sides
        return put_together(difference(Rivals(candidate=candidate, base=base, paired=tasks[0].paired), alpha))
    return mean_of([difference(task, alpha, shuffled=shuffled) for task in tasks])


def _drawn_together(tasks: Sequence[Rivals]) -> Rivals:
    """The k-th scenarios of all tasks as one: independent draws of the mean over tasks. Later ones are left out."""

    def mean(columns: Sequence[Floats]) -> Floats:
        least = min(column.size for column in columns)
        return np.asarray(np.mean([column[:least] for column in columns], axis=0))

    def both(pairs: Sequence[tuple[Floats, Floats] | None]) -> tuple[Floats, Floats] | None:
        known = [pair for pair in pairs if pair is not None]
        if len(known) < len(pairs):
            return None
        return mean([pair[0] for pair in known]), mean([pair[1] for pair in known])

    return Rivals(
        candidate=mean([task.candidate for task in tasks]),
        base=mean([task.base for task in tasks]),
        paired=all(task.paired for task in tasks),
        sims=both([task.sims for task in tasks]),
        extras=both([task.extras for task in tasks]),
    )


def decide_margin(interval: Interval, margin: float = MARGIN) -> Passing:
    """pass where the interval lies above -margin, fail where it lies below; contradictory trials decide nothing."""
    if interval.contradiction is not None:
        return "undecided"
    if interval.low is not None and interval.low > -margin:
        return "pass"
    return "fail" if interval.high is not None and interval.high < -margin else "undecided"


def trials_for_margin(
    tasks: Sequence[Rivals],
    true: float,
    margin: float = MARGIN,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
    bets: bool = False,
) -> int | None:
    """Scenarios of every task after which a true difference of the mean is decided with a chance of `power`.

    A forecast from the variance so far. None where it takes more than a million, as at a difference of just -margin.
    bets: whether the interval comes from bets.
    """
    gap = abs(true + margin)
    variance = sum(task.variance for task in tasks) / len(tasks) ** 2
    correlation = float(np.mean([task.correlation for task in tasks]))
    extra = min((task.extras[0].size for task in tasks if task.extras is not None), default=0)
    z = z_value(2.0 * (1.0 - power))
    if not bets:
        need = variance * ((z_value(alpha) + z) / gap) ** 2 if gap > 0.0 else math.inf
        return math.ceil(need) if need <= MOST else None

    def decided(n: int) -> bool:
        centre = 0.5 * (1.0 + (true if true > -margin else -true))
        share = extra / (extra + n)
        half = 2.0 * reach(n, centre, 0.25 * variance, max(correlation, 0.0), share, alpha / 2.0)
        spread = math.sqrt(variance * (1.0 - correlation**2 * share) / n)
        return half + z * spread <= gap

    return smallest(decided) if gap > 0.0 else None
