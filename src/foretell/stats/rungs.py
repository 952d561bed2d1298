"""Aims of the bets: a fixed ladder, so that a smaller alpha never gives a narrower interval.

A bet is tuned to the wealth it is to reach. Tuned to alpha itself, a smaller alpha means another game, and on
some data the other game happens to refute more. So bets aim at a rung, the largest a_k <= alpha of a fixed
ladder, while a candidate is refuted at a wealth of 2/alpha. Write I_k(alpha) for that interval and report

    I*(alpha) = hull of I_k(alpha) and of I_j(a_j) for every rung a_j above a_k.

*Valid.* I* contains I_k(alpha), which covers at level alpha whatever the bets.

*Nested.* Let strict < loose. On the same rung the games are the same, and wealth that reached 2/strict has
passed 2/loose: I_k(strict) holds I_k(loose), and the other parts of the two hulls are equal. If strict has
a lower rung, its hull has among its parts I_k(a_k) for the rung a_k of loose, which by the same argument holds
I_k(loose) since a_k <= loose, and the parts for all rungs above.

Customary alphas are rungs, so their bets are tuned to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Ends = tuple[float, float]
"""(low, high)"""
Games = list[tuple[float, float]]
"""(level, aim) of each game: bets tuned to a wealth of 2/aim, refutation at 2/level."""
SLACK = 1.0 - 1e-9
"""Rungs lie this much below the round number, so that 0.1 - 0.09 still stands on the rung 0.01."""
DIGITS = (10, 8, 6, 5, 4, 3, 2.5, 2, 1.5, 1.25)
RUNGS = (
    *(SLACK * digit * 10.0**-place for place in range(1, 7) for digit in DIGITS if digit * 10.0**-place <= 0.5),
    *(SLACK * 10.0 ** -(6 * 2**doubling) for doubling in range(6)),
    1e-300,
)
"""Ten to a decade from 0.5 to a millionth; below that each is the square of the one before."""


def rungs(level: float, share: float = 1.0) -> Games:
    """Games whose intervals are united at a level; first the level's own, then ever looser ones.

    share: part of alpha that the level is, where alpha is divided; the ladder is then the same part of this one.
    """
    above = [share * rung for rung in RUNGS if share * rung > level]
    aim = share * RUNGS[min(len(above), len(RUNGS) - 1)]
    return [(level, aim), *((rung, rung) for rung in reversed(above))]


LEAST = 1e-300
"""Smallest level at which ends are tried."""


def meeting(at: Callable[[float], Ends], alpha: float) -> tuple[Ends | None, float]:
    """The ends at level alpha, or where they are inverted, at the largest level at which they are not; and that level.

    An inverted interval is empty: the data contradict every candidate, which happens with probability at most alpha.
    `at` is nested in the level, so the levels with low <= high reach from zero up to one number, found here to the
    last float. Every alpha above it gets the interval of that number. An empty interval never covers, so putting
    another in its place costs nothing; and as all levels above share it, the result is nested too. None: the ends
    are inverted even at the smallest level.
    """
    ends = at(alpha)
    if ends[0] <= ends[1]:
        return ends, alpha
    apart, meet = alpha, LEAST
    ends = at(meet)
    if ends[0] > ends[1]:
        return None, meet
    while meet < (level := 0.5 * (meet + apart) if apart < 2.0 * meet else math.sqrt(meet) * math.sqrt(apart)) < apart:
        tried = at(level)
        if tried[0] > tried[1]:
            apart = level
        else:
            meet, ends = level, tried
    return ends, meet
