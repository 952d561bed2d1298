"""Units: what was drawn at random. Rows of one scenario, or of children of one parent, are no independent draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episodes.columns import codes
from foretell.stats.order import by_id

__all__ = ["RowUnits", "by_unit", "unit_of", "units"]


def unit_of(parent: str | None, scenario: str | None, episode: str | None = None) -> str | None:
    """What a row counts for: its parent, else its scenario, else itself. Sim and real pair on it."""
    return parent or scenario or episode


def units(table: pa.Table) -> pa.ChunkedArray:
    """`unit_of` each row, as a column of text. A table without a column `episode` has none for rows of no scenario."""
    names = [name for name in ("parent", "scenario", "episode") if name in table.column_names]
    return pc.coalesce(*(_filled(table[name]) for name in names))


class RowUnits(NamedTuple):
    """The units of rows."""

    names: list[Any]
    number: np.ndarray
    """Row -> an index into the names."""
    counts: np.ndarray
    """(n,) rows of each unit."""

    @property
    def first(self) -> np.ndarray:
        """(n,) first row of each unit."""
        first: np.ndarray = np.unique(self.number, return_index=True)[1]
        return first

    def rows(self) -> list[np.ndarray]:
        """The rows of each unit, in their order."""
        return np.split(np.argsort(self.number, kind="stable"), np.cumsum(self.counts)[:-1]) if self.names else []

    def means(self, values: Sequence[bool] | np.ndarray) -> np.ndarray:
        """(n,) mean of each unit. values: one per row, whole numbers such as successes: their sums are exact."""
        sums = np.bincount(self.number, np.asarray(values, dtype=np.float64), minlength=len(self.names))
        means: np.ndarray = sums / self.counts
        return means


def by_unit(names: pa.ChunkedArray | Sequence[Any], *, sort: bool = True) -> RowUnits:
    """Rows by their units (r names). `sort`: units stand in the order of a hash, in which `foretell bound` takes them
    and which cannot depend on outcomes; else in the order of their first rows."""
    column = names if isinstance(names, pa.ChunkedArray) else pa.chunked_array([pa.array(names, pa.string())])
    number, known = codes(column)
    if (number < 0).any():  # rows of no known unit count as one
        known, number = [*known, None], np.where(number < 0, len(known), number)
    if sort:
        order = by_id(known)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        known, number = [known[i] for i in order.tolist()], place[number]
    return RowUnits(known, number, np.bincount(number, minlength=len(known)))


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as text, with null in place of empty text."""
    text = column.cast(pa.string())
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
