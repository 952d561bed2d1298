"""What a row must be like to be counted: a run folder may be damaged, or come from someone else.

Whoever reads rows relies on this: names are text, and what is kept as JSON is JSON. Nothing a row names is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell import clock
from foretell.counting import counted
from foretell.document import load_json
from foretell.episode import Episode

__all__ = ["CHECKED", "unsound", "unsound_table"]

JSON = ("policy_options", "factors")
"""Columns that hold a JSON object, and that are read as such."""
NAMED = tuple(f.name for f in fields(Episode) if f.type == "str" and f.default is MISSING)
LONGEST = 1e11
"""Unix time and seconds beyond which no date can be given."""
TIMES = ("wall_started", "wall_s")
CHECKED = tuple(dict.fromkeys([*NAMED, "clock", *JSON, *TIMES]))
"""Columns by which a row is told sound or not."""


def unsound(row: Mapping[str, Any]) -> str:
    """What is wrong with a row of the journal; empty if nothing is."""
    return _first((name, [row[name]]) for name in ("clock", *JSON, *TIMES))


def unsound_table(table: pa.Table) -> str:
    """The faults that `unsound` finds in the rows of a part."""
    for name in NAMED:
        if table[name].null_count:
            return f"column {name!r}: {counted(table[name].null_count, 'row has', 'rows have')} none"
    for name in TIMES:  # by number: every row has another
        times = table[name].drop_null().to_numpy()
        if wrong := times[~(np.abs(times) < LONGEST)].tolist():
            return f"column {name!r}: {_time(wrong[0])}"
    return _first((name, pc.unique(table[name]).to_pylist()) for name in ("clock", *JSON))


def _first(columns: Iterable[tuple[str, list[Any]]]) -> str:
    for name, values in columns:
        for value in values:
            if trouble := _clock(value) if name == "clock" else _time(value) if name in TIMES else _object(value):
                return f"column {name!r}: {trouble}"
    return ""


_clock = lru_cache(maxsize=1000)(clock.wrong)


def _time(value: float | None) -> str:
    return "" if value is None or abs(value) < LONGEST else f"{value} is not a time"


def _object(text: str | None) -> str:
    if text is None or text == "{}":  # none: a part older than the column
        return ""
    try:
        return "" if isinstance(load_json(text), dict) else "it is not a JSON object"
    except ValueError as error:
        return f"it is not JSON: {str(error)[:80]}"
