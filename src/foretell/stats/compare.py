"""Comparing policies: tests, intervals of the difference, verdicts, letters and ranks.

Policy a comes first: a positive difference, `greater` and `better` all speak of a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.barnard import Alternative, barnard
from foretell.stats.binomial import newcombe, newcombe_paired
from foretell.stats.evidence import Evidence, fisher, mcnemar, paired_betting
from foretell.stats.interval import ALPHA, Interval
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, is_binary, scores

__all__ = [
    "EFFECT", "Alternative", "Comparison", "Evidence", "Ranking", "Verdict", "barnard", "compact_letters",
    "compare", "compare_all", "fisher", "holm", "mcnemar", "paired_betting", "rank_ranges", "verdict",
]  # fmt: skip

Verdict = Literal["better", "worse", "no difference shown", "too few trials"]
Test = Literal["auto", "barnard", "fisher", "mcnemar", "betting"]

EFFECT = 0.2
"""Difference worth knowing about, as a share of the range; see `verdict`."""


def verdict(p_value: float, interval: Interval, alpha: float = ALPHA, effect: float = EFFECT) -> Verdict:
    """Word for a comparison of a with b. Scalars in.

    better, worse: p_value <= alpha. Otherwise `too few trials` if the interval still holds differences of
    `effect` in both directions, so that the data say nothing of interest; else `no difference shown`.
    """
    if p_value <= alpha and interval.estimate != 0.0:
        return "better" if interval.estimate > 0.0 else "worse"
    if -effect in interval and effect in interval:
        return "too few trials"
    return "no difference shown"


@dataclass(frozen=True)
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
    """Whether the p-value may be read after every trial."""

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


def compare(
    a: ArrayLike,
    b: ArrayLike,
    *,
    paired: bool = False,
    test: Test = "auto",
    alpha: float = ALPHA,
    aim: float | None = None,
    effect: float = EFFECT,
    within: Range = UNIT,
) -> Comparison:
    """Compare real scores of two policies: a of shape (n_a,), b of shape (n_b,); equal lengths when paired.

    auto: Barnard (unpaired) or McNemar (paired) for binary scores, betting otherwise. Unpaired betting
    matches trials in the order run, which needs no common scenarios; trials without a partner are left out.
    `aim` is the p-value the bets aim at. For simulation as control see `paired_betting`.
    """
    check_alpha(alpha)
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
        test = ("mcnemar" if paired else "barnard") if binary else "betting"
    if test == "betting":
        common = min(x.size, y.size)
        found = paired_betting(x[:common], y[:common], alpha=alpha, aim=aim)
        interval, p = found.interval, found.p_value
    elif test == "mcnemar":
        both, only_a, only_b = int((x * y).sum()), int((x * (1 - y)).sum()), int(((1 - x) * y).sum())
        interval = newcombe_paired(both, only_a, only_b, x.size - both - only_a - only_b, alpha)
        p = mcnemar(only_a, only_b)
    else:
        counts = (int(x.sum()), x.size, int(y.sum()), y.size)
        interval = newcombe(*counts, alpha)
        p = barnard(*counts) if test == "barnard" else fisher(*counts)
    word = verdict(p, interval, alpha, effect)
    if size != 1.0:
        ends = [None if v is None else v * size for v in (interval.low, interval.high)]
        interval = replace(interval, estimate=interval.estimate * size, low=ends[0], high=ends[1])
    return Comparison(interval, p, test, word, x.size, y.size, anytime=test == "betting")


def holm(p_values: ArrayLike) -> Floats:
    """Holm-adjusted p-values, shape (K,) -> shape (K,): comparing them with alpha controls the family."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not np.isfinite(p).all() or (p < 0.0).any() or (p > 1.0).any():
        raise ValueError("p_values must have shape (K,) and lie in [0, 1]")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def compact_letters(different: ArrayLike) -> list[str]:
    """Letters for K policies, given in display order; different: symmetric bool, shape (K, K).

    Two policies share a letter exactly when they are not shown to differ. Letters are the largest groups
    without a difference; groups whose pairs all share another letter are dropped.
    """
    apart = np.asarray(different, dtype=bool)
    k = apart.shape[0]
    if apart.shape != (k, k) or (apart != apart.T).any() or apart.diagonal().any():
        raise ValueError("different must be a symmetric (K, K) matrix with a false diagonal")
    alike = {i: {j for j in range(k) if j != i and not apart[i, j]} for i in range(k)}
    groups: list[frozenset[int]] = []

    def extend(group: set[int], open_: set[int], closed: set[int]) -> None:
        if not open_ and not closed:
            groups.append(frozenset(group))
            return
        pivot = max(open_ | closed, key=lambda v: len(alike[v] & open_))
        for v in sorted(open_ - alike[pivot]):
            extend(group | {v}, open_ & alike[v], closed & alike[v])
            open_ = open_ - {v}
            closed = closed | {v}

    extend(set(), set(range(k)), set())
    groups.sort(key=lambda g: sorted(g))
    for group in sorted(groups, key=len):
        others = [g for g in groups if g != group]
        covered = all(any({i, j} <= g for g in others) for i, j in combinations(sorted(group), 2))
        if covered and all(any(i in g for g in others) for i in group):
            groups = others
    names = [_letter(i) for i in range(len(groups))]
    return ["".join(n for n, g in zip(names, groups, strict=True) if i in g) for i in range(k)]


