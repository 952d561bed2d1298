"""Simulated arms beside real trials without perturbation: one row for each scenario, by the clean scenario's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.answers.aggregate import NAMES
from foretell.answers.inputs import Table
from foretell.answers.words import plain
from foretell.errors import UsageError

__all__ = ["averaged"]


def averaged(sim: Table, arm: str, arms: Sequence[str] = ()) -> Table:
    """Simulated rows of some arms (default: the one arm) as one row for each policy and scenario, which has the name of
    the clean scenario, so that real trials pair with it. Its value is the mean over arms and trials; a scenario that
    lacks an outcome under one arm is left out."""
    arms = arms or (arm,)
    columns = sim.columns
    if missing := [name for name in ("arm", "base", "scenario", "policy") if name not in columns]:
        raise UsageError(f"{sim.name} has no column {missing[0]!r}, so its arms cannot be compared with real trials")
    names = [columns[name] if name in columns else [""] * len(sim) for name in (*NAMES, "base")]
    values: dict[tuple[Any, ...], dict[str, list[float | None]]] = {}
    clean: dict[tuple[Any, ...], int] = {}
    for row, (key, under) in enumerate(zip(zip(*names, strict=True), columns["arm"], strict=True)):
        if under in arms:
            counts = columns.get("success", columns["value"])[row] is not None
            value = sim.number(columns["value"][row]) if counts else None
            values.setdefault(key, {}).setdefault(under, []).append(value)
        if under == "none":
            clean.setdefault(key, row)
    means = {
        key: float(np.mean([np.mean(np.array(each, dtype=float)) for each in mine.values()]))
        for key, mine in values.items()
        if key in clean and set(mine) == set(arms) and not any(v is None for each in mine.values() for v in each)
    }
    if not means:
        raise UsageError(
            f"{sim.name}: no scenario has outcomes under {'all arms of ' if len(arms) > 1 else ''}{plain(arm)!r} and "
            "under 'none', by which real trials are paired"
        )
    kept = sim.keep([clean[key] for key in means])
    count = len(means)
    more: dict[str, list[Any]] = {"value": list(means.values()), "arm": [arm] * count, "success": [True] * count}
    left = len(values) - count
    notes = (f"{sim.name}: {left} scenarios lack an outcome under an arm of {arm}",) if left else ()
    return replace(kept, columns={**kept.columns, **more}, notes=(*sim.notes, *notes))
