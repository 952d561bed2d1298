"""What is tuned: how well simulated scores agree with real ones, as one number on arrays of policies and scenarios.

Arrays have shape (P, S): a score of each policy in each scenario. `tasks` has shape (S,): the number of each scenario's
task. The value is the mean over tasks. Rows of `weights`, shape (B, S), are data sets made of these scenarios.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.stats import METRICS
from foretell.stats.agreement import CORRELATED, MIN_CORRELATED, metrics_of

__all__ = ["OBJECTIVES", "SCENARIO", "Objective"]

SCENARIO = "scenario_correlation"
"""Mean over policies of the correlation over scenarios, by which simulation narrows the bound on a policy."""
BETTER = {
    "pearson": 1, "spearman": 1, "kendall": 1, "pairwise_accuracy": 1, "r_squared": 1, SCENARIO: 1,
    "mmrv": -1, "mmrv_sim": -1, "rank_reversals": -1, "success_gap": -1,
}  # fmt: skip
"""Metric -> 1 where more is better, -1 where less is. `mmrv_sim` charges the gap in simulation (`--gap sim`)."""
KNOWN = {**METRICS, "mmrv_sim": metrics_of("sim")["mmrv"]}
OBJECTIVES = tuple(BETTER)


@dataclass(frozen=True)
class Objective:
    """A metric that is to be improved."""

    metric: str

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return BETTER[self.metric]

    @property
    def policies(self) -> int:
        """Policies that it needs."""
        return 1 if self.metric == SCENARIO else MIN_CORRELATED if self.metric in CORRELATED else 2

    def value(self, real: Floats, sim: Floats, tasks: Ints) -> float:
        """The metric's mean over tasks; NaN where it is undefined. real, sim: (P, S)."""
        return float(self.values(real, sim, tasks, np.ones((1, len(tasks))))[0])

    def values(self, real: Floats, sim: Floats, tasks: Ints, weights: Floats, pick: Ints | None = None) -> Floats:
        """The metric on each of B data sets, shape (B,). pick: (B, P) policies of each; None: all of them."""
        parts = []
        for task in np.unique(tasks):
            mine = tasks == task
            w = weights[:, mine] / weights[:, mine].sum(axis=1, keepdims=True)
            if self.metric == SCENARIO:
                parts.append(_within(real[:, mine], sim[:, mine], w, pick))
            else:
                a, b = (_picked(w @ side[:, mine].T, pick) for side in (real, sim))
                parts.append(KNOWN[self.metric](a, b))
        mean: Floats = np.mean(parts, axis=0)
        return mean


def _picked(rows: Floats, pick: Ints | None) -> Floats:
    return rows if pick is None else np.take_along_axis(rows, pick, axis=1)


def _within(real: Floats, sim: Floats, w: Floats, pick: Ints | None) -> Floats:
    """(B,) mean over policies of the correlation over scenarios. A policy whose real scores do not vary says nothing of
    any simulator, and is left out; simulated scores that do not vary are worth 0."""
    a, b = w @ real.T, w @ sim.T
    both = np.maximum(w @ (real * real).T - a * a, 0.0), np.maximum(w @ (sim * sim).T - b * b, 0.0)
    varies = [spread > 1e-12 for spread in both]
    scale = np.sqrt(np.where(varies[0] & varies[1], both[0] * both[1], 1.0))
    each = np.where(varies[1], (w @ (real * sim).T - a * b) / scale, 0.0)
    each = _picked(np.where(varies[0], each, np.nan), pick)
    known = np.isfinite(each)
    count = known.sum(axis=1)
    mean: Floats = np.where(count > 0, np.where(known, each, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)
    return mean
