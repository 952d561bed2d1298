"""Bets on partial credit of two policies on the same scenarios: intervals of the difference and the ratio of means.

For a candidate s in (0, 1) and scores a, b in [0, 1] of a scenario, a (1 - s) - b s lies in [-s, 1 - s]. Its mean is 0
where s = mean(a) / (mean(a) + mean(b)), and at most 0 for every s above. A gambler who bets on a mean above 0 starts
with wealth one, multiplies it by 1 + bet * (a (1 - s) - b s), with bets fixed from the scenarios before and below 1/s,
and so keeps it positive. Where the mean is at most 0 the wealth reaches 2/alpha with probability at most alpha/2
(Ville). The lower end of s is the last candidate refuted from the bottom without a gap: it lies above the truth only if
one fixed candidate, the first at or above the truth, was refuted. The upper end mirrors it. So the interval of s covers
for every n, and with it that of the ratio, s / (1 - s). For the difference a is (1 + difference) / 2 and b the rest.

Bets are those of `blocked` without a control. They expect scores of the two to differ less than they could (`PRIOR`),
which decides widths only. Files are often sorted by outcome, so scenarios are put into canonical order (`order`) first.
Where scores have few values one order will not do, and the interval is the hull over several (`united`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.blocked import CAP, PRIOR_TRIALS, UNSURE, candidates
from foretell.stats.interval import ALPHA, CONTRADICTION, FIXED_N, HASHED, IID, RANGE, UNITED, Interval
from foretell.stats.order import by_content, several
from foretell.stats.paired import SAME
from foretell.stats.rungs import Ends, meeting
from foretell.stats.scores import Floats, check_alpha, scores
from foretell.stats.uncontrolled import CELLS, LENGTH, SLACK
from foretell.stats.united import few_valued

__all__ = ["betting_difference", "betting_ratio", "matched"]

PRIOR = 0.4
"""Share of the largest variance that bets expect; 0.4 made intervals 10 to 20 % narrower than 1 with 3 or 5 trials."""
ASSUMES = (IID, RANGE, SAME)


def betting_difference(a: ArrayLike, b: ArrayLike, alpha: float = ALPHA, *, shuffled: bool = False) -> Interval:
    """Interval of mean(a) - mean(b), scores in [0, 1] on the same scenarios, both of shape (n,). shuffled: as in
    `bounds.bound`."""
    x, y = matched(a, b)
    up, down = 0.5 * (1.0 + x - y), 0.5 * (1.0 + y - x)
    few = not shuffled and few_valued(up)
    orders = several(up) if few else [by_content(up)]

    def at(level: float) -> Ends:
        low = min(_refuted(up[i], down[i], level) for i in orders)
        mirrored = min(_refuted(down[i], up[i], level) for i in orders)
        return 2.0 * low - 1.0, 1.0 - 2.0 * mirrored

    ends, level = meeting(at, check_alpha(alpha))
    low, high = (-1.0, 1.0) if ends is None else ends
    value = float(np.clip(x.mean() - y.mean(), low, high))
    notes = () if level == alpha else (CONTRADICTION.format(level),)
    return Interval(
        estimate=value,
        low=low,
        high=high,
        alpha=alpha,
        method="betting_difference",
        guarantee="finite-sample",
        assumes=(*ASSUMES, UNITED if few else HASHED, FIXED_N),
        n=x.size,
        contradiction=None if level == alpha else level,
        notes=notes,
    )


def betting_ratio(a: ArrayLike, b: ArrayLike, alpha: float = ALPHA, *, shuffled: bool = False) -> Interval:
    """Interval of mean(a) / mean(b), scores in [0, 1] on the same scenarios, both of shape (n,); mean(b) above 0.

    The upper end is missing where mean(b) may be 0. shuffled: as in `bounds.bound`.
    """
    x, y = matched(a, b)
    if not y.any():
        raise ValueError("b is 0 in every scenario: there is no ratio")
    few = not shuffled and few_valued(x, y)
    sides = sorted((x, y), key=lambda side: (np.sort(side).tobytes() if few else b"", side.tobytes()))
    orders = several(*sides) if few else [by_content(*sides)]  # the same for b over a
    low, inverse = (min(_refuted(a[i], b[i], alpha) for i in orders) for a, b in ((x, y), (y, x)))
    value = float(x.mean() / y.mean())
    # far from 1 the candidates are coarser than the data may be: the estimate is always within
    high = max((1.0 - inverse) / inverse, value) if inverse > 0.0 else None
    return Interval(
        estimate=value,
        low=min(low / (1.0 - low), value),
        high=high,
        alpha=alpha,
        method="betting_ratio",
        guarantee="finite-sample",
        assumes=(*ASSUMES, UNITED if few else HASHED, FIXED_N),
        n=x.size,
    )


def matched(a: ArrayLike, b: ArrayLike, names: tuple[str, str] = ("a", "b")) -> tuple[Floats, Floats]:
    """Scores in [0, 1] of equal shape (n,), or an error that calls them by these names."""
    x, y = scores(a, names[0]), scores(b, names[1])
    if x.shape != y.shape:
        raise ValueError(f"{names[0]} and {names[1]} must pair one to one, got {x.size} and {y.size} values")
    return x, y


def _refuted(a: Floats, b: Floats, alpha: float) -> float:
    """The last candidate s refuted from the bottom without a gap; 0.0 if none is. a and b: shape (n,)."""
    goal = math.log(2.0 / check_alpha(alpha))
    s = candidates()
    sums = [np.concatenate([[0.0], np.cumsum(product)[:-1]])[:, None] for product in (a * a, a * b, b * b)]
    refuted = 0
    for part in _parts(s, a, b, goal):
        fell = _fallen(part, a, b, sums, goal)
        refuted += fell
        if fell < part.size:
            break
    return float(s[refuted - 1]) if refuted else 0.0


def _parts(s: Floats, a: Floats, b: Floats, goal: float) -> Iterator[Floats]:
    """Candidates s, ascending, shape (G,), in parts to be played one after the other: those that are likely to fall,
    then few at a time. What is likely is a guess: it decides how long the game takes, and never who falls."""
    both = float(a.mean() + b.mean())
    middle = float(a.mean()) / both if both else 0.0
    spread = math.sqrt(2.0 * goal * float(np.var(a * (1.0 - middle) - b * middle)) / a.size)
    likely = min(s.size, int(np.searchsorted(s, middle - 0.8 * spread / both if both else 0.0)) + UNSURE)
    yield s[:likely]
    for start in range(likely, s.size, UNSURE):
        yield s[start : start + UNSURE]


def _fallen(s: Floats, a: Floats, b: Floats, sums: list[Floats], goal: float) -> int:
    """Number of candidates s, ascending, shape (G,), that are refuted from the bottom without a gap.

    sums: of a * a, a * b and b * b over the scenarios before each, shape (n, 1). Scenarios are taken in stretches: what
    does not depend on the wealth is computed for a whole stretch. A gambler who meets the goal bets no more, so the
    candidate leaves the game at the end of the stretch, whatever it would lose by then.
    """
    every, wealth, at = s, np.zeros_like(s), 0
    weight = PRIOR_TRIALS + np.arange(a.size)[:, None]
    half = 0.5 * np.arange(a.size, 0, -1)
    with np.errstate(invalid="ignore"):  # past the goal the wealth may exceed what it is to reach
        while at < a.size and s.size:
            now = slice(at, min(a.size, at + max(1, min(LENGTH, CELLS // s.size, 4 + at))))
            rest, limit = 1.0 - s, CAP / s
            aa, ab, bb = (total[now] for total in sums)
            variance = PRIOR_TRIALS * PRIOR * s * rest + aa * rest * rest - 2.0 * ab * s * rest + bb * s * s
            variance /= weight[now]
            gain = a[now, None] * rest - b[now, None] * s
            held, bet = np.empty((len(gain) + 1, s.size)), np.empty_like(s)
            held[0] = wealth
            for before, after, v, won, waits in zip(held, held[1:], variance, gain, half[now], strict=False):
                np.subtract(goal, before, bet)
                np.divide(bet, waits, bet)
                np.divide(bet, v, bet)
                np.sqrt(bet, bet)
                np.minimum(bet, limit, out=bet)
                np.multiply(bet, won, bet)
                np.log1p(bet, bet)
                np.add(before, bet, after)
            stands = ~(held[1:] >= goal).any(axis=0)
            s, wealth, at = s[stands], held[-1][stands], now.stop
    s = s[wealth < goal - SLACK]
    return int(np.searchsorted(every, s[0])) if s.size else every.size
