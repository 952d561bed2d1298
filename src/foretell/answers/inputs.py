"""What a question is asked of: CSV, Parquet, a run folder or a table in memory, all read into one shape.

Cells are data. Every row keeps its place (file and line, or episode), so that a complaint can name it.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.answers.words import plain
from foretell.episodes.blind import blind_words
from foretell.episodes.cells import cells_of
from foretell.episodes.columns import cells, codes, grouped
from foretell.episodes.fitted import episodes_of
from foretell.episodes.names import names_of, other_words
from foretell.episodes.parts import DamagedError, read_parquet
from foretell.episodes.planned import planned_rows
from foretell.episodes.provenance import design_of, read_provenance
from foretell.episodes.read import read_columns
from foretell.episodes.stopped import HORIZON, PLANNED, in_turn, stopped_early
from foretell.errors import UsageError, suggest
from foretell.reality.sheet import plain_name, read_sheet

__all__ = ["PROTOCOL", "SHOWN", "Source", "Table", "open_table", "refuse"]

Source = Any
"""A path, or anything Arrow makes a table of: a mapping of columns, an Arrow table, a data frame."""

PROTOCOL = {
    "task_version": "version",
    "task_hash": "source",
    "controller": "controller",
    "success_rule": "rule of success",
}
"""Columns of episodes that make a task another where they differ, so that rates cannot be compared -> their names."""

SHOWN = 20
"""Faults that are listed; the rest are counted."""

_EPISODE = ("episode", "world", "world_hash", "task", "policy", "policy_hash", "policy_options", "scenario")
_EPISODES = (*_EPISODE, "parent", "trial", "arm", "clock", "success", "score", "blame", "metrics")


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows as given."""

    name: str
    columns: dict[str, list[Any]]
    """Plain name of a column -> its cells, None where blank; `value` holds what is measured."""
    marks: Sequence[Any]
    """Line, row or episode of each row."""
    kind: str
    """What a mark is: line, row or episode."""
    number: Callable[[Any], float | None]
    """The number a cell holds, or None."""
    metric: str = ""
    """Name of what `value` holds."""
    design: str | None = None
    """How scenarios came about: iid, grid or chosen; None where the source cannot know."""
    notes: tuple[str, ...] = ()
    episodes: bool = field(default=False)
    """Whether rows are episodes, some of which do not count."""
    also: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """Column -> another word for its names, such as a clock's kind -> the names that it may mean."""
    rows: Sequence[int] = ()
    """Place of each row in the source; given where some of its rows are left out."""
    run: Path | None = None
    """The run folder that the rows are from."""
    fitted_episodes: frozenset[str] = frozenset()
    """Real episodes that the rows' simulator was fitted to."""

    def __post_init__(self) -> None:
        if not self.rows:
            object.__setattr__(self, "rows", range(len(self.marks)))

    def place(self, row: int) -> str:
        return f"{self.name}, {self.kind} {self.marks[row]}"

    def keep(self, rows: Sequence[int]) -> Table:
        """The same table with these rows only."""
        columns = {name: [column[i] for i in rows] for name, column in self.columns.items()}
        kept = [self.rows[i] for i in rows]
        return replace(self, columns=columns, marks=[self.marks[i] for i in rows], rows=kept)

    @property
    def horizon(self) -> int | None:
        """Largest number of scenarios of a study that stops by a rule. Rows then stand as planned."""
        return max((h for h in self.columns.get(HORIZON, ()) if h is not None), default=None)

    @property
    def early(self) -> int | None:
        """Number of scenarios planned for real trials of which some are still to come, without a rule."""
        return max((h for h in self.columns.get(PLANNED, ()) if h is not None), default=None)

    def __len__(self) -> int:
        return len(self.marks)


