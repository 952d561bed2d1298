"""Families of tests: Holm's adjustment, and closed tests of all pairs of policies in the order of a forecast.

`closed` tests every pair of K policies so that the chance of calling any two equal policies different is at most alpha,
whatever the forecast (usually simulation) is worth. The forecast must not come from the trials tested.

1. *Closure* (Marcus, Peritz and Gabriel 1976). Which policies are equal is a partition of them into groups. A pair is
   called different only if every partition that puts both into one group is refuted at level alpha. The true
   partition is refuted with a chance of at most alpha, and calling an equal pair different needs that. So only the
   tests of single partitions have to be valid. Partitions are fewer than sets of pairs, since equality is transitive;
   this alone makes `closed` at least as powerful as Holm, also without a forecast.
2. *Weighted Bonferroni.* A partition is refuted if a pair inside one of its groups has p <= weight * alpha. The weights
   sum to one: `FIRST` for the pair that the forecast expects to differ most, the rest evenly. This is valid under any
   dependence. The forecast thus spends most on what is easiest to show and, once that is shown, on the next.
3. *Direction.* A pair's p-value spends the share `LEAN` of its level on the direction that the forecast expects and the
   rest on the other one (see `leaning`).

With p-values that are valid at any time, all of this may be read at any time: p-values that only fall refute ever more.
Above `GROUPS` policies there are too many partitions; `closed` then protects against every set of pairs, which is
valid and a little less powerful.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.scores import UNIT, Floats, Range

__all__ = [
    "FIRST",
    "LEAN",
    "Expected",
    "bets_aim",
    "closed",
    "expected",
    "holm",
    "in_forecast_order",
    "leaning",
    "pair_order",
]

Expected = Literal["greater", "less"]
"""greater: the forecast says that policy a does better than b."""

FIRST = 0.3
"""Share of a partition's level for the pair expected to differ most. With LEAN, chosen on synthetic policies."""
LEAN = 0.75
"""Share of a pair's level for the direction expected."""
GROUPS = 9
"""Policies up to which partitions are listed: 21,147 of them."""


def holm(p_values: ArrayLike) -> Floats:
    """Holm-adjusted p-values, shape (M,) -> shape (M,): comparing them with alpha controls the family."""
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _checked(p_values: ArrayLike) -> Floats:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not np.isfinite(p).all() or (p < 0.0).any() or (p > 1.0).any():
        raise ValueError("p_values must have shape (M,) and lie in [0, 1]")
    return p


def expected(forecast_a: float, forecast_b: float) -> Expected | None:
    """Direction that the forecast expects; None if it expects none."""
    if forecast_a == forecast_b:
        return None
    return "greater" if forecast_a > forecast_b else "less"


def leaning(p_greater: float, p_less: float, toward: Expected | None) -> float:
    """p-value of "no difference" from two one-sided ones; twice the smaller if the forecast expects no direction."""
    share = {"greater": LEAN, "less": 1.0 - LEAN, None: 0.5}[toward]
    return min(1.0, p_greater / share, p_less / (1.0 - share))


def pair_order(forecast: ArrayLike, within: Range = UNIT) -> NDArray[np.int64]:
    """Pairs of policies in the order in which they are expected to differ, the most different first, shape (M,).

    forecast: shape (K,), larger is better. Pairs are numbered as by `itertools.combinations`. Differences are those
    of 2 arcsin(sqrt(x)), in which success rates have the same variance everywhere.
    """
    values = np.asarray(forecast, dtype=np.float64)
    if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all():
        raise ValueError(f"a forecast must have a finite number for each of two policies or more, got {forecast!r}")
    scaled = np.clip((values - within[0]) / (within[1] - within[0]), 0.0, 1.0)
    place = 2.0 * np.arcsin(np.sqrt(scaled))
    apart = np.array([abs(place[i] - place[j]) for i, j in combinations(range(values.size), 2)])
    return np.argsort(-apart, kind="stable")


