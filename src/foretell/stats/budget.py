"""Planning: how many real trials, what simulation can buy, and where that stops.

Forecasts of `star` and `blocked` come from a formula with one constant, checked against measured widths: over
the regimes of the width table it is within 30 % (see the tests). They are planning aids, not bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.stats.binomial import clopper_pearson_ends, z_value
from foretell.stats.interval import ALPHA
from foretell.stats.sampling import Selection, next_scenarios, sampled_bound
from foretell.stats.scores import Floats, check_alpha

__all__ = [
    "MOST", "Selection", "SimulationWorth", "forecast_exact_width", "forecast_power", "forecast_width",
    "next_scenarios", "reach", "sampled_bound", "simulation_worth", "smallest", "trials_for_power", "trials_for_width",
]  # fmt: skip

MOST = 1_000_000
"""Plans beyond this many real trials are reported as impossible."""


def _spread(rate: float, variance: float | None) -> float:
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must lie in [0, 1], got {rate}")
    most = rate * (1.0 - rate)
    if variance is None:
        return most
    if not 0.0 <= variance <= most + 1e-12:
        raise ValueError(f"a score with mean {rate} has variance between 0 and {most:.4g}, got {variance}")
    return variance


def reach(n: int, mean: float, variance: float, correlation: float, share: float, level: float) -> float:
    """Forecast distance from the mean to one end; `share` is k / (k + 1) for k extra scenarios per trial.

    A part from chance, as in a normal interval, and a part from solvency: a bet may stake no more than
    1 / (m + beta share), and each trial then refutes at most so much. They are added in quadrature, and
    beta takes the value with the best sum.
    """
    z, goal = z_value(2.0 * level), math.log(1.0 / level)
    beta = np.linspace(0.0, 1.0, 101) if share > 0.0 else np.zeros(1)
    chance = z * z / n * variance * np.maximum(1.0 + beta * share * (beta - 2.0 * correlation), 0.0)
    half = np.zeros_like(beta)
    for _ in range(8):  # solvency depends on the end itself, m = mean - half: iterate to the fixed point
        solvency = (np.clip(mean - half, 0.0, 1.0) + beta * share) * goal / n
        half = np.minimum(np.sqrt(solvency**2 + chance), mean)
    return float(half.min())


def forecast_width(
    n: int,
    rate: float,
    *,
    correlation: float = 0.0,
    extra: float = 0.0,
    variance: float | None = None,
    alpha: float = ALPHA,
) -> float:
    """Expected width of `blocked` (`star` if extra = 0) for n real trials. Scalars in.

    rate: mean score. variance: of the real score, default that of a binary one; the simulator's is taken to
    be the same. correlation: of real and sim on the pairs. extra: simulated scenarios N, may be infinite.
    """
    if n < 1 or extra < 0 or not -1.0 <= correlation <= 1.0:
        raise ValueError(f"need n >= 1, extra >= 0, |correlation| <= 1; got {n}, {extra}, {correlation}")
    spread = _spread(rate, variance)
    share = 1.0 if math.isinf(extra) else extra / (extra + n)
    level = check_alpha(alpha) / 2.0
    below = reach(n, rate, spread, correlation, share, level)
    above = reach(n, 1.0 - rate, spread, correlation, share, level)
    return below + above


def forecast_exact_width(n: int, rate: float, alpha: float = ALPHA) -> float:
    """Expected width of `clopper_pearson` for n binary real trials, summed exactly. Scalars in."""
    from scipy.special import betaln, xlog1py, xlogy

    _spread(rate, None)
    k = np.arange(n + 1)
    logs = -math.log(n + 1) - betaln(n - k + 1, k + 1) + xlogy(k, rate) + xlog1py(n - k, -rate)
    weights = np.exp(logs)
    widths = np.zeros(n + 1)
    for i in np.flatnonzero(weights > 1e-12):
        low, high = clopper_pearson_ends(int(i), n, alpha)
        widths[i] = high - low
    return float(weights @ widths)


def smallest(good: Callable[[int], bool]) -> int | None:
    """Smallest n >= 2 with good(n), for a condition that stays true once true; None beyond `MOST`."""
    high = 2
    while not good(high):
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def trials_for_width(
    width: float,
    rate: float,
    *,
    correlation: float = 0.0,
    extra: float = 0.0,
    variance: float | None = None,
    alpha: float = ALPHA,
) -> int | None:
    """Real trials needed for an expected width with `extra` simulated scenarios, or None. Scalars in."""
    if not 0.0 < width < 1.0:
        raise ValueError(f"width must lie in (0, 1), got {width}")

    def good(n: int) -> bool:
        forecast = forecast_width(n, rate, correlation=correlation, extra=extra, variance=variance, alpha=alpha)
        return forecast <= width

    return smallest(good)


def forecast_power(
    n: int,
    rate_a: float,
    rate_b: float,
    *,
    agreement: float = 0.0,
    correlation: float = 0.0,
    extra: float = 0.0,
    alpha: float = ALPHA,
) -> float:
    """Chance that `paired_betting` (two-sided) tells two binary policies apart after n common scenarios.

    agreement: correlation of the two policies' real outcomes over scenarios. correlation: of the real
    difference with the simulated one. extra: further scenarios simulated with both policies. Scalars in.
    """
    va, vb = _spread(rate_a, None), _spread(rate_b, None)
    difference = abs(rate_a - rate_b)
    spread = 0.25 * max(va + vb - 2.0 * agreement * math.sqrt(va * vb), 1e-6)  # of (1 + a - b) / 2
    share = 1.0 if math.isinf(extra) else extra / (extra + n)
    half = 2.0 * reach(n, 0.5 * (1.0 + difference), spread, correlation, share, check_alpha(alpha) / 2.0)
    error = 2.0 * math.sqrt(spread * (1.0 - max(correlation, 0.0) ** 2 * share) / n)
    return 0.5 * math.erfc((half - difference) / max(error, 1e-9) / math.sqrt(2.0))


def trials_for_power(
    rate_a: float,
    rate_b: float,
    power: float = 0.8,
    *,
    agreement: float = 0.0,
    correlation: float = 0.0,
    extra: float = 0.0,
    alpha: float = ALPHA,
) -> int | None:
    """Common scenarios needed to tell two binary policies apart with this power, or None. Scalars in."""
    if not 0.0 < power < 1.0:
        raise ValueError(f"power must lie in (0, 1), got {power}")

    def good(n: int) -> bool:
        forecast = forecast_power(
            n, rate_a, rate_b, agreement=agreement, correlation=correlation, extra=extra, alpha=alpha
        )
        return forecast >= power

    return None if rate_a == rate_b else smallest(good)


@dataclass(frozen=True, kw_only=True)
class SimulationWorth:
    """What N simulated scenarios buy for a fixed number of real trials."""

    sizes: NDArray[np.int64]
    """Shape (S,)."""
    widths: Floats
    """Forecast width at each size, shape (S,)."""
    trials: NDArray[np.int64]
    """Real trials alone that would give the same width, shape (S,); 0 where out of reach."""
    floor: float
    """Forecast width with endless simulation: below this only real trials help."""
    stops_at: int | None
    """First of `sizes` within 2 % of the floor, where more simulation stops paying; None if none is."""


def simulation_worth(
    n: int,
    rate: float,
    correlation: float,
    sizes: Sequence[int] | None = None,
    *,
    variance: float | None = None,
    alpha: float = ALPHA,
) -> SimulationWorth:
    """Forecast for n real trials and each N in `sizes` (default n, 2n, 5n, ... 1000n). Scalars in."""
    picks = [n * k for k in (1, 2, 5, 10, 20, 50, 100, 1000)] if sizes is None else [int(s) for s in sizes]

    def at(extra: float) -> float:
        return forecast_width(n, rate, correlation=correlation, extra=extra, variance=variance, alpha=alpha)

    widths = np.array([at(s) for s in picks])
    floor = at(math.inf)
    alone = [trials_for_width(min(w, 1.0 - 1e-9), rate, variance=variance, alpha=alpha) or 0 for w in widths]
    near = [s for s, w in zip(picks, widths, strict=True) if w <= 1.02 * floor]
    return SimulationWorth(
        sizes=np.array(picks),
        widths=widths,
        trials=np.array(alone, dtype=np.int64),
        floor=floor,
        stops_at=near[0] if near else None,
    )