def refuse(faults: Sequence[str]) -> None:
    """Raises UsageError naming every fault, if there are any."""
    if faults:
        more = [f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        head = [f"{len(faults)} problems"] if len(faults) > 1 else []
        raise UsageError("\n".join([*head, *faults[:SHOWN], *more]))


def open_table(source: Source, what: str, *, metric: str | None = None, measured: bool = True) -> Table:
    """Read a source; `what` names it where it has no path. `metric`: which column is measured (`value`). A table that
    was read before stays as it is."""
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        path = Path(source)
        if path.is_dir():
            return _run(path, metric)
        if _is_parquet(path):
            try:
                arrow = read_parquet(path, follow=True)
            except (DamagedError, OSError) as error:
                raise UsageError(f"{path} is not a valid Parquet file: {plain(str(error))[:200]}") from None
            table = _arrow(arrow, str(path), metric)
        else:
            table = _sheet(path)
    else:
        try:
            arrow = source if isinstance(source, pa.Table) else pa.table(source)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UsageError(f"{what}: {type(source).__name__} is neither a path nor a table: {error}") from None
        table = _arrow(arrow, what, metric)
    if not len(table):
        raise UsageError(f"{table.name} has no rows below the names of its columns")
    if not measured or table.episodes:
        return table
    _named(table)
    return _with_value(table, metric)


def _named(table: Table) -> None:
    """A name is given in every row or in none: a blank one would drop its row unseen."""
    faults = []
    for column in ("task", "policy", "clock", "arm", "world"):
        listed = table.columns.get(column, [])
        if any(cell is not None for cell in listed):
            faults += [
                f"{table.place(i)}, {column!r}: expected a name; given: nothing"
                for i, cell in enumerate(listed)
                if cell is None
            ]
    refuse(faults)


def _with_value(table: Table, metric: str | None) -> Table:
    names = [plain_name(metric)] if metric else ["score", "success"]
    column = next((name for name in names if name in table.columns), None)
    if column is None:
        wanted = repr(metric) if metric else "'score' (or 'success')"
        raise UsageError(f"{table.name} has no column {wanted}; it has {_listed(table.columns)}")
    return replace(table, columns={**table.columns, "value": table.columns[column]}, metric=column)


def _listed(names: Sequence[str] | dict[str, Any]) -> str:
    return ", ".join(plain(str(name))[:40] for name in list(names)[:SHOWN]) or "none"


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _sheet(path: Path) -> Table:
    if not path.read_text(encoding="utf-8", errors="replace").strip("\ufeff \t\r\n"):
        raise UsageError(f"{path} is empty: its first line should name the columns")
    sheet = read_sheet(path)
    refuse([fault for _, fault in sheet.faults])
    columns = {name: [line.cells.get(name) for line in sheet.lines] for name in sheet.columns}

    def number(cell: Any) -> float | None:
        return None if cell is None else sheet.to_float(cell)

    return Table(
        name=str(path), columns=columns, marks=[line.number for line in sheet.lines], kind="line", number=number
    )


def _arrow(arrow: pa.Table, name: str, metric: str | None) -> Table:
    names = [plain_name(column) for column in arrow.column_names]
    twice = next((column for column in names if names.count(column) > 1), None)
    if twice is not None:
        raise UsageError(f"{name} has the column {twice!r} twice")
    if set(_EPISODES) <= set(arrow.column_names):
        return _episodes(arrow, name, metric)
    columns = {}
    for column, given in zip(names, arrow.columns, strict=True):
        listed = given.to_pylist()
        columns[column] = [None if isinstance(v, str) and not v.strip() else v for v in listed]
    return Table(name=name, columns=columns, marks=range(1, arrow.num_rows + 1), kind="row", number=_cell)


def _cell(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _run(run: Path, metric: str | None) -> Table:
    with warnings.catch_warnings(record=True) as damage:
        warnings.simplefilter("always", UserWarning)
        rows = read_columns(run)
    if not rows.num_rows:
        raise UsageError(f"{run} has no episodes yet")
    rows = in_turn(run, rows.take(pa.array(planned_rows(run, rows["scenario"]))))
    if not rows.num_rows:
        raise UsageError(f"{run}: no scenario counts yet: the first of the plan is still to come")
    if (planned := stopped_early(run, rows)) is not None:
        rows = rows.append_column(PLANNED, planned)
    table = _episodes(rows, str(run), metric)
    about = read_provenance(run)
    remarks = [f"{run}: {words}"] if (words := blind_words(about)) else []
    notes = (*(str(w.message) for w in damage), *remarks)
    return replace(table, design=design_of(about), notes=notes, run=run, fitted_episodes=episodes_of(run))


def _episodes(rows: pa.Table, name: str, metric: str | None) -> Table:
    """Episodes of a run, or of a file made from one; names that stand for several versions get their hash."""
    wanted = metric or "success"
    direct = wanted in ("success", "score")
    kept = [
        c
        for c in (*_EPISODES, *PROTOCOL, "judge", "real", "stands_in", "base", "factors", HORIZON, PLANNED)
        if c != "metrics" and c in rows.column_names
    ]
    columns = {c: cells(rows[c]) for c in kept}
    values = columns[wanted] if direct else [dict(m or ()).get(wanted) for m in rows["metrics"].to_pylist()]
    if not direct and all(v is None for v in values):
        metrics = {k for m in rows["metrics"].to_pylist() for k in dict(m or ())} | {"success", "score"}
        raise UsageError(f"metric {wanted!r} is not in {name}; {suggest(wanted, metrics)}")
    columns["value"] = [
        _value(v, success, blame, wanted)
        for v, success, blame in zip(values, columns["success"], columns["blame"], strict=True)
    ]
    group, known = cells_of(rows)
    names = names_of(known)
    columns["version"] = list(np.array([cell.policy_version for cell in known], dtype=object)[group])
    for column in ("world", "task", "policy", "clock"):
        columns[column] = list(np.array([getattr(name, column) for name in names], dtype=object)[group])
    if "world_params" in rows.column_names:
        columns["fitted_to"] = _fitted(rows["world_params"])
    drives = rows["controller"] if "controller" in columns else pa.chunked_array([pa.nulls(len(rows), pa.string())])
    controllers = grouped([pa.chunked_array([pa.array(group)]), drives])[1]
    also = other_words(known, names, [(number, name) for number, name in controllers if name])
    return Table(
        name=name,
        columns=columns,
        marks=columns["episode"],
        kind="episode",
        number=_cell,
        metric=wanted,
        episodes=True,
        also=also,
    )


def _value(given: Any, success: bool | None, blame: str | None, metric: str) -> Any:
    """What an episode is worth where its row does not say: a policy's error nothing, a solved one full marks."""
    if given is not None or success is None or metric == "success":
        return given
    if blame == "policy":
        return 0.0
    return 1.0 if metric == "score" and success else None


def _fitted(params: pa.ChunkedArray) -> list[bool]:
    """Whether each row's world was fitted to real trials of its scenario."""
    index, texts = codes(params)
    known = []
    for text in texts:
        try:
            known.append(bool(json.loads(text or "{}").get("fitted_to", {}).get("seen", False)))
        except (ValueError, AttributeError):
            known.append(False)
    return list(np.array([*known, False], dtype=object)[index])
