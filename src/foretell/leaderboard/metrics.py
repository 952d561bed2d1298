"""What is told of one policy: its score, and success and change under every arm, task by task and together."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.factors.arms import severity_of
from foretell.leaderboard.entries import Entry
from foretell.leaderboard.ground import CLEAN, Ground, TaskArm, factor_of
from foretell.stats import Interval
from foretell.stats.robustness import (
    delta_success,
    factor_weights,
    headline,
    paired_change,
    percentage_change,
    success_rate,
    weighted_scores,
)
from foretell.study.unchanged import IDENTICAL

__all__ = ["arm_rows", "cell_rows", "charged", "columns_of", "curves", "factor_rows", "score", "weighted"]

Row = dict[str, Any]
SAME: Row = {"estimate": 0.0, "low": 0.0, "high": 0.0, "method": IDENTICAL}
"""A change that is none by construction has no uncertainty."""


def charged(ground: Ground) -> list[TaskArm]:
    """Cells that the score is made of: one factor each, certified."""
    certificates = ground.certificates
    return [c for c in ground.columns if factor_of(c[1]) and c in certificates and certificates[c].certified]


def columns_of(entry: Entry, ground: Ground) -> NDArray[np.bool_]:
    """Columns in which every charged cell of a policy has an outcome, shape (n,)."""
    return np.asarray(np.isfinite([entry.outcomes[cell] for cell in charged(ground)]).all(axis=0))


def weighted(entry: Entry, ground: Ground, columns: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What each of these columns adds to the score: policies are compared by it, scenario by scenario."""
    cells = charged(ground)
    return weighted_scores([entry.outcomes[c][columns] for c in cells], [str(factor_of(c[1])) for c in cells])


def score(entry: Entry, ground: Ground, alpha: float) -> tuple[Interval | None, str | None]:
    """The headline score, or why there is none."""
    cells = charged(ground)
    if not ground.certificates:
        return None, "the test set is not certified"
    if not cells:
        return None, "no cell with a single factor is certified"
    if entry.missing:
        whole = len(ground.columns) * ground.n
        return None, f"{entry.missing} of {whole} episodes have not run"
    columns = columns_of(entry, ground)
    if not columns.any():
        return None, "there is no scenario in which all its episodes count"
    outcomes = [entry.outcomes[cell][columns] for cell in cells]
    return headline(outcomes, [str(factor_of(c[1])) for c in cells], alpha), None


def ends(bound: Interval | None) -> Row | None:
    """An interval, as briefly as JSON needs it."""
    if bound is None:
        return None
    return {
        "estimate": bound.estimate,
        "low": bound.low,
        "high": bound.high,
        "n": bound.n,
        "method": bound.method,
    }


def cell_rows(entry: Entry, ground: Ground, alpha: float) -> list[Row]:
    """Success and change in every cell."""
    rows = []
    for task, arm in ground.columns:
        known = entry.known((task, arm))
        certificate = ground.certificates.get((task, arm))
        row: Row = {
            "task": task,
            "arm": arm,
            "factor": factor_of(arm),
            "severity": 0.0 if arm == CLEAN else severity_of(arm),
            "certified": certificate.certified if certificate else None,
            "expert": certificate.rate if certificate else None,
            "success": ends(success_rate([known], alpha) if known.size else None),
        }
        after, before = entry.pairs((task, arm))
        if arm != CLEAN and after.size:
            row["change"] = ends(paired_change([after], [before], alpha))
            if (task, arm) in entry.identical:
                row["change"] |= SAME
        rows.append(row)
    return rows


def arm_rows(entry: Entry, ground: Ground, alpha: float) -> list[Row]:
    """Success and change under every arm, over the tasks on which it counts; `percent_change` is None if undefined.
    `not_charged` has success on the others."""
    rows = []
    for arm in ground.arms:
        tasks = [task for task in ground.of(arm) if entry.pairs((task, arm))[0].size]
        row: Row = {"arm": arm, "factor": factor_of(arm), "tasks": tasks}
        if tasks:
            row["success"] = ends(success_rate([entry.known((task, arm)) for task in tasks], alpha))
        if tasks and arm != CLEAN:
            pairs = [entry.pairs((task, arm)) for task in tasks]
            after, before = [a for a, _ in pairs], [b for _, b in pairs]
            row["change"] = ends(paired_change(after, before, alpha))
            row["percent_change"] = ends(percentage_change(after, before, alpha))
            if all((task, arm) in entry.identical for task in tasks):
                for interval in (row["change"], row["percent_change"] or {}):
                    interval |= SAME
        if others := [task for task in ground.spared(arm) if entry.known((task, arm)).size]:
            known = [entry.known((task, arm)) for task in others]
            row["not_charged"] = {"tasks": others, "success": ends(success_rate(known, alpha))}
        rows.append(row)
    return rows


def factor_rows(entry: Entry, ground: Ground) -> list[Row]:
    """Each factor over its arms (severities, lists of values), which are the variants of SIMPLER's equation 6, and over
    tasks; and the factor's share of the score."""
    cells = charged(ground) if ground.certificates else [c for c in ground.columns if factor_of(c[1])]
    if not cells:
        return []
    weights = factor_weights([str(factor_of(arm)) for _, arm in cells])
    rates: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    share: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (task, arm), weight in zip(cells, weights, strict=True):
        known, factor = entry.known((task, arm)), str(factor_of(arm))
        if known.size:
            rates[factor][task].append(float(known.mean()))
            share[factor].append((weight, float(known.mean())))
    rows = []
    for factor, by_task in rates.items():
        clean = {task: float(np.mean(known)) for task in by_task if (known := entry.known((task, CLEAN))).size}
        shifts = {k: [float(delta_success(by_task[t], clean[t], absolute=k)) for t in clean] for k in (False, True)}
        rows.append(
            {
                "factor": factor,
                "tasks": list(by_task),
                "cells": len(share[factor]),
                "success": float(np.mean([rate for _, rate in share[factor]])),
                "delta_success": float(np.mean(shifts[False])) if clean else None,
                "delta_success_absolute": float(np.mean(shifts[True])) if clean else None,
            }
        )
    return rows


def curves(entry: Entry, ground: Ground, alpha: float) -> list[Row]:
    """Success against severity, for every task and factor that has at least two severities besides the control."""
    by_factor: dict[TaskArm, list[tuple[float, str]]] = defaultdict(list)
    for task, arm in ground.columns:
        factor = factor_of(arm) or (arm.partition("@")[0] if arm != CLEAN and "+" not in arm else None)
        if factor and (severity := severity_of(arm)) is not None:
            by_factor[task, factor].append((severity, arm))
    rows = []
    for (task, factor), points in by_factor.items():
        if len(points) < 2:
            continue
        for severity, arm in sorted([(0.0, CLEAN), *points]):
            known = entry.known((task, arm))
            if known.size:
                interval = success_rate([known], alpha)
                certificate = ground.certificates.get((task, arm))
                rows.append(
                    {
                        "policy": entry.policy,
                        "task": task,
                        "factor": factor,
                        "severity": severity,
                        **{k: v for k, v in (ends(interval) or {}).items() if k != "method"},
                        "certified": certificate.certified if certificate else None,
                    }
                )
    return rows
