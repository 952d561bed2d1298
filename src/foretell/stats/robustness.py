"""How a policy stands perturbations: success under a factor, what the factor changes, and one score to rank by.

`groups`, `perturbed` and `clean` hold one array per task, shape (n_t,): a score in [0, 1] for each scenario, perturbed
and clean ones in the same order. Every value is a mean of the tasks' means. Where all scores are successes and the
tasks have equally many scenarios, that is the rate of all trials put together, and intervals are those of counts;
taking tasks for one sample makes them a little wider than they need be. Where tasks differ in number, their intervals'
reaches are squared and added, as Newcombe does. Partial credit is resampled, scenario by scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.agreement import r_squared
from foretell.stats.binomial import clopper_pearson, newcombe_paired
from foretell.stats.bounds import bound
from foretell.stats.interval import ALPHA, IID, Interval
from foretell.stats.resampling import with_interval
from foretell.stats.retention import bonett_price
from foretell.stats.scores import Floats, check_alpha, is_binary, scores

__all__ = [
    "delta_success", "factor_alignment", "factor_weights", "headline", "paired_change", "percentage_change",
    "success_rate", "weighted_scores",
]  # fmt: skip

Method = Literal["auto", "counts", "bootstrap"]
Groups = Sequence[ArrayLike]

DRAWS = 2000
SAME = "perturbed and clean episodes ran in the same scenarios"
TASKS = "tasks fixed, scenarios resampled within each"


def success_rate(groups: Groups, alpha: float = ALPHA, *, seed: int = 0) -> Interval:
    """Mean over tasks of mean scores; groups: one array of shape (n_t,) per task. Clopper-Pearson, or resampled."""
    tasks = _tasks(groups, "groups")
    if _countable(tasks):
        return clopper_pearson(int(sum(t.sum() for t in tasks)), sum(t.size for t in tasks), alpha)
    if all(map(is_binary, tasks)):
        return _mean_of([clopper_pearson(int(t.sum()), t.size, alpha) for t in tasks])
    return _resampled(tasks, tasks, lambda after, before: after, alpha, seed, (IID, TASKS))


def paired_change(
    perturbed: Groups, clean: Groups, alpha: float = ALPHA, *, method: Method = "auto", seed: int = 0
) -> Interval:
    """Change of the mean score, perturbed less clean; both: one array of shape (n_t,) per task, paired.

    counts: Newcombe's paired score interval. bootstrap: pairs resampled within tasks. auto: counts where scores are
    successes; a bootstrap of pairs that all agree has no width, which is no evidence.
    """
    after, before = _pairs(perturbed, clean)
    binary = all(map(is_binary, [*after, *before]))
    if method == "counts" and not binary:
        raise ValueError("counts need successes (0 or 1); use bootstrap for partial credit")
    if method == "bootstrap" or not binary:
        return _resampled(after, before, lambda a, b: a - b, alpha, seed, (IID, SAME, TASKS))
    if _countable(after):
        return newcombe_paired(*_table(after, before), alpha)
    return _mean_of([newcombe_paired(*_table([a], [b]), alpha) for a, b in zip(after, before, strict=True)])


def percentage_change(perturbed: Groups, clean: Groups, alpha: float = ALPHA, *, seed: int = 0) -> Interval | None:
    """THE COLOSSEUM's change in percent: 100 (mean of perturbed - mean of clean) / mean of clean, a ratio of averages
    over the tasks a factor applies to; both: one array of shape (n_t,) per task, paired. None where clean is 0: the
    change is undefined.

    Successes: Bonett and Price's interval of the ratio. Otherwise pairs are resampled.
    """
    after, before = _pairs(perturbed, clean)
    if not any(task.any() for task in before):
        return None
    if _countable(after) and _countable(before):
        ratio = bonett_price(*_table(after, before), alpha)
        ends = [None if v is None else 100.0 * (v - 1.0) for v in (ratio.low, ratio.high)]
        return replace(ratio, estimate=100.0 * (ratio.estimate - 1.0), low=ends[0], high=ends[1])

    def percent(a: Floats, b: Floats) -> Floats:
        return 100.0 * (a - b) / np.where(b > 0.0, b, np.nan)

    return _resampled(after, before, percent, alpha, seed, (IID, SAME, TASKS))


def delta_success(shifted: ArrayLike, base: ArrayLike, *, absolute: bool = False) -> Floats:
    """SIMPLER's change under a shift (its equation 6): mean over the shift's variants of success less the base's.

    shifted: shape (..., K), one success rate per variant; base: shape (...) -> shape (...). absolute: mean of absolute
    changes, which is what its Table VI prints.
    """
    rates, start = np.asarray(shifted, dtype=np.float64), np.asarray(base, dtype=np.float64)
    if rates.ndim == 0 or rates.shape[:-1] != start.shape or not rates.shape[-1]:
        raise ValueError(f"shifted must have shape (..., K) and base shape (...), got {rates.shape} and {start.shape}")
    change = rates - start[..., None]
    return np.asarray((np.abs(change) if absolute else change).mean(axis=-1))


def factor_weights(factors: Sequence[str]) -> Floats:
    """Weights of cells, equal for every factor and for every cell of one factor; factors: shape (C,) -> shape (C,)."""
    if not len(factors):
        raise ValueError("no cell counts: there is nothing to weigh")
    names, which, counts = np.unique(np.asarray(factors), return_inverse=True, return_counts=True)
    weights: Floats = 1.0 / (names.size * counts[which])
    return weights


def weighted_scores(outcomes: ArrayLike, factors: Sequence[str]) -> Floats:
    """What each column of scenarios adds to `headline`; outcomes: shape (C, n), factors: shape (C,) -> shape (n,)."""
    cells = np.asarray(outcomes, dtype=np.float64)
    if cells.ndim != 2 or cells.shape[0] != len(factors):
        raise ValueError(f"outcomes must have shape (C, n) with C = {len(factors)} factors, got {cells.shape}")
    flat = scores(cells.ravel(), "outcomes").reshape(cells.shape)
    return np.clip(factor_weights(factors) @ flat, 0.0, 1.0)


def headline(outcomes: ArrayLike, factors: Sequence[str], alpha: float = ALPHA) -> Interval:
    """The score that policies are ranked by: mean success over cells, with equal weight per factor.

    outcomes: shape (C, n), a row per cell (a task under a factor at a severity) and a column per scenario: cells of one
    task share it, those of other tasks have one of their own there. factors: shape (C,), the factor of each cell. So
    columns are independent draws of one number in [0, 1], and the interval of its mean holds for every n, however
    much the cells depend on each other.
    """
    found = bound(weighted_scores(outcomes, factors), alpha=alpha, diagnostics=False)
    return replace(found, notes=())


def factor_alignment(
    real: Sequence[ArrayLike], sim: Sequence[ArrayLike], alpha: float = ALPHA, *, seed: int = 0
) -> Interval:
    """R squared of success rates in two worlds (THE COLOSSEUM's Fig. 6); real, sim: P arrays of shape (n_i,), one for
    each policy and task. NaN where one of the worlds does not vary, and below three points."""
    rates = [[float(np.mean(np.asarray(one, dtype=np.float64))) for one in side] for side in (real, sim)]
    return with_interval(r_squared, *rates, real_outcomes=real, sim_outcomes=sim, alpha=alpha, seed=seed)


def _tasks(groups: Groups, name: str) -> list[Floats]:
    if not len(groups):
        raise ValueError(f"{name} needs at least one task")
    return [scores(one, f"{name}[{i}]") for i, one in enumerate(groups)]


def _pairs(perturbed: Groups, clean: Groups) -> tuple[list[Floats], list[Floats]]:
    after, before = _tasks(perturbed, "perturbed"), _tasks(clean, "clean")
    if [t.size for t in after] != [t.size for t in before]:
        sizes = [[t.size for t in side] for side in (after, before)]
        raise ValueError(f"perturbed and clean must pair one to one in every task, got sizes {sizes[0]} and {sizes[1]}")
    return after, before


def _countable(tasks: list[Floats]) -> bool:
    return len({t.size for t in tasks}) == 1 and all(map(is_binary, tasks))


def _mean_of(tasks: list[Interval]) -> Interval:
    """Interval of the mean of independent tasks' values: their reaches to each side, squared and added."""
    centre = np.array([t.estimate for t in tasks])
    below = centre - [t.estimate if t.low is None else t.low for t in tasks]
    above = np.array([t.estimate if t.high is None else t.high for t in tasks]) - centre
    mean = float(centre.mean())
    low, high = (float(np.sqrt((reach**2).sum()) / len(tasks)) for reach in (below, above))
    first = replace(tasks[0], guarantee="asymptotic")
    return replace(first, estimate=mean, low=mean - low, high=mean + high, n=sum(t.n for t in tasks))


def _table(after: list[Floats], before: list[Floats]) -> tuple[int, int, int, int]:
    a, b = np.concatenate(after), np.concatenate(before)
    both, only_a, only_b = int((a * b).sum()), int((a * (1 - b)).sum()), int(((1 - a) * b).sum())
    return both, only_a, only_b, a.size - both - only_a - only_b


def _resampled(
    after: list[Floats],
    before: list[Floats],
    value: Callable[[Floats, Floats], Floats],
    alpha: float,
    seed: int,
    assumes: tuple[str, ...],
) -> Interval:
    """Percentiles of `value` of the two means, with pairs redrawn within each task."""
    check_alpha(alpha)
    rng = np.random.default_rng(seed)
    picks = [rng.integers(a.size, size=(DRAWS, a.size)) for a in after]
    means = [
        np.mean([one[pick].mean(axis=1) for one, pick in zip(side, picks, strict=True)], axis=0)
        for side in (after, before)
    ]
    drawn = value(*means)
    drawn = drawn[np.isfinite(drawn)]
    low, high = (float(v) for v in np.quantile(drawn, [alpha / 2.0, 1.0 - alpha / 2.0]))
    point = float(value(*(np.asarray(np.mean([one.mean() for one in side])) for side in (after, before))))
    n = sum(a.size for a in after)
    name = "bootstrap over scenarios"
    return Interval(point, min(low, point), max(high, point), alpha, name, "asymptotic", assumes, n)
