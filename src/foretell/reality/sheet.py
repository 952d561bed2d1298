"""A spreadsheet saved as text: comma, semicolon or tab. Cells are data; every fault is told at once, by line."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from foretell.errors import UsageError

__all__ = ["SheetLine", "TrialSheet", "no_formula", "plain_name", "read_sheet"]

FORMULA = tuple("=+-@\t\r")
"""What a spreadsheet carries out begins with one of these."""

SHOWN = 20
"""Faults that are listed; the rest are counted."""


@dataclass(frozen=True)
class SheetLine:
    """One row of the sheet."""

    number: int
    """In the file, from 1; the first one where a cell spans several."""
    cells: Mapping[str, str]
    """Column -> text. Blank cells are left out."""


@dataclass(kw_only=True)
class TrialSheet:
    """What the file says, and what is wrong with it."""

    path: Path
    columns: dict[str, str]
    """Column -> its name as written."""
    lines: list[SheetLine]
    decimal_comma: bool
    """0,5 is a half: only where the comma does not part the cells."""
    head: int = 1
    """Number of the line with the names."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Line -> what is wrong there."""
    notes: list[str] = field(default_factory=list)
    """What is worth saying but no fault."""

    def fault(self, line: SheetLine | int, column: str, expected: str, given: str | None) -> None:
        """Note what is wrong with a cell; `refuse` tells."""
        got = "nothing" if given is None else f"{given[:60]!r}"
        self.tell(line, column, f"expected {expected}; given: {got}")

    def tell(self, line: SheetLine | int, column: str, trouble: str) -> None:
        """Note in words what is wrong with a cell."""
        number = line if isinstance(line, int) else line.number
        name = self.columns.get(column, column)
        self.faults.append((number, f"{self.path}, line {number}, column {name!r}: {trouble}"))

    def refuse(self) -> None:
        """Raises UsageError if anything was wrong."""
        if self.faults:
            more = [f"and {len(self.faults) - SHOWN} more"] if len(self.faults) > SHOWN else []
            many = f"{len(self.faults)} problems" if len(self.faults) > 1 else "one problem"
            faults = [text for _, text in sorted(self.faults, key=lambda fault: fault[0])]
            raise UsageError("\n".join([f"{many}; nothing was written", *faults[:SHOWN], *more]))

    def to_float(self, text: str) -> float | None:
        """The number a cell holds, or None."""
        if self.decimal_comma and "." not in text:
            text = text.replace(",", ".")
        try:
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def number(
        self, line: SheetLine, column: str, expected: str, low: float = -math.inf, high: float = math.inf
    ) -> float | None:
        """A cell's number within bounds; None where it is blank, or wrong, which is then noted."""
        text = line.cells.get(column)
        if text is None:
            return None
        value = self.to_float(text)
        if value is None or not low <= value <= high:
            self.fault(line, column, expected, text)
            return None
        return value


def no_formula(text: str) -> str:
    """A name that a spreadsheet would carry out, as text. `read_sheet` gives the name back."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _as_named(cell: str) -> str:
    """The text of a cell, as it was before `no_formula`."""
    text = cell.strip()
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def plain_name(name: str) -> str:
    """A column's name as it is looked up: case does not matter, and spaces and underscores are the same."""
    return re.sub(r"[\s_]+", "_", name.strip().lower())


def read_sheet(path: str | Path) -> TrialSheet:
    """Read a spreadsheet. Raises UsageError where it is none, or where a line has more cells than there are names."""
    path = Path(path)
    text = _text(path)
    first, _, rest = text.partition("\n")
    separator = re.fullmatch(r"sep=(.)\r?", first, re.IGNORECASE)  # Excel's own way to say it
    if separator:
        delimiter, text, skipped = separator[1], rest, 1
    else:
        head = next((line for line in text.splitlines() if line.strip()), "")
        delimiter, skipped = max(",;\t", key=head.count), 0
    rows = _rows(path, text, delimiter, skipped)
    if not rows:
        raise UsageError(f"{path} is empty: its first line should name the columns, such as policy,task,success")
    (number, names), *body = rows
    sheet = TrialSheet(path=path, columns={}, lines=[], decimal_comma=delimiter != ",", head=number)
    at: dict[int, str] = {}
    for place, name in enumerate(names):
        name = _as_named(name)
        column = plain_name(name)
        if column in sheet.columns:
            sheet.fault(number, column, f"{sheet.columns[column]!r} to be named once", name)
        elif column:
            sheet.columns[column], at[place] = name, column
    for number, cells in body:
        line = SheetLine(number, {at[i]: _as_named(c) for i, c in enumerate(cells) if c.strip() and i in at})
        stray = next((c for i, c in enumerate(cells) if c.strip() and i not in at), None)
        if stray is not None:
            sheet.fault(line, "(none)", f"at most {len(at)} cells, each under a name", stray)
        sheet.lines.append(line)
    return sheet


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if data.startswith(b"PK\x03\x04"):
        raise UsageError(f"{path} is a workbook: save the sheet as CSV (UTF-8) and import that")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line} is not UTF-8: save the sheet as CSV (UTF-8)") from None


def _rows(path: Path, text: str, delimiter: str, skipped: int) -> list[tuple[int, list[str]]]:
    """(number of its first line, cells) of each row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows, ended = [], 0
    try:
        for cells in reader:
            if any(c.strip() for c in cells):
                rows.append((ended + 1 + skipped, cells))
            ended = reader.line_num
    except csv.Error as error:
        raise UsageError(f"{path}, line {ended + 1 + skipped}: {error}") from None
    return rows
