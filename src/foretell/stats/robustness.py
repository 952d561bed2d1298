"""How a policy stands perturbations: success under a factor, what the factor changes, and one score to rank by.

`groups`, `perturbed` and `clean` hold one array per task, shape (n_t,): a score in [0, 1] for each scenario, perturbed
and clean ones in the same order. Every value is a mean of the tasks' means. Where all scores are successes and the
tasks have equally many scenarios, that is the rate of all trials put together, and intervals are those of counts;
taking tasks for one sample makes them a little wider than they need be. Otherwise the reaches of the tasks' own
intervals are squared and added, as Newcombe does. Intervals of one task are finite-sample (but of successes in more
than `paired.EXACT` scenarios); those of several tasks put together are called asymptotic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.agreement import r_squared
from foretell.stats.betting import star
from foretell.stats.binomial import clopper_pearson, newcombe_paired
from foretell.stats.bounds import bound
from foretell.stats.interval import ALPHA, Interval
from foretell.stats.paired import EXACT, paired_difference, table
from foretell.stats.partial import betting_difference
from foretell.stats.resampling import with_interval
from foretell.stats.retention import retention
from foretell.stats.scores import Floats, is_binary, scores

__all__ = [
    "delta_success", "factor_alignment", "factor_weights", "headline", "mean_of", "paired_change", "percentage_change",
    "put_together", "success_rate", "weighted_scores",
]  # fmt: skip

Groups = Sequence[ArrayLike]

TASKS = "tasks fixed, and put together as if they were one"


def success_rate(groups: Groups, alpha: float = ALPHA) -> Interval:
    """Mean over tasks of mean scores; groups: one array of shape (n_t,) per task. Clopper-Pearson of successes, `star`
    of partial credit."""
    tasks = _tasks(groups, "groups")
    if _countable(tasks):
        return clopper_pearson(int(sum(t.sum() for t in tasks)), sum(t.size for t in tasks), alpha)
    return mean_of([
        clopper_pearson(int(t.sum()), t.size, alpha) if is_binary(t) else star(t, alpha) for t in tasks
    ])  # fmt: skip


def paired_change(perturbed: Groups, clean: Groups, alpha: float = ALPHA, *, shuffled: bool = False) -> Interval:
    """Change of the mean score, perturbed less clean; both: one array of shape (n_t,) per task, paired.

    Successes: exact (`paired_difference`) up to `paired.EXACT` scenarios, Newcombe's paired score interval above.
    Partial credit: `betting_difference`. shuffled: as in `bounds.bound`.
    """
    after, before = _pairs(perturbed, clean)
    if _countable(after) and _countable(before):
        change = _change(np.concatenate(after), np.concatenate(before), alpha, shuffled)
        return change if len(after) == 1 else put_together(change)
    return mean_of([_change(a, b, alpha, shuffled) for a, b in zip(after, before, strict=True)])


def _change(after: Floats, before: Floats, alpha: float, shuffled: bool) -> Interval:
    if is_binary(after) and is_binary(before):
        return (paired_difference if after.size <= EXACT else newcombe_paired)(*table(after, before), alpha)
    return betting_difference(after, before, alpha, shuffled=shuffled)


def percentage_change(
    perturbed: Groups, clean: Groups, alpha: float = ALPHA, *, shuffled: bool = False
) -> Interval | None:
    """THE COLOSSEUM's change in percent: 100 (mean of perturbed - mean of clean) / mean of clean, a ratio of averages
    over the tasks a factor applies to; both: one array of shape (n_t,) per task, paired. None where clean is 0: the
    change is undefined.

    The interval is that of `retention`. Tasks that cannot be put together are averaged scenario by scenario first.
    shuffled: as in `bounds.bound`.
    """
    after, before = _pairs(perturbed, clean)
    if not any(task.any() for task in before):
        return None
    counts = _countable(after) and _countable(before)
    put = np.concatenate if counts else _columns
    kept = retention(put(after), put(before), alpha, shuffled=shuffled)
    assert kept is not None
    kept = put_together(kept) if counts and len(after) > 1 else kept
    value = 100.0 * (float(np.mean([t.mean() for t in after]) / np.mean([t.mean() for t in before])) - 1.0)
    low, high = (None if v is None else 100.0 * (v - 1.0) for v in (kept.low, kept.high))
    low, high = None if low is None else min(low, value), None if high is None else max(high, value)
    return replace(kept, estimate=value, low=low, high=high)


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
    interval = bound(weighted_scores(outcomes, factors), alpha=alpha, diagnostics=False)
    return replace(interval, notes=())


def factor_alignment(
    real: Sequence[ArrayLike], sim: Sequence[ArrayLike], alpha: float = ALPHA, *, seed: int = 0
) -> Interval:
    """R squared of success rates in two worlds (THE COLOSSEUM's Fig. 6); real, sim: P arrays of shape (n_i,), one for
    each policy and task. NaN where one of the worlds does not vary, and below three points."""
    rates = [[float(np.mean(np.asarray(outcomes, dtype=np.float64))) for outcomes in side] for side in (real, sim)]
    return with_interval(r_squared, *rates, real_outcomes=real, sim_outcomes=sim, alpha=alpha, seed=seed)


def _tasks(groups: Groups, name: str) -> list[Floats]:
    if not len(groups):
        raise ValueError(f"{name} needs at least one task")
    return [scores(task, f"{name}[{i}]") for i, task in enumerate(groups)]


def _pairs(perturbed: Groups, clean: Groups) -> tuple[list[Floats], list[Floats]]:
    after, before = _tasks(perturbed, "perturbed"), _tasks(clean, "clean")
    if [t.size for t in after] != [t.size for t in before]:
        sizes = [[t.size for t in side] for side in (after, before)]
        raise ValueError(f"perturbed and clean must pair one to one in every task, got sizes {sizes[0]} and {sizes[1]}")
    return after, before


def _countable(tasks: list[Floats]) -> bool:
    return len({t.size for t in tasks}) == 1 and all(map(is_binary, tasks))


def mean_of(tasks: list[Interval]) -> Interval:
    """Interval of the mean of independent tasks' values: their reaches to each side, squared and added."""
    if len(tasks) == 1:
        return tasks[0]
    centre = np.array([t.estimate for t in tasks])
    below = centre - [t.estimate if t.low is None else t.low for t in tasks]
    above = np.array([t.estimate if t.high is None else t.high for t in tasks]) - centre
    mean = float(centre.mean())
    low, high = (float(np.sqrt((reach**2).sum()) / len(tasks)) for reach in (below, above))
    return put_together(replace(tasks[0], estimate=mean, low=mean - low, high=mean + high, n=sum(t.n for t in tasks)))


def put_together(interval: Interval) -> Interval:
    """The interval of several tasks: no proof covers tasks that differ, although simulations do."""
    return replace(interval, guarantee="asymptotic", anytime=False, assumes=(*interval.assumes, TASKS))


def _columns(tasks: list[Floats]) -> Floats:
    """Mean over tasks of one scenario each, shape (least n_t,); a task with more deals them out and averages.

    Every column has the same expected value, the mean of the tasks' means.
    """
    least = min(t.size for t in tasks)
    at = [np.arange(t.size) % least for t in tasks]
    dealt = [np.bincount(i, t) / np.bincount(i) for i, t in zip(at, tasks, strict=True)]
    return np.asarray(np.mean(dealt, axis=0))
