"""Real trials from a LeRobot dataset: an episode is a trial, and so a line of a sheet.

What a person knows comes from a CSV file beside it (`trials.csv` in the dataset, or one that is named), a line for each
`episode_index` with the columns of a sheet. Success may also be a column of the dataset itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.counting import counted
from foretell.datasets import LeRobotData
from foretell.errors import UsageError
from foretell.files import inside
from foretell.reality.sheet import SheetLine, TrialSheet, read_sheet

__all__ = ["sheet_of_dataset"]

NUMBER = "episode_index"
SUCCESS = ("next.success", "success")
"""Columns of datasets that say whether an episode succeeded: at any of its steps."""
OURS = (NUMBER, "episode", "real")
"""Columns of our `trials.csv` that no sheet has."""


def sheet_of_dataset(path: Path, outcomes: Path | None, given: Mapping[str, str | None]) -> TrialSheet:
    """The trials of a dataset. given: column -> what it is in every line that does not say: policy, task."""
    data = LeRobotData(path)
    table = data.table([NUMBER], optional=["task_index", *SUCCESS])
    known = {number: _facts(data, table, rows) for number, rows in data.episodes(table).items()}
    usual = {column: text for column, text in given.items() if text is not None}
    own = inside(path, "trials.csv")
    source = outcomes if outcomes is not None else own
    if source is None:
        sheet = _alone(path, known)
    else:
        sheet = _with_outcomes(read_sheet(source), known)
    sheet.lines = [SheetLine(line.number, {**usual, **line.cells}) for line in sheet.lines]
    names = {column: column for line in sheet.lines for column in line.cells}
    sheet.columns = {**names, **{column: name for column, name in sheet.columns.items() if column not in OURS}}
    return sheet


def _facts(data: LeRobotData, table: pa.Table, rows: Ints) -> dict[str, str]:
    """What the dataset says of an episode, as cells."""
    facts = {}
    if data.fps is not None:
        facts["duration"] = f"{len(rows) / data.fps:.3f}"
    if "task_index" in table.column_names and data.tasks:
        texts = {data.tasks.get(number, "") for number in table["task_index"].take(pa.array(rows)).to_pylist()}
        if len(texts) == 1 and (text := str(texts.pop()).strip()):
            facts["instruction"] = text
    for column in SUCCESS:
        if column in table.column_names:
            values = table[column].take(pa.array(rows)).to_pylist()
            if any(value not in (True, False) for value in values):
                raise UsageError(f"{data.path}: {column} should be true or false in every row")
            facts["success"] = str(int(bool(np.any(values))))
            break
    return facts


def _alone(path: Path, known: Mapping[int, dict[str, str]]) -> TrialSheet:
    if not all("success" in facts for facts in known.values()):
        raise UsageError(
            f"{path} does not say which episodes succeeded: give a CSV file with the columns episode_index and success "
            f"(--outcomes), or put it into the dataset as trials.csv; a column {SUCCESS[0]} would do too"
        )
    lines = [SheetLine(number + 1, facts) for number, facts in known.items()]
    return TrialSheet(path=path / "meta" / "info.json", columns={}, lines=lines, decimal_comma=False)


def _with_outcomes(sheet: TrialSheet, known: Mapping[int, dict[str, str]]) -> TrialSheet:
    if NUMBER not in sheet.columns:
        sheet.fault(sheet.head, NUMBER, "a column of this name, which says which episode a line is about", None)
        sheet.refuse()
    lines, seen, simulated = [], dict[int, int](), 0
    for line in sheet.lines:
        number = sheet.number(line, NUMBER, "the number of an episode", 0, 2**53)
        if number is None or number not in known:
            if number is not None or NUMBER not in line.cells:
                episodes = f"an episode of the dataset ({min(known)} to {max(known)})"
                sheet.fault(line, NUMBER, episodes, line.cells.get(NUMBER))
            continue
        if int(number) in seen:
            sheet.fault(line, NUMBER, f"another episode than line {seen[int(number)]}", line.cells[NUMBER])
            continue
        seen[int(number)] = line.number
        simulated += line.cells.get("real") == "0"
        cells = {column: text for column, text in line.cells.items() if column not in OURS}
        lines.append(SheetLine(line.number, {**_unless_judged(known[int(number)], cells), **cells}))
    sheet.refuse()
    if left := len(known) - len(seen):
        sheet.notes.append(f"{sheet.path} has no line for {counted(left, 'episode')} of the dataset, not imported")
    if simulated:
        sheet.notes.append(f"the dataset says that {counted(simulated, 'trial was', 'trials were')} simulated")
    sheet.lines = lines
    return sheet


def _unless_judged(facts: dict[str, str], cells: Mapping[str, str]) -> dict[str, str]:
    """What the dataset says, but for a verdict where a person gave one."""
    judged = {"success", "score"} & cells.keys()
    return {column: text for column, text in facts.items() if not (judged and column == "success")}