def bets_aim(alpha: float, policies: int, ordered: bool) -> float:
    """p-value at which bets may stop: enough to refute every partition (ordered) or for Holm's first step."""
    return (1.0 - FIRST if ordered else 1.0) * alpha / (policies * (policies - 1) // 2)


def in_forecast_order(
    p_values: Mapping[tuple[str, str], float], forecast: Mapping[str, float], within: Range = UNIT
) -> dict[tuple[str, str], float]:
    """`closed` for policies by name. Scalars in: pair -> p-value, each pair once; name -> expected mean."""
    names = sorted(forecast)  # so that ties of the forecast are not broken by outcomes
    number = {frozenset(pair): k for k, pair in enumerate(combinations(names, 2))}
    if len(number) != len(p_values) or {frozenset(pair) for pair in p_values} != set(number):
        raise ValueError(f"p-values must be those of every pair of {names}, got {sorted(p_values)}")
    p = np.empty(len(number))
    for pair, value in p_values.items():
        p[number[frozenset(pair)]] = value
    adjusted = closed(p, len(names), pair_order([forecast[name] for name in names], within))
    return {pair: float(adjusted[number[frozenset(pair)]]) for pair in p_values}


def closed(p_values: ArrayLike, policies: int, order: ArrayLike | None = None) -> Floats:
    """Adjusted p-values of all pairs of K policies, shape (M,) -> shape (M,), M = K (K - 1) / 2.

    Pairs are numbered as by `itertools.combinations`; order: shape (M,), from `pair_order`. Without one, every pair
    of a partition has the same weight.
    """
    p = _checked(p_values)
    if p.size != policies * (policies - 1) // 2:
        raise ValueError(f"{policies} policies have {policies * (policies - 1) // 2} pairs, got {p.size} p-values")
    places = np.arange(p.size) if order is None else np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(places), np.arange(p.size)):
        raise ValueError("order must name each pair once")
    first = 0.0 if order is None else FIRST
    adjusted = np.empty_like(p)
    if policies <= GROUPS:
        adjusted[places] = _over_partitions(p[places], _partitions(policies)[:, places], first)
    else:
        adjusted[places] = _over_sets(p[places], first)
    return np.minimum(adjusted, 1.0)


@cache
def _partitions(policies: int) -> NDArray[np.bool_]:
    """Which pairs lie within a group, for every partition but that into single policies: shape (Q, M)."""
    groups = np.zeros((1, 1), dtype=np.int8)
    for _ in range(1, policies):
        room = groups.max(axis=1) + 2
        groups = np.column_stack([np.repeat(groups, room, axis=0), np.concatenate([np.arange(r) for r in room])])
    inside = np.stack([groups[:, i] == groups[:, j] for i, j in combinations(range(policies), 2)], axis=1)
    return inside[inside.any(axis=1)]


def _over_partitions(p: Floats, inside: NDArray[np.bool_], first: float) -> Floats:
    """p: shape (M,), inside: shape (Q, M), both in the order of the forecast."""
    rows = np.arange(inside.shape[0])
    even = (1.0 - first) / inside.sum(axis=1)
    ahead = inside.argmax(axis=1)
    local = np.minimum(np.where(inside, p, np.inf).min(axis=1) / even, p[ahead] / (even + first))
    # The first pair's own weight is even + first, which the minimum takes, as it is the smaller ratio.
    out: Floats = np.array([local[rows[inside[:, k]]].max() for k in range(p.size)])
    return out


def _over_sets(p: Floats, first: float) -> Floats:
    """As `_over_partitions` over all sets of pairs, p in the order of the forecast: shape (M,).

    Of all sets with a given first pair, a given number of pairs and pair k among them, the hardest to refute has the
    largest p-values otherwise, so that only these need a look.
    """
    worst = p.copy()  # the set of the pair alone
    for f in range(p.size - 1):
        rest = p[f + 1 :]
        down = np.argsort(-rest, kind="stable")
        later = rest[down]
        size = np.arange(2, later.size + 2)
        even = (1.0 - first) / size
        lead = p[f] / (even + first)
        worst[f] = max(worst[f], float(np.minimum(lead, later / even).max()))
        place = np.empty_like(down)
        place[down] = np.arange(down.size)
        last = size - 3 + (place[:, None] <= size - 3)  # the smallest of size - 2 others, k left out
        others = np.where(size > 2, later[np.minimum(last, later.size - 1)], np.inf)
        local = np.minimum(np.minimum(rest[:, None], others) / even, lead).max(axis=1)
        worst[f + 1 :] = np.maximum(worst[f + 1 :], local)
    return worst