def _letter(index: int) -> str:
    """a, b, ..., z, then (aa), (ab), ..."""
    if index < 26:
        return chr(ord("a") + index)
    return f"({chr(ord('a') + index // 26 - 1)}{chr(ord('a') + index % 26)})"


def rank_ranges(better: ArrayLike) -> NDArray[np.int64]:
    """Lowest and highest rank (1 is best) each policy can have, shape (K, 2); better[i, j]: i shown above j.

    If all shown differences are true, which a family-wise test makes likely at 1 - alpha, every true rank
    lies in its range.
    """
    above = np.asarray(better, dtype=bool)
    return np.stack([1 + above.sum(axis=0), above.shape[0] - above.sum(axis=1)], axis=1).astype(np.int64)


@dataclass(frozen=True)
class Ranking:
    """Several policies in order of their mean, best first."""

    names: tuple[str, ...]
    means: Floats
    """Shape (K,)."""
    p_values: Floats
    """Holm-adjusted, shape (K, K), ones on the diagonal."""
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
    within: Range = UNIT,
) -> Ranking:
    """Rank policies by all pairwise comparisons under Holm's adjustment; policies: name -> scores of shape (n_i,)."""
    if len(policies) < 2:
        raise ValueError(f"at least two policies are needed, got {len(policies)}")
    data = {name: scores(values, name, within=within) for name, values in policies.items()}
    names = sorted(data, key=lambda name: -float(data[name].mean()))
    k = len(names)
    pairs = list(combinations(range(k), 2))
    kwargs: dict[str, Any] = {"paired": paired, "test": test, "alpha": alpha, "effect": effect}
    kwargs["aim"] = alpha / len(pairs)
    found = {(i, j): compare(data[names[i]], data[names[j]], **kwargs) for i, j in pairs}
    adjusted = holm([found[ij].p_value for ij in pairs])
    p = np.ones((k, k))
    better = np.zeros((k, k), dtype=bool)
    words: dict[tuple[str, str], Verdict] = {}
    for (i, j), value in zip(pairs, adjusted, strict=True):
        p[i, j] = p[j, i] = value
        word = verdict(float(value), found[i, j].interval, alpha, effect)
        words[names[i], names[j]] = word
        better[i, j], better[j, i] = word == "better", word == "worse"
    low, size = within[0], within[1] - within[0]
    means = np.array([low + size * float(data[name].mean()) for name in names])
    letters = tuple(compact_letters(better | better.T))
    return Ranking(tuple(names), means, p, letters, rank_ranges(better), words, alpha)
