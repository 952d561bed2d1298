"""How often events happen: shares of episodes with exact intervals, of any grouping of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episodes.columns import by_name, grouped
from foretell.episodes.units import by_unit, units
from foretell.stats import ALPHA, bound
from foretell.tasks.events import EVENTS

__all__ = ["READ", "event_shares", "event_words"]

READ = ("world", "success", "judge", "scenario", "parent", "events")
"""Columns that shares are counted from, besides those that they are grouped by."""


def event_words(name: str) -> str:
    """What tables call an event; a world may have some of its own."""
    return EVENTS[name].words if name in EVENTS else name.replace("_", " ")


def event_shares(table: pa.Table, by: Sequence[str], alpha: float = ALPHA) -> list[dict[str, Any]]:
    """One entry for each combination of the columns `by` and each event that any row has: `n` episodes, in how many of
    them it happened (`episodes`), how often in all (`times`), and their `share` with its interval.

    Episodes count that were judged by their task, after foretell began to count events; worlds in which nothing is
    ever counted are left out. Trials of one scenario enter the interval as their mean.
    """
    judged = pc.and_(table["success"].is_valid(), table["events"].is_valid())
    table = table.filter(pc.and_(judged, pc.not_equal(table["judge"], "person").fill_null(True)))
    events = by_name(table["events"])
    some = np.zeros(len(table), dtype=bool)
    for counts_of_event in events.values():
        some |= counts_of_event > 0
    world, names = grouped([table["world"]]) if len(table) else (np.zeros(0, dtype=int), [])
    counts = np.isin(world, np.flatnonzero(np.bincount(world[some], minlength=len(names))))
    order = [*(n for n in EVENTS if n in events), *sorted(n for n in events if n not in EVENTS)]
    happened = {name: np.nan_to_num(events[name]) for name in order}
    unit = units(table)
    group, names = grouped([table[c] for c in by]) if len(table) else (np.zeros(0, dtype=int), [])
    entries = []
    for number, values in enumerate(names):
        mine = np.flatnonzero((group == number) & counts)
        if not len(mine):
            continue
        here = by_unit(unit.take(pa.array(mine)))
        for name in order:
            times = happened[name][mine]
            interval = bound(here.means(times > 0), alpha=alpha)
            entries.append(
                {
                    **dict(zip(by, values, strict=True)),
                    "event": name,
                    "n": len(mine),
                    "episodes": int((times > 0).sum()),
                    "times": float(times.sum()),
                    "share": float((times > 0).mean()),
                    "low": interval.low,
                    "high": interval.high,
                    "method": interval.method,
                    "alpha": alpha,
                }
            )
    return entries
