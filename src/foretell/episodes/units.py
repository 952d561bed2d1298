"""Units: what was drawn at random. Rows of one scenario, or of children of one parent, are no independent draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episodes.columns import codes
from foretell.stats.order import by_id

__all__ = ["Means", "unit_means", "unit_of", "units"]


def unit_of(parent: str | None, scenario: str | None, episode: str | None = None) -> str | None:
    """What a row counts for: its parent, else its scenario, else itself. Sim and real pair on it."""
    return parent or scenario or episode


def units(table: pa.Table) -> pa.ChunkedArray:
    """`unit_of` each row, as a column of text. A table without a column `episode` has none for rows of no scenario."""
    names = [name for name in ("parent", "scenario", "episode") if name in table.column_names]
    return pc.coalesce(*(_filled(table[name]) for name in names))


class Means(NamedTuple):
    """Rows averaged within units, which stand in the order in which `foretell bound` takes them."""

    names: list[Any]
    means: np.ndarray
    """(n,) mean of each unit."""
    counts: np.ndarray
    """(n,) rows of each unit."""


def unit_means(
    names: pa.ChunkedArray | Sequence[Any], values: Sequence[Any] | np.ndarray, *, sort: bool = True
) -> Means:
    """The mean within each unit. names: unit of each row, (r,). values: (r,) 0 and 1. `sort`: put units into the order
    of a hash, which does not depend on outcomes; else they keep the order of their first rows."""
    if isinstance(names, pa.ChunkedArray):
        index, known = codes(names)
    else:
        place: dict[Any, int] = {}
        index = np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)
        known = list(place)
    if (index < 0).any():  # rows of no known unit count as one
        known, index = [*known, None], np.where(index < 0, len(known), index)
    counts = np.bincount(index, minlength=len(known))
    means = np.bincount(index, np.asarray(values, dtype=np.float64), minlength=len(known)) / np.maximum(counts, 1)
    order = by_id(known) if sort else np.arange(len(known))
    return Means([known[i] for i in order.tolist()], means[order], counts[order])


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """As text, with nothing in place of empty text."""
    text = column.cast(pa.string())
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
