"""Which rows of a table count, and for how much: with its place for each that is at fault, or all at once if none is.

Large tables are episodes that foretell wrote itself. Those are looked at by column, which is faster. Any other table,
and one with a fault, is read row by row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretell.answers.inputs import Table, refuse
from foretell.answers.words import plain
from foretell.episodes.units import by_unit, unit_of
from foretell.reality.rows import NO, YES

__all__ = ["Counted", "at_once", "row_by_row"]


@dataclass(kw_only=True)
class Counted:
    """The rows that count, in their order."""

    scenarios: list[str] = field(default_factory=list)
    parents: list[str | None] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    trials: list[int] = field(default_factory=list)
    """Trial, or its place in the table where it has no number."""
    rows: list[int] = field(default_factory=list)
    """Places in the table."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why episodes do not count -> how many."""
    unplaced: set[str] = field(default_factory=set)
    """Names of trials without a scenario."""
    broken: set[str] = field(default_factory=set)
    """Units of which an episode does not count."""
    fitted: set[str] = field(default_factory=set)
    """Units that the simulator was fitted to."""

    def units(self) -> list[str]:
        """What each row counts for: its parent, or its scenario."""
        return [unit_of(up, own) or "" for own, up in zip(self.scenarios, self.parents, strict=True)]

    def first(self) -> dict[str, int]:
        """Unit -> its first row in the table."""
        units = by_unit(self.units(), sort=False)
        return {name: self.rows[i] for name, i in zip(units.names, units.first.tolist(), strict=True)}

    def tries(self) -> dict[str, list[tuple[int, float]]]:
        """Unit -> trial and score of each of its rows, of the units with several rows."""
        units = by_unit(self.units(), sort=False)
        tries: dict[str, list[tuple[int, float]]] = {units.names[i]: [] for i in np.flatnonzero(units.counts > 1)}
        for row in np.flatnonzero(units.counts[units.number] > 1).tolist():
            tries[units.names[units.number[row]]].append((self.trials[row], self.scores[row]))
        return tries


def at_once(table: Table) -> Counted | None:
    """Count the rows of an ordinary table of episodes at once; None for any other table."""
    if not table.episodes or table.metric != "success":
        return None
    names = ("scenario", "parent", "trial", "success", "value")
    if any(name not in table.columns for name in names) or any(table.columns.get("fitted_to") or ()):
        return None
    scenarios, parents, trials, successes, values = (table.columns[name] for name in names)
    kinds = [set(map(type, column)) for column in (scenarios, parents, trials, successes)]
    nothing = type(None)
    usual = kinds[0] == {str} and kinds[1] <= {str, nothing} and kinds[2] == {int} and kinds[3] <= {bool, nothing}
    if not usual or not all(scenarios) or "" in parents or min(trials) < 0 or values != successes:
        return None
    counted = Counted(scenarios=scenarios, parents=parents, scores=[], trials=trials)
    units = counted.units()
    if None in successes:
        blames = table.columns.get("blame") or [None] * len(table)
        out = [i for i, success in enumerate(successes) if success is None]
        counted.left_out.update(str(blames[i] or "not judged") for i in out)
        counted.broken.update(units[i] for i in out)
        rows = [i for i, success in enumerate(successes) if success is not None]
        scenarios, parents, trials = ([c[i] for i in rows] for c in (scenarios, parents, trials))
        counted.scenarios, counted.parents, counted.trials = scenarios, parents, trials
    else:
        rows = list(range(len(table)))
    if len(set(zip(scenarios, trials, strict=True))) < len(rows):  # one is there twice: which, is told row by row
        return None
    counted.rows = rows
    counted.scores = [float(success) for success in successes if success is not None]
    return counted


def row_by_row(table: Table, unit_range: bool) -> Counted:
    """Count the rows of any table. A bad cell or a repeated (scenario, trial) raises UsageError with its place."""
    blank: list[Any] = [None] * len(table)
    scenarios, parents = table.columns["scenario"], table.columns.get("parent", blank)
    trials, successes = table.columns.get("trial", blank), table.columns.get("success", blank)
    blames, marks = table.columns.get("blame", blank), table.columns.get("fitted_to", blank)
    read = _reader(table)
    seen: dict[tuple[str, str], int] = {}
    faults: list[str] = []
    counted = Counted()
    for i, value in enumerate(table.columns["value"]):
        own, up, trial = _name(scenarios[i]), _name(parents[i]), _name(trials[i])
        unplaced = own is None and table.episodes  # a trial whose situation was not written down
        if unplaced:
            own = f"episode {table.marks[i]}"
        unit = unit_of(up, own) or ""
        if own is None:
            faults.append(f"{table.place(i)}: the scenario is blank, so the row cannot be placed")
            continue
        if table.episodes and successes[i] is None:
            counted.left_out[str(blames[i] or "not judged")] += 1
            counted.broken.add(unit)
            continue
        before = seen.setdefault((own, trial or ""), i)
        if before != i:
            which = f"trial {plain(trial)!r} of scenario" if trial is not None else "scenario"
            hint = "" if trial is not None else "; add a column `trial` to number repeated trials"
            faults.append(
                f"{table.place(i)}: {which} {plain(own)!r} is already in {table.kind} {table.marks[before]}{hint}"
            )
            continue
        score = read(value)
        if score is None or (unit_range and not 0.0 <= score <= 1.0):
            wanted = "a number from 0 to 1" if unit_range else "a number"
            given = "nothing" if value is None else plain(repr(value))[:60]
            faults.append(f"{table.place(i)}, {table.metric!r}: expected {wanted}; given: {given}")
            continue
        if marks[i] is None or marks[i] is False:  # as nearly all are
            pass
        elif (known := _truth(marks[i])) is None:
            faults.append(f"{table.place(i)}, 'fitted_to': expected yes or no; given: {plain(repr(marks[i]))[:60]}")
        elif known:
            counted.fitted.add(unit)
        if unplaced and up is None:
            counted.unplaced.add(own)
        counted.scenarios.append(own)
        counted.parents.append(up)
        counted.scores.append(score)
        counted.trials.append(int(trial) if trial is not None and trial.isdecimal() else i)
        counted.rows.append(i)
    refuse(faults)
    return counted


def _reader(table: Table) -> Any:
    if table.metric != "success":
        return table.number
    words = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}

    def read(cell: Any) -> float | None:
        return words.get(cell.lower(), table.number(cell)) if isinstance(cell, str) else table.number(cell)

    return read


def _truth(cell: Any) -> bool | None:
    """Yes or no; blank is no, and None is neither."""
    word = str(cell if cell is not None else "no").strip().lower().removesuffix(".0")
    return True if word in YES else False if word in NO else None


def _name(cell: Any) -> str | None:
    """A scenario or trial as text; 7 and 7.0 are one."""
    if cell is None or isinstance(cell, str):
        return cell or None
    if isinstance(cell, float):
        if cell != cell:
            return None
        return str(int(cell)) if cell.is_integer() else str(cell)
    return str(cell)
