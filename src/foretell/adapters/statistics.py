"""Statistics of a dataset's actions, as trainers write them: `dataset_statistics.json` and its relatives."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.errors import UsageError, suggest

__all__ = ["FORMS", "Statistics", "load"]

FORMS = {"quantiles": ("q01", "q99"), "bounds": ("min", "max"), "mean_std": ("mean", "std")}
"""How actions were normalised -> the two rows that undo it. `quantiles` and `bounds` map to [-1, 1]."""
LARGEST = 64 << 20
"""Bytes."""


class Statistics:
    """Rows of numbers, one per dimension of an action."""

    def __init__(self, rows: Mapping[str, Any]):
        self.rows = dict(rows)

    def form(self) -> str:
        """The form that its rows allow, `quantiles` first."""
        for form, pair in FORMS.items():
            if all(name in self.rows for name in pair):
                return form
        raise UsageError(f"statistics: there is no {_pairs()}; they have {', '.join(map(str, self.rows)) or 'nothing'}")

    def pair(self, form: str, size: int) -> tuple[Floats, Floats]:
        """The two rows of a form, each (size,)."""
        first, second = (self._row(name, size) for name in FORMS[form])
        if form == "mean_std":
            if (second < 0).any():
                raise UsageError(f"statistics: std is {second.min():g} in one dimension, it must be 0 or more")
        elif (second < first).any():
            at = int(np.argmax(second < first))
            raise UsageError(
                f"statistics: dimension {at}: {FORMS[form][1]} is {second[at]:g}, below {FORMS[form][0]}, {first[at]:g}"
            )
        return first, second

    def mask(self, size: int) -> Bools | None:
        """(size,) which dimensions were normalised; None where the statistics do not say."""
        return None if self.rows.get("mask") is None else self._row("mask", size).astype(bool)

    def _row(self, name: str, size: int) -> Floats:
        if name not in self.rows:
            raise UsageError(f"statistics: {name!r} is missing; they have {', '.join(map(str, self.rows))}")
        try:
            row: Floats = np.asarray(self.rows[name], dtype=np.float64)
        except (TypeError, ValueError):
            row = np.full(1, np.nan)
        if row.ndim != 1 or not np.isfinite(row).all():
            raise UsageError(f"statistics: {name} is {self.rows[name]!r:.100}, it should be a list of finite numbers")
        if len(row) != size:
            raise UsageError(
                f"statistics: {name} has {len(row)} numbers, and the policy's action has {size}: are they of another "
                "dataset, or is a rotation in another format?"
            )
        return row


def load(source: Any, key: str | None = None) -> dict[str, Any]:
    """The rows for actions from a JSON file or a mapping, which may hold several datasets (then `key` names one)."""
    contents = _read(source) if isinstance(source, str | Path) else source
    if not isinstance(contents, Mapping):
        raise UsageError(f"statistics: {source!r:.100} should be a JSON file, or a mapping with {_pairs()}")
    if key is not None:
        if key not in contents:
            raise UsageError(f"statistics: there is no dataset {key!r:.100}; {suggest(str(key), map(str, contents))}")
        contents = contents[key]
    elif len(contents) == 1 and "action" not in contents:
        contents = next(iter(contents.values()))
    if isinstance(contents, Mapping) and "action" in contents:
        contents = contents["action"]
    rows = {name for pair in FORMS.values() for name in pair}
    if not isinstance(contents, Mapping) or not rows & set(contents):
        held = list(map(str, contents)) if isinstance(contents, Mapping) else []
        raise UsageError(
            f"statistics: there is no {_pairs()}; they have {', '.join(held[:20]) or 'nothing'}; "
            "name a dataset in `key` if these are datasets"
        )
    return {name: contents[name] for name in contents if name in rows or name == "mask"}


def _pairs() -> str:
    return ", ".join(f"{a} and {b}" for a, b in FORMS.values())


def _read(path: str | Path) -> Any:
    path = Path(os.path.expanduser(path))
    if not os.path.isfile(path):
        raise UsageError(f"statistics: there is no file {str(path)[:300]}")
    if path.stat().st_size > LARGEST:
        raise UsageError(f"statistics: {path} has {path.stat().st_size} bytes, more than {LARGEST}")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"statistics: {path} is no JSON file: {str(error)[:200]}") from None
