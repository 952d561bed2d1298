"""What a study is to run: its plan, row by row, and the order in which its scenarios were planned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episodes.columns import codes
from foretell.episodes.parts import DamagedError, read_parquet, read_table
from foretell.errors import UsageError

__all__ = ["CELL", "PLAN", "is_retired", "plan_table", "planned_rows", "read_plan"]

CELL = (
    "world", "world_hash", "task", "policy", "policy_hash", "policy_options", "clock", "arm",
    "task_version", "task_hash", "controller",
)  # fmt: skip
"""Columns that tell cells apart: a changed weight file, task or θ never mixes with old rows."""
PLAN = pa.schema(
    [(name, pa.dictionary(pa.int32(), pa.string())) for name in (*CELL, "retired")]
    + [("unit", pa.string()), ("episode", pa.string())]
)
"""What is to come, in its order. A unit is a scenario, or those of one parent. What is `retired` ("yes") never runs."""


def is_retired(plan: pa.Table) -> np.ndarray:
    """Row of a plan -> whether it was given up."""
    index, values = codes(plan["retired"])
    retired: np.ndarray = np.array([*map(bool, values), False])[index]
    return retired


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


def plan_table(run: Path | str) -> pa.Table:
    """What was planned, as `read_plan`, as a table."""
    try:
        table = read_table(Path(run) / "plan.parquet", encode=(*CELL, "retired"))
        for f in PLAN:
            if f.name not in table.column_names:  # a plan may be older than a column
                table = table.append_column(f, pa.array([""] * len(table), pa.string()).cast(f.type))
        table = table.select(PLAN.names).cast(PLAN)
        return PLAN.empty_table() if any(column.null_count for column in table.columns) else table
    except (OSError, DamagedError, KeyError, ValueError, UsageError, pa.ArrowException):
        return PLAN.empty_table()
