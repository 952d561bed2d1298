"""How much better tuned worlds predict than the world as it was, on data that they were not fitted to, with intervals.

Scenarios are resampled whole, with all policies and both worlds in them, because they share their luck. Ends reach
equally far to both sides, by the larger of the percentile distances, and a little more where scenarios are few, as
`stats.resampling` does: plain percentiles inherit the push that noise gives a metric. Noise hides a part of an
improvement, so intervals of large ones lie too low rather than too high: the lower end, which decides, is exceeded by
the truth at least as often as stated.
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.stats import ALPHA, Interval
from foretell.stats.resampling import MIN_POLICIES, UNDEFINED
from foretell.tune.objective import Objective

__all__ = ["improvement"]

DRAWS = 2000
SCENARIOS = "scenarios drawn independently; policies fixed"
POLICIES = "scenarios and policies drawn independently, policies from a population of such policies"
UNSEEN = "tuned worlds not fitted to the data that judge them"


def improvement(
    objective: Objective,
    real: Floats,
    before: Floats,
    after: Floats,
    tasks: Ints,
    *,
    policies: bool = False,
    alpha: float = ALPHA,
    seed: int = 0,
) -> Interval:
    """The change of the metric, positive where it is better, with its interval. Arrays: (P, S); tasks: (S,).

    `policies`: for policies like these, not for these alone; five or more are needed.
    """
    count, width = real.shape
    value = objective.sign * (objective.value(real, after, tasks) - objective.value(real, before, tasks)) + 0.0

    def made(low: float | None, high: float | None, reason: str | None = None) -> Interval:
        return Interval(
            estimate=float(value),
            low=low,
            high=high,
            alpha=alpha,
            method=f"{objective.metric}, paired bootstrap over {'policies and ' if policies else ''}scenarios",
            guarantee="asymptotic",
            assumes=(POLICIES if policies else SCENARIOS, UNSEEN),
            n=width,
            reason=reason,
        )

    if not np.isfinite(value):
        return made(None, None, "the metric is undefined on the held-out data: real or simulated scores do not vary")
    if policies and count < MIN_POLICIES:
        return made(
            None, None, f"{count} policies are too few for an interval over policies; {MIN_POLICIES} are needed"
        )
    if width < 2:
        return made(None, None, "one held-out scenario is too few for an interval")
    if np.array_equal(before, after):
        return made(0.0, 0.0, "on the held-out data the chosen worlds act as the world did")
    rng = np.random.default_rng(seed)
    weights = _redrawn(tasks, rng)
    pick = rng.integers(count, size=(DRAWS, count)) if policies else None
    changes = objective.values(real, after, tasks, weights, pick) - objective.values(real, before, tasks, weights, pick)
    changes = objective.sign * changes[np.isfinite(changes)]
    if changes.size < (1.0 - UNDEFINED) * DRAWS:
        return made(None, None, "the metric is undefined in most resamples: more policies or scenarios are needed")
    low, high = np.quantile(changes, [alpha / 2.0, 1.0 - alpha / 2.0])
    few = min(count, width) if policies else min(int((tasks == task).sum()) for task in np.unique(tasks))
    reach = _wider(few, alpha) * max(value - float(low), float(high) - value)
    return made(float(value - reach), float(value + reach))


def _redrawn(tasks: Ints, rng: np.random.Generator) -> Floats:
    """(DRAWS, S): how often each scenario is drawn. Each task keeps its number of scenarios."""
    weights = np.zeros((DRAWS, len(tasks)))
    for task in np.unique(tasks):
        mine = np.flatnonzero(tasks == task)
        weights[:, mine] = rng.multinomial(len(mine), np.full(len(mine), 1.0 / len(mine)), size=DRAWS)
    return weights


def _wider(n: int, alpha: float) -> float:
    """Resamples of n units vary too little: the reach grows as Student's t does over the normal."""
    from scipy.special import ndtri, stdtrit

    if n < 2:
        return 1.0
    return float(stdtrit(n - 1, alpha / 2.0) / ndtri(alpha / 2.0) * (n / (n - 1.0)) ** 0.5)
