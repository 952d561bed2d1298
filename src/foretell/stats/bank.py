"""`bank`: `blocked` with several simulators at once, whose weights are learned from the trials before.

Construction
------------
Simulator k gives trial t a control c_tk as in `blocked`, all simulators on the same scenarios and with the same blocks
of extra ones. The bank plays the game of `blocked` with one control, their mean under weights w_tk >= 0 of sum one:

    c_t = sum_k w_tk c_tk.

The weights of trial t are computed from the trials before t. They are in proportion to the least squares coefficients,
none of them negative, of past scores (less their mean) on past controls, started with `PRIOR_TRIALS` imaginary trials
in which all simulators help alike. Where no coefficient is positive they stay as they were.

Why it covers
-------------
Given the past, w_t is a fixed vector. Each c_tk has mean zero given the past (step 1 of `blocked`), whatever simulator
k knows and however simulators depend on each other, so c_t has mean zero too. A mean of numbers in [-g_t, g_t] is one
of them, so wealth stays positive (step 2). Nothing else in the proof of `blocked` looks at how a control was made. With
one simulator the weight is one and the game is that of `blocked`.

The simulators and their order are chosen before the outcomes are seen, as a method is.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.blocked import BLOCK, CONTROLLED, PRIOR_CONTROL_VARIANCE, STEPS, controls, played
from foretell.stats.interval import ALPHA, OPEN, Horizon, Interval, check_horizon
from foretell.stats.order import by_content, several
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, scores, stretch
from foretell.stats.united import few_valued, hull

__all__ = ["bank", "last_weights", "learned"]

PRIOR_TRIALS = 8.0
PRIOR_COEFFICIENT = 0.3
"""Coefficient that every simulator is expected to have before the first trial, shared among them."""
ROUNDS = 40
"""Of coordinate descent: weights need no more digits than that gives, and any are valid."""


def learned(y: Floats, c: Floats) -> Floats:
    """Weights (n, K) of the simulators at each trial, from scores y (n,) and controls c (n, K) of the trials before."""
    n, many = c.shape
    square = PRIOR_TRIALS * PRIOR_CONTROL_VARIANCE * np.eye(many)
    cross, shift = square @ np.full(many, PRIOR_COEFFICIENT / many), np.zeros(many)
    weights, now, total = np.empty((n, many)), np.full(many, 1.0 / many), 0.5
    best = np.full(many, PRIOR_COEFFICIENT / many)
    for t in range(n):
        weights[t] = now
        square += np.outer(c[t], c[t])
        cross, shift, total = cross + y[t] * c[t], shift + c[t], total + y[t]
        best = _positive(square, cross - total / (t + 2) * shift, best)
        if best.sum() > 0.0:
            now = best / best.sum()
    return weights


def _positive(square: Floats, cross: Floats, start: Floats) -> Floats:
    """Least squares coefficients (K,), none negative, by coordinate descent."""
    best = start.copy()
    for _ in range(ROUNDS if best.size > 1 else 0):
        for k in range(best.size):
            rest = cross[k] - square[k] @ best + square[k, k] * best[k]
            best[k] = max(0.0, rest / square[k, k])
    return best


def mixed_controls(y: Floats, f: Floats, e: Floats, blocks: int | None) -> tuple[Floats, Floats, Floats]:
    """The bank's control and its bounds, (n,) each, and the weights (n, K); y: (n,), f: (n, K), e: (N, K)."""
    made = [controls(f[:, k], e[:, k], blocks) for k in range(f.shape[1])]
    each = np.stack([c for c, _ in made], axis=1)
    weights = learned(y, each)
    return np.asarray((weights * each).sum(axis=1)), made[0][1], weights


def bank(
    real: ArrayLike,
    sims: ArrayLike,
    extras: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    horizon: Horizon = None,
    shuffled: bool = False,
    steps: int = STEPS,
) -> Interval:
    """Bound on mean real performance from K simulators. Arrays have shapes real (n,), sims (n, K), paired, and extras
    (N, K) with N >= 1.

    Rows of `extras` are scenarios that every simulator ran. horizon and shuffled: as in `blocked`.
    """
    y, f, e = _checked(real, sims, extras, within, sim_within)
    columns = [*f.T]
    horizon = check_horizon(horizon)
    if horizon is None and not shuffled:
        if few_valued(y, *columns):
            game = partial(_play, alpha=alpha, horizon=y.size, steps=steps)
            orders = zip(several(y, *columns), several(*e.T), strict=True)
            return stretch(hull([game(y[i], f[i], e[j]) for i, j in orders]), within)
        e = e[by_content(*e.T, y, *columns)]
    e = e[by_content(*e.T)]
    if horizon is None:
        order = by_content(y, *columns, *e.T)
        y, f = y[order], f[order]
    return stretch(_play(y, f, e, alpha=alpha, horizon=horizon, steps=steps), within)


def last_weights(
    real: ArrayLike, sims: ArrayLike, extras: ArrayLike, within: Range = UNIT, sim_within: Range = UNIT
) -> Floats:
    """(K,) weights of the simulators after the last trial; shapes as in `bank`. For people: they prove nothing."""
    y, f, e = _checked(real, sims, extras, within, sim_within)
    made = np.stack([controls(f[:, k], e[:, k])[0] for k in range(f.shape[1])], axis=1)
    last: Floats = learned(np.append(y, 0.0), np.vstack([made, made[-1:]]))[-1]
    return last


def _play(y: Floats, f: Floats, e: Floats, *, alpha: float, horizon: Horizon, steps: int) -> Interval:
    """The game on rows in the order in which they are bet on, scores in [0, 1]."""
    blocks = None if horizon is None else max(1, len(e) // BLOCK) if horizon == OPEN else horizon
    c, g, _ = mixed_controls(y, f, e, blocks)
    return played(y, c, g, check_alpha(alpha), horizon, "bank", CONTROLLED, len(e), steps)


def _checked(
    real: ArrayLike, sims: ArrayLike, extras: ArrayLike, within: Range, sim_within: Range
) -> tuple[Floats, Floats, Floats]:
    y, many = scores(real, "real", within=within), np.shape(sims)[1:]
    if np.ndim(sims) != 2 or np.ndim(extras) != 2 or np.shape(extras)[1:] != many or not many[0]:
        raise ValueError(
            f"sims and extras must have a column for each simulator, got shapes {np.shape(sims)} and {np.shape(extras)}"
        )
    tables = []
    for name, given in (("sim", np.asarray(sims)), ("extra", np.asarray(extras))):
        tables.append(np.stack([scores(column, name, within=sim_within) for column in given.T], axis=1))
    if len(tables[0]) != y.size:
        raise ValueError(f"real and sims must pair one to one, got {y.size} and {len(tables[0])} rows")
    return y, tables[0], tables[1]
