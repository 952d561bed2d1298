"""Comparing policies: tests, intervals of the difference, verdicts, letters and ranks.

Policy a comes first: a positive difference, `greater` and `better` all speak of a.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.barnard import Alternative, barnard
from foretell.stats.binomial import newcombe, newcombe_paired
from foretell.stats.evidence import Evidence, fisher, mcnemar, paired_betting
from foretell.stats.family import Expected, bets_aim, expected, holm, in_forecast_order, leaning
from foretell.stats.interval import ALPHA, Horizon, Interval, check_horizon
from foretell.stats.letters import compact_letters, rank_ranges
from foretell.stats.order import by_content
from foretell.stats.paired import EXACT, paired_difference
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, is_binary, scores

__all__ = [
    "EFFECT", "Alternative", "Comparison", "Evidence", "Ranking", "Verdict", "barnard", "compact_letters",
    "compare", "compare_all", "fisher", "holm", "mcnemar", "paired_betting", "rank_ranges", "verdict",
]  # fmt: skip

Verdict = Literal["better", "worse", "no difference shown", "too few trials"]
Test = Literal["auto", "barnard", "fisher", "mcnemar", "betting"]

EFFECT = 0.2
"""Difference worth knowing about, as a share of the range; see `verdict`."""


def verdict(
    p_value: float,
    interval: Interval,
    alpha: float = ALPHA,
    effect: float = EFFECT,
    difference: float | None = None,
) -> Verdict:
    """Word for a comparison of a with b. Scalars in.

    better, worse: p_value <= alpha, and the interval's estimate and the difference of the means (default: the
    estimate) point the same way; contradictory evidence decides nothing. Otherwise `too few trials` if the interval
    still holds differences of `effect` in both directions, so that the data say nothing of interest; else `no
    difference shown`.
    """
    apart = interval.estimate if difference is None else difference
    if p_value <= alpha and apart * interval.estimate > 0.0:
        return "better" if interval.estimate > 0.0 else "worse"
    if -effect in interval and effect in interval:
        return "too few trials"
    return "no difference shown"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Policy a against policy b."""

    interval: Interval
    """Interval of mean(a) - mean(b)."""
    p_value: float
    test: str
    verdict: Verdict
    n_a: int
    n_b: int
    anytime: bool
    """Whether the p-value may be read after every trial: only if a horizon was given."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "difference": self.interval.to_dict(),
            "p_value": self.p_value,
            "test": self.test,
            "verdict": self.verdict,
            "n_a": self.n_a,
            "n_b": self.n_b,
            "anytime": self.anytime,
        }


def _both_binary(a: Floats, b: Floats, test: str) -> bool:
    binary = is_binary(a) and is_binary(b)
    if not binary and test in ("barnard", "fisher", "mcnemar"):
        raise ValueError(f"{test} needs binary scores; use betting for partial credit")
    return binary


def _both_ways(test: Callable[[Alternative], float], expected: Expected | None) -> float:
    return test("two-sided") if expected is None else leaning(test("greater"), test("less"), expected)


def compare(
    a: ArrayLike,
    b: ArrayLike,
    *,
    paired: bool = False,
    test: Test = "auto",
    alpha: float = ALPHA,
    aim: float | None = None,
    effect: float = EFFECT,
    expected: Expected | None = None,
    within: Range = UNIT,
    horizon: Horizon = None,
    shuffled: bool = False,
) -> Comparison:
    """Compare real scores of two policies: a of shape (n_a,), b of shape (n_b,); equal lengths when paired.

    auto: Barnard (unpaired) or McNemar (paired) for binary scores, betting otherwise. Unpaired betting matches
    trials by chance (with a horizon in the order run), which needs no common scenarios; trials without a partner are
    left out. horizon: as in `bounds.bound`; it makes the betting test anytime-valid and `auto` choose it. shuffled: as
    in `bounds.bound`.
    `aim` is the p-value the bets aim at. `expected` is the direction that a forecast expects, see `family.leaning`.
    For simulation as control see `paired_betting`.
    """
    check_alpha(alpha)
    horizon = check_horizon(horizon)
    x, y = scores(a, "a", within=within), scores(b, "b", within=within)
    if paired and x.size != y.size:
        raise ValueError(f"paired policies need the same scenarios, got {x.size} and {y.size} scores")
    if test not in ("auto", "barnard", "fisher", "mcnemar", "betting"):
        raise ValueError(f"unknown test {test!r}")
    if (test == "mcnemar") > paired or ((test in ("barnard", "fisher")) and paired):
        raise ValueError(f"{test} is for {'un' if paired else ''}paired trials")
    binary = _both_binary(x, y, test)
    size = within[1] - within[0]
    if test == "auto":
        test = ("mcnemar" if paired else "barnard") if binary and horizon is None else "betting"
    if horizon is not None and test != "betting":
        raise ValueError(f"{test} is for a single look and takes no horizon; use betting")
    if test == "betting":
        if not paired and horizon is None:  # two orders, or two files sorted by score would look alike
            x, y = x[by_content(x)], y[by_content(y)]
        common = min(x.size, y.size)
        evidence = paired_betting(
            x[:common], y[:common], alpha=alpha, aim=aim, expected=expected, horizon=horizon, shuffled=shuffled
        )
        interval, p = evidence.interval, evidence.p_value
    elif test == "mcnemar":
        both, only_a, only_b = int((x * y).sum()), int((x * (1 - y)).sum()), int(((1 - x) * y).sum())
        paired_interval = paired_difference if x.size <= EXACT else newcombe_paired
        interval = paired_interval(both, only_a, only_b, x.size - both - only_a - only_b, alpha)
        p = _both_ways(lambda way: mcnemar(only_a, only_b, way), expected)
    else:
        counts = (int(x.sum()), x.size, int(y.sum()), y.size)
        interval = newcombe(*counts, alpha)
        exact = barnard if test == "barnard" else fisher
        p = _both_ways(lambda way: exact(*counts, way), expected)
    word = verdict(p, interval, alpha, effect, float(x.mean() - y.mean()))
    if size != 1.0:
        ends = [None if v is None else v * size for v in (interval.low, interval.high)]
        interval = replace(interval, estimate=interval.estimate * size, low=ends[0], high=ends[1])
    return Comparison(
        interval=interval, p_value=p, test=test, verdict=word, n_a=x.size, n_b=y.size, anytime=horizon is not None
    )


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Several policies in order of their mean, best first."""

    names: tuple[str, ...]
    means: Floats
    """Shape (K,)."""
    p_values: Floats
    """Adjusted (Holm, with a forecast `closed`), shape (K, K), ones on the diagonal."""
    letters: tuple[str, ...]
    ranks: NDArray[np.int64]
    """Best and worst rank that the data leave open, shape (K, 2)."""
    verdicts: dict[tuple[str, str], Verdict]
    """Verdict on the first of each pair against the second, after adjustment."""
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form: one entry per policy, best first."""
        return {
            "alpha": self.alpha,
            "policies": [
                {"policy": n, "mean": float(m), "letters": w, "rank": [int(r[0]), int(r[1])]}
                for n, m, w, r in zip(self.names, self.means, self.letters, self.ranks, strict=True)
            ],
            "verdicts": [{"a": a, "b": b, "verdict": v} for (a, b), v in self.verdicts.items()],
        }


def compare_all(
    policies: Mapping[str, ArrayLike] | Mapping[str, Sequence[float]],
    *,
    paired: bool = False,
    test: Test = "auto",
    alpha: float = ALPHA,
    effect: float = EFFECT,
    order_by: Mapping[str, float] | None = None,
    within: Range = UNIT,
) -> Ranking:
    """Rank policies by all pairwise comparisons; policies: name -> scores of shape (n_i,).

    p-values are adjusted by Holm. With `order_by`, a forecast name -> mean (from simulation, a paper or a former study,
    never from the trials given), pairs are tested in the order and direction that it expects (`family.closed`). A wrong
    forecast costs power, not validity. Whether to use one must be chosen before looking.
    """
    if len(policies) < 2:
        raise ValueError(f"at least two policies are needed, got {len(policies)}")
    if order_by is not None and set(order_by) != set(policies):
        odd = sorted(set(order_by) ^ set(policies))
        raise ValueError(f"order_by must forecast each policy compared and no other, but differs in {odd}")
    data = {name: scores(values, name, within=within) for name, values in policies.items()}
    names = sorted(data, key=lambda name: -float(data[name].mean()))
    k = len(names)
    pairs = list(combinations(range(k), 2))
    kwargs: dict[str, Any] = {"paired": paired, "test": test, "alpha": alpha, "effect": effect}
    kwargs["aim"] = bets_aim(alpha, k, order_by is not None)
    toward = {(i, j): None if order_by is None else expected(order_by[names[i]], order_by[names[j]]) for i, j in pairs}
    tests = {(i, j): compare(data[names[i]], data[names[j]], expected=toward[i, j], **kwargs) for i, j in pairs}
    raw = {(names[i], names[j]): tests[i, j].p_value for i, j in pairs}
    adjusted = list(holm([*raw.values()]) if order_by is None else in_forecast_order(raw, order_by, within).values())
    p = np.ones((k, k))
    better = np.zeros((k, k), dtype=bool)
    words: dict[tuple[str, str], Verdict] = {}
    for (i, j), value in zip(pairs, adjusted, strict=True):
        p[i, j] = p[j, i] = value
        apart = float(data[names[i]].mean() - data[names[j]].mean())
        word = verdict(float(value), tests[i, j].interval, alpha, effect, apart)
        words[names[i], names[j]] = word
        better[i, j], better[j, i] = word == "better", word == "worse"
    low, size = within[0], within[1] - within[0]
    means = np.array([low + size * float(data[name].mean()) for name in names])
    letters = tuple(compact_letters(better | better.T))
    return Ranking(
        names=tuple(names),
        means=means,
        p_values=p,
        letters=letters,
        ranks=rank_ranges(better),
        verdicts=words,
        alpha=alpha,
    )
