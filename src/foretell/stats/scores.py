"""Checking of input arrays: every public function of `foretell.stats` passes its scores through here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.interval import Interval

Floats = NDArray[np.float64]
Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)


def check_alpha(alpha: float) -> float:
    """alpha itself, if it lies strictly between 0 and 1."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie strictly between 0 and 1, got {alpha!r}")
    return float(alpha)


def vector(values: ArrayLike, name: str, *, at_least: int = 1) -> Floats:
    """`values` as a float vector of shape (n,); NaN, infinity, another rank or n < at_least raise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got shape {array.shape}")
    if array.size < at_least:
        raise ValueError(f"{name} needs at least {at_least} values, got {array.size}")
    # min and max pass NaN and infinity on and, unlike a mask, allocate nothing.
    if array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{bad}] is {array[bad]}: scores must be finite")
    return array


def scores(values: ArrayLike, name: str, *, within: Range = UNIT, at_least: int = 1) -> Floats:
    """`values` of shape (n,) mapped from [low, high] = `within` to [0, 1]; a value outside raises."""
    low, high = within
    if not low < high:
        raise ValueError(f"range of {name} must have low < high, got {within}")
    array = vector(values, name, at_least=at_least)
    if array.size and (array.min() < low or array.max() > high):
        i = int(np.flatnonzero((array < low) | (array > high))[0])
        raise ValueError(f"{name}[{i}] = {array[i]:g} lies outside the range [{low:g}, {high:g}]")
    return array if within == UNIT else (array - low) / (high - low)


def pair(real: ArrayLike, sim: ArrayLike, *, at_least: int = 2) -> tuple[Floats, Floats]:
    """Two vectors of equal shape (n,)."""
    a, b = vector(real, "real", at_least=at_least), vector(sim, "sim", at_least=at_least)
    if a.shape != b.shape:
        raise ValueError(f"real and sim must pair one to one, got {a.size} and {b.size} values")
    return a, b


def is_binary(values: NDArray[Any]) -> bool:
    """True when every score is exactly 0 or 1."""
    return bool(np.all((values == 0.0) | (values == 1.0)))


def stretch(interval: Interval, within: Range) -> Interval:
    """An interval of a [0, 1] score expressed in the user's range [low, high] = `within`."""
    low, high = within
    if within == UNIT:
        return interval
    size = high - low

    def back(x: float | None) -> float | None:
        return None if x is None else low + size * x

    estimate = low + size * interval.estimate
    return replace(interval, estimate=estimate, low=back(interval.low), high=back(interval.high))


def simulated(
    real: ArrayLike, sim: ArrayLike, extra: ArrayLike, within: Range, sim_within: Range, *, at_least: int = 1
) -> tuple[Floats, Floats, Floats]:
    """real and sim of shape (n,), paired, and extra of shape (N,), N >= 1, all mapped to [0, 1]."""
    y = scores(real, "real", within=within, at_least=at_least)
    f = scores(sim, "sim", within=sim_within, at_least=at_least)
    if y.size != f.size:
        raise ValueError(f"real and sim must pair one to one, got {y.size} and {f.size} values")
    return y, f, scores(extra, "extra", within=sim_within)
