"""How far a statement about a simulator reaches: nowhere yet, these policies, or the next one of their family.

- *The next policy from the same family*: five or more policies, and sim and real order them alike beyond chance. The
  test permutes the policies: if simulation said nothing about a policy drawn from the family, every pairing of the real
  with the simulated means would be equally likely. It is exact for policies drawn independently. Checkpoints of one
  training run are not: `runs` tells them, and each run then counts once, by the means of its checkpoints.
- *These policies only*: the real trials show something about the pick: another policy is shown to be worse or better,
  or the pick loses at most `EFFECT`.
- *Too few to say*: neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.interval import Interval
from foretell.stats.pairwise import Trials
from foretell.stats.resampling import MIN_POLICIES
from foretell.stats.scores import Floats, check_alpha, pair

__all__ = ["Claim", "Reach", "claim", "ordered_by_chance"]

Reach = Literal["too few to say", "these policies only", "the next policy from the same family"]
EFFECT = 0.2
"""Regret worth knowing about, in success."""
WHOLE = 8
"""Policies up to which all permutations are counted."""
DRAWN = 19_999


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What may be claimed from these data."""

    reach: Reach
    p_value: float | None
    """Chance of so good an order if simulation said nothing; None for fewer than five policies."""
    counted: int
    """Policies that count for it: of one training run only one."""
    missing: str
    """What the next level needs; empty at the last."""


@lru_cache(maxsize=4)
def _orders(size: int, seed: int) -> NDArray[np.int64]:
    if size <= WHOLE:
        return np.array(list(permutations(range(size))))
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(size), (DRAWN, 1)), axis=1)


def ordered_by_chance(real: ArrayLike, sim: ArrayLike, seed: int = 0) -> float:
    """p-value of Kendall's sum of ordered pairs, one-sided, by permutation; real, sim: shape (P,).

    All permutations of up to eight policies; else 19,999 drawn ones and the order itself, which is valid too.
    """
    a, b = pair(real, sim)
    signs = [np.sign(x[:, None] - x[None, :]).astype(np.int8) for x in (a, b)]
    observed = int((signs[0].astype(int) * signs[1]).sum())
    orders = _orders(a.size, seed)
    extreme = 0
    for part in np.array_split(orders, max(1, orders.size * a.size // 4_000_000)):
        turned = signs[1][part[:, :, None], part[:, None, :]]
        extreme += int((np.einsum("kij,ij->k", turned, signs[0], dtype=np.int64) >= observed).sum())
    return extreme / len(orders) if a.size <= WHOLE else (extreme + 1) / (len(orders) + 1)


def claim(
    real: Trials,
    sim: Trials,
    loss: Interval,
    bounds: tuple[Floats, Floats] | None,
    picks: Sequence[int],
    *,
    runs: Sequence[str] | None = None,
    alpha: float,
    seed: int = 0,
) -> Claim:
    """The reach of a decision; loss: regret of the picks, bounds: of all differences of real means, shape (P, P)."""
    check_alpha(alpha)
    sides = [real.means, sim.means]
    if runs is not None:
        if len(runs) != real.means.size:
            raise ValueError(f"runs must name the training run of {real.means.size} policies, got {len(runs)}")
        names = dict.fromkeys(runs)
        sides = [np.array([side[[r == name for r in runs]].mean() for name in names]) for side in sides]
    size = sides[0].size
    chance = ordered_by_chance(sides[0], sides[1], seed) if size >= MIN_POLICIES else None
    if chance is not None and chance <= alpha:
        return Claim(reach="the next policy from the same family", p_value=chance, counted=size, missing="")
    more = (
        f"{MIN_POLICIES} independent policies for a claim about the next one"
        if chance is None
        else f"an order that chance does not explain (p = {chance:.2g}) for a claim about the next policy"
    )
    if bounds is None:
        return Claim(
            reach="too few to say", p_value=chance, counted=size, missing=f"the number of real trials, or {more}"
        )
    worse = any((bounds[0][:, w] < 0.0).any() for w in picks)
    if worse or loss.low or (loss.high is not None and loss.high <= EFFECT * _scale(real)):
        return Claim(reach="these policies only", p_value=chance, counted=size, missing=more)
    return Claim(
        reach="too few to say",
        p_value=chance,
        counted=size,
        missing="more real trials: they tell the pick from no other policy",
    )


def _scale(real: Trials) -> float:
    """Range of the scores: 1 where they lie in [0, 1], else that of the means."""
    inside = real.means.min() >= 0.0 and real.means.max() <= 1.0
    return 1.0 if inside else float(np.ptp(real.means))
