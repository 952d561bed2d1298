"""Families of policies with known true rates, to see how often intervals of predictivity metrics hold the truth."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.stats.agreement import METRICS, Metric
from foretell.stats.interval import Interval
from foretell.stats.resampling import with_interval
from foretell.stats.scores import Floats

__all__ = ["FAMILIES", "Covered", "Family", "covered"]


@dataclass(frozen=True)
class Covered:
    """What the intervals of one metric did: how many were given, how many held the truth, mean width of the first."""

    alpha: float
    given: int
    held: int
    width: float


@dataclass(frozen=True, kw_only=True)
class Family:
    """Policies of one regime: true rates in both worlds, and how trials are made."""

    name: str
    real: tuple[float, ...]
    sim: tuple[float, ...]
    n_real: int | tuple[int, ...]
    """Real trials of each policy; scenarios, where `luck` is given."""
    n_sim: int | None
    """Simulated trials of each policy; None: its rates are known exactly."""
    luck: float | None = None
    """Every policy meets the same scenarios in both worlds, and this share of a trial's luck is its scenario's."""
    repeats: tuple[int, int] = (1, 1)
    """Real and simulated trials of a scenario, which count as one score, their mean."""
    alike: float = 1.0
    """Correlation of a scenario's luck in the two worlds: -1 where scenarios easy in one are hard in the other."""

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Arguments of `with_interval` for new trials."""
        if self.luck is None:
            return self._counts(rng)
        (scenarios,) = {self.n_real} if isinstance(self.n_real, int) else set(self.n_real)
        shared = rng.standard_normal(scenarios)
        simulated = self.alike * shared + (1.0 - self.alike**2) ** 0.5 * rng.standard_normal(scenarios)
        scores = [
            [self._scores(rng, rate, luck, repeats) for rate in rates]
            for rates, luck, repeats in zip((self.real, self.sim), (shared, simulated), self.repeats, strict=True)
        ]
        real, sim = (np.array([trials.mean() for trials in world]) for world in scores)
        return {"real": real, "sim": sim, "real_outcomes": scores[0], "sim_outcomes": scores[1]}

    def _scores(self, rng: np.random.Generator, rate: float, shared: Floats, repeats: int) -> Floats:
        from scipy.special import ndtri

        share = self.luck or 0.0
        own = rng.standard_normal((repeats, shared.size))
        mean: Floats = (share**0.5 * shared + (1.0 - share) ** 0.5 * own < ndtri(rate)).mean(axis=0)
        return mean

    def _counts(self, rng: np.random.Generator) -> dict[str, Any]:
        size = len(self.real)
        n = np.broadcast_to(self.n_real, size)
        given: dict[str, Any] = {"real": rng.binomial(n, self.real) / n, "n_real": n, "sim": np.array(self.sim)}
        if self.n_sim is not None:
            m = np.broadcast_to(self.n_sim, size)
            given |= {"sim": rng.binomial(m, self.sim) / m, "n_sim": m}
        return given


def _even(low: float, high: float, count: int) -> tuple[float, ...]:
    return tuple(np.linspace(low, high, count).round(6).tolist())


_SPREAD = ((0.1, 0.25, 0.4, 0.55, 0.7, 0.85), (0.2, 0.2, 0.5, 0.45, 0.8, 0.7))
_EIGHT = _even(0.6, 0.74, 8)
_SWAPPED = tuple(_EIGHT[i] for i in (1, 0, 3, 2, 5, 4, 7, 6))
_FIVE = ((0.3, 0.45, 0.6, 0.75, 0.9), (0.4, 0.35, 0.7, 0.7, 0.95))

FAMILIES = (
    Family(name="spread, 60 trials", real=_SPREAD[0], sim=_SPREAD[1], n_real=60, n_sim=200),
    Family(name="spread, 20 trials", real=_SPREAD[0], sim=_SPREAD[1], n_real=20, n_sim=100),
    Family(
        name="close, 25 trials",
        real=(0.5, 0.55, 0.6, 0.62, 0.65, 0.7, 0.8),
        sim=(0.5, 0.6, 0.5, 0.7, 0.7, 0.6, 0.85),
        n_real=25,
        n_sim=100,
    ),
    Family(
        name="good simulator, 25 trials",
        real=(0.05, 0.1, 0.3, 0.6, 0.9, 0.95),
        sim=(0.02, 0.1, 0.4, 0.7, 0.9, 0.99),
        n_real=25,
        n_sim=100,
    ),
    Family(name="eight close, 20 trials", real=_EIGHT, sim=_SWAPPED, n_real=20, n_sim=100),
    Family(name="eight close, perfect simulator", real=_EIGHT, sim=_EIGHT, n_real=20, n_sim=100),
    Family(
        name="perfect simulator of 0.5 to 0.6", real=_even(0.5, 0.6, 6), sim=_even(0.5, 0.6, 6), n_real=20, n_sim=100
    ),
    Family(name="the same, known exactly", real=_even(0.5, 0.6, 6), sim=_even(0.5, 0.6, 6), n_real=20, n_sim=None),
    Family(name="opposite simulator", real=_even(0.3, 0.8, 5), sim=_even(0.8, 0.3, 5), n_real=20, n_sim=200),
    Family(name="three policies", real=(0.4, 0.55, 0.8), sim=(0.45, 0.5, 0.9), n_real=20, n_sim=200),
    Family(name="four policies, 10 trials", real=(0.3, 0.5, 0.52, 0.8), sim=(0.4, 0.5, 0.9, 0.95), n_real=10, n_sim=50),
    Family(name="ties", real=(0.5, 0.5, 0.7, 0.7, 0.9), sim=(0.4, 0.6, 0.6, 0.6, 0.8), n_real=30, n_sim=100),
    Family(
        name="near 100 %, one at it",
        real=(0.8, 0.9, 0.95, 0.98, 1.0),
        sim=(0.85, 0.9, 0.97, 0.96, 1.0),
        n_real=20,
        n_sim=200,
    ),
    Family(name="unequal trials", real=_FIVE[0], sim=_FIVE[1], n_real=(5, 60, 10, 40, 8), n_sim=500),
    Family(
        name="10,000 simulated trials", real=_even(0.55, 0.65, 7), sim=_even(0.55, 0.65, 7), n_real=50, n_sim=10_000
    ),
    Family(name="equal policies", real=(0.5,) * 5, sim=_even(0.4, 0.6, 5), n_real=20, n_sim=100),
    Family(name="common scenarios", real=_FIVE[0], sim=_FIVE[1], n_real=20, n_sim=20, luck=0.6),
    Family(
        name="common scenarios, repeated trials",
        real=(0.8, 0.86, 0.9, 0.94, 0.97),
        sim=(0.8, 0.86, 0.9, 0.94, 0.97),
        n_real=20,
        n_sim=20,
        luck=0.8,
        repeats=(3, 10),
    ),
    Family(
        name="common scenarios, luck of each world's own",
        real=_FIVE[0],
        sim=_FIVE[0],
        n_real=20,
        n_sim=20,
        luck=0.6,
        alike=0.0,
    ),
    Family(
        name="common scenarios, opposite luck",
        real=_FIVE[0],
        sim=_FIVE[0],
        n_real=20,
        n_sim=20,
        luck=0.6,
        alike=-1.0,
    ),
)


def covered(
    family: Family,
    draws: int,
    alphas: Sequence[float],
    seed: int,
    metrics: Mapping[str, Metric] = METRICS,
    widths: int = 20,
    interval: Callable[..., Interval] = with_interval,
) -> dict[str, tuple[Covered, ...]]:
    """Metric -> what its intervals did at each of `alphas`, the largest first.

    A metric without a true value (a correlation of equal rates) is left out, and so are draws without an interval.
    After the first `widths` draws a search ends as soon as it has the truth between its ends, which a longer one only
    moves out; and a truth held at one alpha counts as held at smaller ones, whose regions are larger.
    """
    if list(alphas) != sorted(alphas, reverse=True):
        raise ValueError(f"alphas must fall, got {list(alphas)}")
    rng = np.random.default_rng([seed, zlib.crc32(family.name.encode())])
    truth = {name: float(metric(family.real, family.sim)) for name, metric in metrics.items()}
    truth = {name: value for name, value in truth.items() if np.isfinite(value)}
    given = dict.fromkeys(truth, 0)
    held = {name: [0] * len(alphas) for name in truth}
    width: dict[str, list[list[float]]] = {name: [[] for _ in alphas] for name in truth}
    for i in range(draws):
        trials = family.draw(rng)
        for name, value in truth.items():
            holds = False
            for k, alpha in enumerate(alphas):
                if holds and i >= widths:
                    held[name][k] += 1
                    continue
                ends = interval(metrics[name], **trials, alpha=alpha, stop_at=value if i >= widths else None)
                if ends.low is None:
                    break
                holds = _holds(ends, value)
                held[name][k] += holds
                given[name] += k == 0
                if i < widths:
                    width[name][k].append(ends.width)
    return {
        name: tuple(
            Covered(alpha, given[name], held[name][k], float(np.mean(width[name][k] or [np.nan])))
            for k, alpha in enumerate(alphas)
        )
        for name in truth
        if given[name]
    }


def _holds(interval: Interval, truth: float) -> bool:
    low, high = interval.low, interval.high
    assert low is not None and high is not None
    return low <= truth + 1e-12 and truth - 1e-12 <= high  # sums of floats: allow for their rounding
