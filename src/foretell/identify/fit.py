"""Three ways to fit θ to recorded motion. Each asks for many points at once, which run side by side."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mujoco import minimize

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.identify.parameter import Space

__all__ = ["WAYS", "Searched", "anneal", "cma_es", "least_squares"]

Residuals = Callable[[list[Floats]], list[Floats]]
"""Points -> residuals of each, one row."""
Cost = Callable[[list[Floats]], Floats]
"""Points -> the loss that the search minimises at each; infinite where physics diverged."""
Notify = Callable[[int, float], None]
"""Called with the number of points tried and the best loss so far."""


@dataclass(frozen=True)
class Searched:
    """Where a search ended."""

    x: Floats
    tried: int
    """Points tried."""
    notes: tuple[str, ...] = ()
    """What a user should know of the search."""


def least_squares(space: Space, residuals: Residuals, cost: Cost, budget: int, seed: int, notify: Notify) -> Searched:
    """MuJoCo's Gauss-Newton with bounds, the solver of `mujoco.sysid`. Derivatives are central differences, whose
    points run side by side. The seed has no effect."""
    tried, best, notes = 0, np.inf, []
    per_step = 2 * len(space.start) + 2

    def at(x: Floats) -> Floats:
        nonlocal tried, best
        points = [column.copy() for column in x.T]
        values = residuals(points)
        tried += len(points)
        best = min(best, *(float(v @ v) for v in values))
        notify(tried, best)
        return np.stack(values, axis=1)

    def slopes(x: Floats, r: Floats) -> Floats:
        columns = jacobian(space, x[:, 0], lambda points: list(at(np.stack(points, axis=1)).T))
        return np.where(np.isfinite(columns), columns, 0.0)  # next to where physics diverges

    printed = io.StringIO()  # the solver tells only its printed output why it stopped
    steps = max(1, budget // per_step)
    x, _ = minimize.least_squares(
        space.start,
        at,
        bounds=[space.low, space.high],
        jacobian=slopes,
        x_scale="jac",
        xtol=1e-4,
        max_iter=steps,
        verbose=minimize.Verbosity.FINAL,
        output=printed,
    )
    if "maximum iterations" in printed.getvalue():
        notes.append(f"the search stopped after {steps} steps and may not have arrived: allow more evaluations")
    if "factorization failed" in printed.getvalue():
        notes.append("the search stopped because the parameters cannot be told apart: vary fewer of them")
    return Searched(x.ravel(), tried, tuple(notes))


def jacobian(space: Space, x: Floats, residuals: Residuals) -> Floats:
    """(residuals, parameters) central differences at x, one-sided at a bound."""
    ends = [
        (np.clip(x - step, space.low, space.high), np.clip(x + step, space.low, space.high)) for step in _axes(space)
    ]
    values = residuals([point for pair in ends for point in pair])
    columns = []
    for k, (low, high) in enumerate(ends):
        with np.errstate(invalid="ignore"):  # physics may diverge at an end
            columns.append((values[2 * k + 1] - values[2 * k]) / (high[k] - low[k]))
    return np.stack(columns, axis=1)


def _axes(space: Space) -> Floats:
    return np.diag(space.step)


CHAINS = 8
"""Annealing runs so many chains side by side."""
ROUNDS, SHRINK = 3, 0.4
"""SIMPLER's rounds of annealing, and the share of the last round's range that a round searches."""


def anneal(space: Space, residuals: Residuals, cost: Cost, budget: int, seed: int, notify: Notify) -> Searched:
    """SIMPLER's way: three rounds of simulated annealing, each around the best point so far, in a smaller range."""
    rng = np.random.default_rng(seed)
    best, least, tried = space.start, float(cost([space.start])[0]), 1
    width = space.high - space.low
    for round_ in range(ROUNDS):
        low = np.maximum(space.low, best - 0.5 * width * SHRINK**round_)
        high = np.minimum(space.high, best + 0.5 * width * SHRINK**round_)
        steps = max(1, (budget - tried) // (CHAINS * (ROUNDS - round_)))
        at, now = [best] * CHAINS, np.full(CHAINS, least)
        for step in range(steps):
            heat = 1.0 - step / steps
            jumps = 0.3 * max(heat, 0.05) * rng.standard_normal((CHAINS, len(best)))
            points = [np.clip(x + (high - low) * jump, low, high) for x, jump in zip(at, jumps, strict=True)]
            values = cost(points)
            tried += CHAINS
            warmth = 0.3 * least * heat
            worse = np.maximum(values - now, 0.0)
            taken = rng.random(CHAINS) < np.exp(-worse / max(warmth, 1e-300))
            for chain in np.flatnonzero(taken).tolist():
                at[chain], now[chain] = points[chain], values[chain]
            if values.min() < least:
                least, best = float(values.min()), points[int(values.argmin())]
            notify(tried, least)
    return Searched(best, tried)


def cma_es(space: Space, residuals: Residuals, cost: Cost, budget: int, seed: int, notify: Notify) -> Searched:
    """Covariance matrix adaptation (package `cma`), on the range scaled to [0, 1]."""
    try:
        import cma
    except ModuleNotFoundError:
        raise UsageError("identify: way cma needs the package cma: pip install 'foretell[identify]'") from None
    width = space.high - space.low
    options = {"bounds": [0, 1], "seed": seed + 1, "maxfevals": budget, "verbose": -9}
    search = cma.CMAEvolutionStrategy((space.start - space.low) / width, 0.15, options)
    tried = 0
    while not search.stop():
        shares = search.ask()
        values = cost([space.low + width * np.asarray(share) for share in shares])
        search.tell(shares, np.where(np.isfinite(values), values, 1e9).tolist())
        tried += len(shares)
        notify(tried, float(search.result.fbest))
    return Searched(space.low + width * np.asarray(search.result.xbest), tried)


WAYS = {"least-squares": least_squares, "anneal": anneal, "cma": cma_es}
