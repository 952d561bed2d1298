"""Columns of episode tables, in bulk: text as dictionaries, cells as Python values, groups as numbers.

A run has few policies, tasks and worlds, and many episodes. As a dictionary each name is there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "UNIQUE", "by_name", "cells", "codes", "encoded", "exceeds", "grouped", "listed", "ordered", "plain_text",
    "spread", "written_out",
]  # fmt: skip

UNIQUE = ("episode", "scenario", "base", "parent", "video")
"""Text columns in which most values are there once or a few times: a dictionary would only cost."""
_TEXT = pa.dictionary(pa.int32(), pa.string())


def encoded(schema: pa.Schema) -> pa.Schema:
    """The schema with its text as dictionaries, but for `UNIQUE`."""
    return pa.schema([pa.field(f.name, _TEXT) if f.type == pa.string() and f.name not in UNIQUE else f for f in schema])


def plain_text(table: pa.Table) -> pa.Table:
    """The table with dictionaries written out as text."""
    fields = [pa.field(f.name, f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def written_out(table: pa.Table) -> int:
    """Bytes that the table takes as plain text: as a dictionary a few bytes can stand for gigabytes."""
    total = 0
    for column in table.columns:
        total += column.nbytes
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else None
        if kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
            for chunk in column.chunks:
                words, index = chunk.dictionary, chunk.indices
                if len(words) == 1:  # as most are: one policy, one task
                    total += words.nbytes * len(index)
                    continue
                length = pc.binary_length(words.fill_null("") if words.null_count else words).to_numpy()
                index = (index.drop_null() if index.null_count else index).to_numpy()
                total += int(np.bincount(index, minlength=len(length)) @ length)
    return total


def exceeds(table: pa.Table, most: int) -> bool:
    """Whether the table takes more bytes than this as plain text. Most take so few that a rough sum is enough: as if
    every row had all the words of its dictionary."""
    rough = 0
    for column in table.columns:
        rough += column.nbytes
        if pa.types.is_dictionary(column.type):
            rough += sum(chunk.dictionary.nbytes * len(chunk) for chunk in column.chunks)
    return rough > most and written_out(table) > most


def codes(column: pa.ChunkedArray) -> tuple[np.ndarray, list[Any]]:
    """(row -> an index into the values, the values); -1 where there is none. Values are in order of appearance, unless
    the column is a dictionary already."""
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    else:
        column = pc.dictionary_encode(column)
    if not column.num_chunks:
        return np.zeros(0, dtype=np.int64), []
    indices = [chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices for chunk in column.chunks]
    return np.concatenate(indices).astype(np.int64), listed(column.chunk(0).dictionary)


def listed(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values as Python's own. Text goes through numpy, which takes a third of the time."""
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist() if _is_text(column) else column.to_pylist()
    return values


def _is_text(column: pa.Array | pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type))


def cells(column: pa.ChunkedArray) -> list[Any]:
    """The values, row by row; equal text is one object."""
    if not pa.types.is_dictionary(column.type) and not pa.types.is_string(column.type):
        rows: list[Any] = column.to_pylist()
        return rows
    if column.null_count == len(column):
        return [None] * len(column)
    index, values = codes(column)
    rows = np.array([*values, None], dtype=object)[index]
    return list(rows)


def spread(values: Sequence[str | None], index: np.ndarray) -> pa.ChunkedArray:
    """A column of text as a dictionary: values[i] for each i of the index, which has no -1."""
    known: dict[str | None, int] = {
        value: i for i, value in enumerate(dict.fromkeys(v for v in values if v is not None))
    }
    codes_ = np.array([known.get(value, -1) for value in values] or [-1], dtype=np.int32)[index]
    column = pa.DictionaryArray.from_arrays(pa.array(codes_, mask=codes_ < 0), pa.array(list(known), pa.string()))
    return pa.chunked_array([column])


def grouped(columns: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, list[tuple[Any, ...]]]:
    """(row -> number of its group, the groups), groups being the combinations of values that occur, by first row."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    parts = []
    for column in columns:
        index, values = codes(column)
        parts.append((index, values))
        number = np.unique(number * (len(values) + 1) + index + 1, return_inverse=True)[1]
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    firsts = first[order].tolist()
    names = [tuple(values[index[row]] if index[row] >= 0 else None for index, values in parts) for row in firsts]
    return place[group], names


def by_name(column: pa.ChunkedArray) -> dict[str, np.ndarray]:
    """Name -> (n,) its number in each row, NaN where there is none. column: maps, such as `stages`."""
    columns: dict[str, np.ndarray] = {}
    at = 0
    for chunk in column.chunks:
        chunk = chunk.fill_null([]) if chunk.null_count else chunk
        offsets = chunk.offsets.to_numpy()
        row = at + np.repeat(np.arange(len(chunk)), np.diff(offsets))
        names, numbers = (part.slice(offsets[0], len(row)) for part in (chunk.keys, chunk.items))
        index, known = codes(pa.chunked_array([names]))
        values = numbers.to_numpy(zero_copy_only=False)
        for number, name in enumerate(known):
            mine = index == number
            columns.setdefault(name, np.full(len(column), np.nan))[row[mine]] = values[mine]
        at += len(chunk)
    return columns


def ordered(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows by these columns, ascending, rows without a value last. The last of them is a name that few rows need
    to be told apart: it is looked at only where the others are equal."""
    keys = [_ranks(table[name]) for name in names[:-1]]
    order = np.lexsort(keys[::-1])
    alike = np.ones(max(0, len(table) - 1), dtype=bool)
    for key in keys:
        sorted_ = key[order]
        alike &= sorted_[1:] == sorted_[:-1]
    if alike.any():
        order = np.lexsort([_ranks(table[names[-1]]), *keys[::-1]])
    return table.take(pa.array(order))


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    """Numbers that sort as the values of a column do."""
    if pa.types.is_string(column.type):  # by its words, of which there are fewer than rows
        words = pc.dictionary_encode(column.combine_chunks())
        ranks = pc.rank(words.dictionary, "ascending", tiebreaker="dense").to_numpy()
        numbers: np.ndarray = np.append(ranks, len(ranks) + 1)[words.indices.fill_null(-1).to_numpy()]
        return numbers
    if pa.types.is_dictionary(column.type):
        index, values = codes(column)
        rank: np.ndarray = np.empty(len(values) + 1, dtype=np.int64)
        rank[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
        rank[-1] = len(values)
        numbers = rank[index]
    else:
        numbers = column.to_numpy()
    return numbers
