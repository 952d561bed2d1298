"""What a study is to run: its plan, row by row, and the order in which its scenarios were planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episodes.blind import mask_of
from foretell.episodes.columns import codes
from foretell.episodes.parts import DamagedError, read_parquet, read_table
from foretell.errors import UsageError

__all__ = ["CELL", "PLAN", "SPARED", "is_retired", "is_spared", "plan_table", "planned_rows", "read_plan", "rules_of"]

CELL = (
    "world", "world_hash", "task", "policy", "policy_hash", "policy_options", "clock", "arm",
    "task_version", "task_hash", "controller",
)  # fmt: skip
"""Columns that tell cells apart: a changed weight file, task or θ never mixes with old rows."""
PLAN = pa.schema(
    [(name, pa.dictionary(pa.int32(), pa.string())) for name in (*CELL, "retired", "until")]
    + [("unit", pa.string()), ("episode", pa.string())]
)
"""What is to come, in its order. A unit is a scenario, or those of one parent. What is `retired` never runs: "yes" if
its study was replaced, `SPARED` if its cell stopped by the rule in `until` (JSON; empty where there is no rule)."""
SPARED = "until"
"""Mark of an episode that is not needed: its cell stopped before."""


def is_retired(plan: pa.Table) -> np.ndarray:
    """Row of a plan -> whether it was given up."""
    return _marked(plan, "yes")


def is_spared(plan: pa.Table) -> np.ndarray:
    """Row of a plan -> whether it is not needed, because its cell stopped before."""
    return _marked(plan, SPARED)


def _marked(plan: pa.Table, mark: str) -> np.ndarray:
    index, values = codes(plan["retired"])
    marked: np.ndarray = np.array([*(value == mark for value in values), False])[index]
    return marked


def rules_of(plan: pa.Table, group: np.ndarray) -> dict[int, dict[str, Any]]:
    """Group -> the first rule of its rows by which they stop: `width` or `decided`, `horizon`, `every` and `alpha`.
    Groups without a rule are left out. group: row of the plan -> a number."""
    index, values = codes(plan["until"])
    rules: dict[int, dict[str, Any]] = {}
    for number, value in enumerate(values):
        if (rule := _rule(value)) is not None:
            for owner in np.unique(group[index == number]).tolist():
                rules.setdefault(owner, rule)
    return rules


def _rule(text: str | None) -> dict[str, Any] | None:
    try:
        rule = json.loads(text or "null")
        return rule if isinstance(rule, dict) and int(rule["horizon"]) >= 1 else None
    except (ValueError, TypeError, KeyError):
        return None


def planned_rows(run: Path | str, scenarios: pa.ChunkedArray) -> np.ndarray:
    """Rows, of which these are the scenarios, in the order planned, which for imported trials is the order tried: bets
    see trials one by one. Scenarios that the run does not list come last."""
    try:
        ids = read_parquet(Path(run) / "scenarios.parquet", ["id"])["id"].cast(pa.string()).combine_chunks()
    except (DamagedError, OSError, LookupError, pa.ArrowException):
        ids = pa.array([], pa.string())
    place = pc.index_in(scenarios, value_set=ids).fill_null(len(ids))
    return np.argsort(place.to_numpy(), kind="stable")


def read_plan(run: Path | str) -> list[dict[str, str]]:
    """What was planned, in order; empty where nothing was, or where it cannot be read: a plan only tells how far
    things are."""
    rows: list[dict[str, str]] = plan_table(run).to_pylist()
    return rows


def plan_table(run: Path | str, *, spared: bool = False, masked: bool = True) -> pa.Table:
    """What was planned, as `read_plan`, as a table. `spared`: with the episodes that are not needed any more. `masked`:
    policies of a blind study go by their codes."""
    try:
        table = read_table(Path(run) / "plan.parquet", encode=(*CELL, "retired", "until"))
        for f in PLAN:
            if f.name not in table.column_names:  # a plan may be older than a column
                table = table.append_column(f, pa.array([""] * len(table), pa.string()).cast(f.type))
        table = table.select(PLAN.names).cast(PLAN)
        if any(table[name].null_count for name in PLAN.names if name != "until"):
            return PLAN.empty_table()
        table = table if spared else table.filter(pa.array(~is_spared(table)))
        mask = mask_of(run) if masked else None
        return table if mask is None else mask.table(table)
    except (OSError, DamagedError, KeyError, ValueError, UsageError, pa.ArrowException):
        return PLAN.empty_table()
