"""Two worlds on one test set: does a factor do in the one what it does in the other? (THE COLOSSEUM's Fig. 6.)"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foretell.counting import counted
from foretell.errors import UsageError
from foretell.leaderboard.entries import Entry, Floats
from foretell.leaderboard.ground import CLEAN, Ground, TaskArm
from foretell.stats import Interval, mmrv, pearson
from foretell.stats.robustness import factor_alignment, headline, success_rate

__all__ = ["alignment"]

Row = dict[str, Any]
LEAST = 3
"""Points, or changes, below which there is no correlation: two always lie on a line."""


def alignment(ground: Ground, sim: list[Entry], real: list[Entry], alpha: float, seed: int = 0) -> Row:
    """Every arm's success in both worlds and its R squared over policies and tasks; and for every policy, how well its
    changes over arms in the one foretell those in the other."""
    partner = {entry.policy: entry for entry in real}
    both = [(entry, partner[entry.policy]) for entry in sim if entry.policy in partner]
    if not both:
        raise UsageError(
            f"real: no policy is in both worlds: {', '.join(e.policy for e in sim)} against "
            f"{', '.join(e.policy for e in real)}"
        )
    arms = []
    for arm in ground.arms:
        points = [(a, t, *_common(a, b, (t, arm))) for a, b in both for t in ground.of(arm)]
        points = [point for point in points if point[2].size]
        if not points:
            continue
        sides = [x for *_, x, _ in points], [y for *_, y in points]
        row: Row = {"arm": arm, "r_squared": _r_squared(sides[1], sides[0], alpha, seed)}
        row["points"] = [
            {
                "policy": a.policy,
                "task": t,
                "sim": _rate(success_rate([x], alpha)),
                "real": _rate(success_rate([y], alpha)),
            }
            for a, t, x, y in points
        ]
        row["sim"], row["real"] = _together(both, [(t, arm) for t in ground.of(arm)], sides, alpha)
        arms.append(row)
    return {"arms": arms, "policies": [_shifts(ground, a, b) for a, b in both]}


def _common(sim: Entry, real: Entry, cell: TaskArm) -> tuple[Floats, Floats]:
    """Outcomes of the scenarios that count in both worlds."""
    x, y = sim.outcomes[cell], real.outcomes[cell]
    both = np.isfinite(x) & np.isfinite(y)
    return x[both], y[both]


def _together(
    both: list[tuple[Entry, Entry]], cells: list[TaskArm], sides: tuple[list[Floats], list[Floats]], alpha: float
) -> tuple[Row, Row]:
    """Mean success in either world. Policies share scenarios, so these are what the interval counts: those in which
    every policy counts in both worlds."""
    rows = [[pair[k].outcomes[cell] for pair in both for cell in cells] for k in (0, 1)]
    known = np.isfinite(rows).all(axis=(0, 1))
    made = []
    for side, outcomes in zip(sides, rows, strict=True):
        if known.any():
            made.append(_rate(headline([scores[known] for scores in outcomes], ["all"] * len(outcomes), alpha)))
        else:
            mean = float(np.mean([scores.mean() for scores in side]))
            made.append({"estimate": mean, "low": None, "high": None, "n": 0})
    return made[0], made[1]


def _rate(interval: Interval) -> Row:
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high, "n": interval.n}


def _r_squared(real: list[Floats], sim: list[Floats], alpha: float, seed: int) -> Row:
    """Over points, one for each policy and task; `value` is None where there is none, and `reason` says why."""
    points = len(real)
    row: Row = {"value": None, "low": None, "high": None, "points": points}
    if points < LEAST:
        few = counted(points, "point is", "points are")
        return {**row, "reason": f"{few} too few for R squared, {LEAST} are needed: two always lie on a line"}
    fit = factor_alignment(real, sim, alpha, seed=seed)
    row |= {"value": fit.estimate if math.isfinite(fit.estimate) else None, "low": fit.low, "high": fit.high}
    if row["value"] is None:
        row["reason"] = "success does not vary in one of the worlds"
    elif fit.low is None:
        row["reason"] = fit.reason
    return row


def _shifts(ground: Ground, sim: Entry, real: Entry) -> Row:
    """Changes of one policy over arms, sim against real, as SIMPLER compares them: mmrv and Pearson's r."""
    changes = []
    for arm in ground.arms:
        pairs = [(sim.pairs((t, arm)), real.pairs((t, arm))) for t in ground.of(arm) if arm != CLEAN]
        pairs = [(a, b) for a, b in pairs if a[0].size and b[0].size]
        if pairs:
            sides = zip(*pairs, strict=True)
            changes.append([float(np.mean([after.mean() - before.mean() for after, before in s])) for s in sides])
    row: Row = {"policy": sim.policy, "arms": len(changes), "pearson": None, "mmrv": None}
    if len(changes) >= LEAST:
        x, y = np.array(changes).T
        r = float(pearson(y, x))
        row |= {"pearson": r if math.isfinite(r) else None, "mmrv": float(mmrv(y, x))}
    return row
