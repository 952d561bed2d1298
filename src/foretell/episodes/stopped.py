"""Rows of cells that stop by a rule (`until` in a study): which count, in which order, and their horizon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episodes.cells import cells_of, still_to_come, turns_of
from foretell.episodes.columns import codes
from foretell.episodes.planned import plan_table, rules_of

__all__ = ["FIXED", "HORIZON", "PLANNED", "has_rule", "in_turn", "rule_words", "stopped_early"]

HORIZON = "horizon"
"""Column of the largest number of scenarios of a row's cell, where that cell stops by a rule. Rows then stand as
planned, and all trials of their scenarios have ended."""
PLANNED = "planned"
"""Column of the number of scenarios that was planned for a real cell without a rule, of which some are to come."""
FIXED = (
    "cells of this study stopped by `until`, so their numbers of scenarios depend on outcomes. These figures assume a "
    "fixed number and may miss more often than stated; foretell show, bound and compare take it into account"
)
"""What an answer says that cannot take stopping into account."""


def stopped_early(run: Path | str, rows: pa.Table) -> pa.ChunkedArray | None:
    """Real rows whose cell has trials still to come and no rule: whoever stopped it may have seen outcomes. Gives the
    number of scenarios that was planned for each row, none where all trials are in; None where no row is such."""
    plan = plan_table(run)
    if not len(plan) or "real" not in rows.column_names:
        return None
    group, cells = cells_of(plan)
    rules = rules_of(plan, group)
    left = np.bincount(group[still_to_come(plan, rows["episode"])], minlength=len(cells)) > 0
    units = np.bincount(turns_of(group, codes(plan["unit"])[0]).owner, minlength=len(cells))
    planned = np.array([int(n) if left[i] and i not in rules else 0 for i, n in enumerate(units)], dtype=np.int64)
    place = pc.index_in(rows["episode"], value_set=plan["episode"].combine_chunks()).fill_null(-1).to_numpy()
    real = rows["real"].fill_null(False).to_numpy()
    most = np.where((place >= 0) & real, planned[group[place]], 0)
    return pa.chunked_array([pa.array(most, mask=most == 0)]) if most.any() else None


def has_rule(plan: pa.Table) -> bool:
    """Whether cells of a plan stop by a rule."""
    return bool(rules_of(plan, np.zeros(len(plan), dtype=np.int64)))


def in_turn(run: Path | str, rows: pa.Table) -> pa.Table:
    """Rows of a run folder with the column `HORIZON`. Those of cells that stop by a rule come first, in the order
    planned; of these only the leading scenarios are kept, whose episodes have all ended."""
    plan = plan_table(run)
    group, cells = cells_of(plan)
    rules = rules_of(plan, group)
    if not rules:
        return rows.append_column(HORIZON, pa.nulls(len(rows), pa.int64()))
    turn = turns_of(group, codes(plan["unit"])[0])
    leading = turn.leading(turn.counts(still_to_come(plan, rows["episode"])), len(cells))
    counts = turn.within[turn.number] < leading[group]
    place = pc.index_in(rows["episode"], value_set=plan["episode"].combine_chunks()).fill_null(-1).to_numpy()
    horizon = np.array([int(rules[i]["horizon"]) if i in rules else 0 for i in range(len(cells))])[group]
    ruled = (place >= 0) & (horizon[place] > 0)
    kept = np.flatnonzero(ruled & counts[place])
    order = np.concatenate([kept[np.argsort(place[kept], kind="stable")], np.flatnonzero(~ruled)])
    known = np.concatenate([horizon[np.sort(place[kept])], np.zeros(len(order) - len(kept), dtype=np.int64)])
    return rows.take(pa.array(order)).append_column(HORIZON, pa.array(known, mask=known == 0))


def rule_words(rule: dict[str, Any]) -> str:
    """A rule in words, such as `the interval is 14 points wide, at most 200 scenarios`."""
    if "width" in rule:
        until = f"the interval is {100 * float(rule['width']):.3g} points wide"
    else:
        until = "{} and {} are told apart".format(*rule["decided"])
    return f"{until}, at most {rule['horizon']} scenarios"
