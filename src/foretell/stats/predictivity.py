"""Predictivity of a simulator: metrics over policies, their intervals and leave-one-out values, in one place.

Conventions: real comes first, sim second, one value per policy; larger is better in both; NaN raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from foretell.stats.agreement import (
    METRICS,
    Homogeneity,
    Metric,
    kendall,
    kruskal_wallis,
    leave_one_out,
    mmrv,
    pairwise_accuracy,
    pearson,
    r_squared,
    rank_reversals,
    ranks,
    regret,
    spearman,
    success_gap,
)
from foretell.stats.claim import Claim, ordered_by_chance
from foretell.stats.decision import Decision, Shortlist, decide
from foretell.stats.interval import ALPHA, Interval
from foretell.stats.resampling import MIN_POLICIES, Over, with_interval

__all__ = [
    "METRICS", "MIN_POLICIES", "Claim", "Decision", "Homogeneity", "Metric", "Shortlist", "all_metrics", "decide",
    "kendall", "kruskal_wallis", "leave_one_out", "mmrv", "ordered_by_chance", "pairwise_accuracy", "pearson",
    "r_squared", "rank_reversals", "ranks", "regret", "spearman", "success_gap", "with_interval",
]  # fmt: skip


def all_metrics(
    real: ArrayLike,
    sim: ArrayLike,
    *,
    n_real: ArrayLike | None = None,
    n_sim: ArrayLike | None = None,
    real_outcomes: Sequence[ArrayLike] | None = None,
    sim_outcomes: Sequence[ArrayLike] | None = None,
    over: Over | None = None,
    alpha: float = ALPHA,
    draws: int = 2000,
    seed: int = 0,
    metrics: Mapping[str, Metric] = METRICS,
) -> dict[str, Interval]:
    """Every metric with its interval, by function name; real, sim: shape (P,), arguments as in `with_interval`.

    `diagnostics["leave_one_out"]` of each holds the values without each policy in turn (three or more).
    """
    table = {}
    for name, metric in metrics.items():
        interval = with_interval(
            metric, real, sim, n_real=n_real, n_sim=n_sim, real_outcomes=real_outcomes,
            sim_outcomes=sim_outcomes, over=over, alpha=alpha, draws=draws, seed=seed,
        )  # fmt: skip
        if interval.n >= 3:
            without = leave_one_out(metric, real, sim)
            interval = replace(interval, diagnostics={"leave_one_out": without.tolist()})
        table[name] = interval
    return table
