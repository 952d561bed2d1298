"""The game of `blocked` without a control, played fast: the same bets and the same ends, bit for bit.

`Gambler` spends its time on calls of numpy, two dozen for every trial. Without a control most of what it computes is
known beforehand: the moments of past scores are cumulative sums, and the wealth is all that runs from trial to trial.
So trials are taken in stretches. What does not depend on the wealth is computed for a whole stretch, and eight
operations are left for each trial. Each of them rounds as its twin in `Gambler` does.

A candidate that meets its goal bets on until its stretch ends. Whatever it loses by then, it has fallen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from foretell.stats.rungs import Games
from foretell.stats.scores import Floats

__all__ = ["fallen", "parts"]

LENGTH, CELLS = 64, 1 << 16
"""A stretch has at most so many trials, and so many trials times candidates: they stay in the processor's cache."""
SLACK = 1e-12
"""A goal is met if no more than this is missing, as in `Gambler`."""


def fallen(m: Floats, games: Games, y: Floats, left: Floats, cap: float, prior: float) -> int:
    """Number of candidates, from the bottom, that fall in every game.

    m: candidate means in (0, 1), ascending, shape (G,). y: scores in the order bet on, shape (n,). left: trials that
    a gambler plans for at each trial, shape (n,). cap, prior: `CAP` and `PRIOR_TRIALS` of `blocked`.
    """
    level, aim = np.repeat(np.array(games), m.size, axis=0).T
    mean = np.tile(m, len(games))
    goal, reach, limit = np.log(2.0 / level) - SLACK, np.log(2.0 / aim), cap / mean
    wealth = np.zeros_like(mean)
    sums, squares = (np.concatenate([[0.0], np.cumsum(a)[:-1]])[:, None] for a in (y, y * y))
    trials, half, at = np.arange(y.size)[:, None], 0.5 * left[:, None], 0
    with np.errstate(invalid="ignore"):  # past its goal a candidate may own more than it wants to reach
        while at < y.size and mean.size:
            now = slice(at, min(y.size, at + max(1, min(LENGTH, CELLS // mean.size, 4 + at))))
            moment = mean * (trials[now] - prior)
            moment += prior - 2.0 * sums[now]
            moment *= mean
            moment += squares[now]
            moment /= prior + trials[now]
            gain = y[now, None] - mean
            held, bet = np.empty((len(gain) + 1, mean.size)), np.empty_like(mean)
            held[0] = wealth
            for before, after, v, won, waits in zip(held, held[1:], moment, gain, half[now], strict=False):
                np.subtract(reach, before, bet)
                np.divide(bet, waits, bet)
                np.divide(bet, v, bet)
                np.sqrt(bet, bet)
                np.minimum(bet, limit, out=bet)
                np.multiply(bet, won, bet)
                np.log1p(bet, bet)
                np.add(before, bet, after)
            stands = ~(held[1:] >= goal).any(axis=0)
            mean, goal, reach, limit, wealth = (a[stands] for a in (mean, goal, reach, limit, held[-1]))
            at = now.stop
    return int(np.searchsorted(m, mean.min())) if mean.size else m.size


def parts(m: Floats, y: Floats, level: float, size: int) -> Iterator[Floats]:
    """Candidates m, ascending, shape (G,), in parts to be played one after the other: those that are likely to fall,
    then few at a time. What is likely is a guess: it decides how long the game takes, and never who falls."""
    width = math.sqrt(2.0 * math.log(2.0 / level) * float(y.var()) / y.size)
    likely = min(m.size, int(np.searchsorted(m, float(y.mean()) - 0.8 * width)) + size)
    yield m[:likely]
    for start in range(likely, m.size, size):
        yield m[start : start + size]
