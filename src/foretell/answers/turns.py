"""In which order trials were run, for whoever looks after every one of them.

A bound or a test that may be looked at any time holds if every look sees the trials of the look before, in the same
order, and then some. So a trial's turn must not change once it counts, nor its score:

- Lines of a file, and rows of a table, stand as run.
- Imported trials stand in their run folder as they were imported.
- A study that runs side by side ends its episodes in an order that follows outcomes: successes end first. There
  trials count in the order of the plan, up to the first that is still to come; those that ended early wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from foretell.answers.inputs import Table
from foretell.episodes.cells import cells_of, still_to_come, turns_of
from foretell.episodes.columns import cells
from foretell.episodes.journal import journals, parse
from foretell.episodes.parts import DamagedError, parts, read_part
from foretell.episodes.planned import plan_table
from foretell.episodes.read import JOURNAL, read_columns
from foretell.files import read_file

__all__ = ["Turns", "first_trials", "turns"]

RERUN = "machine"
"""Blame of an episode that is to be run again."""


@dataclass(frozen=True)
class Turns:
    """When each row of a table was run."""

    at: list[int]
    """Row -> its place in the order run. Rows of one source compare, also those of different policies."""
    waits: frozenset[int]
    """Rows that do not count yet, because one planned before them is still to come."""


def turns(table: Table) -> Turns:
    """The turns of a table's rows."""
    if table.run is None:
        return Turns(list(table.rows), frozenset())
    plan, waits = _planned(table.run)
    places = plan or _stored(table.run)
    late = len(places)  # a row that came in while this was read
    return Turns(
        [places.get(str(mark), late) for mark in table.marks],
        frozenset(i for i, mark in enumerate(table.marks) if mark in waits or str(mark) not in places),
    )


def first_trials(table: Table, trials: Iterable[tuple[str, int, float]]) -> tuple[dict[str, int], list[float]]:
    """Unit -> turn of its first trial, in the order run, and the scores of these trials, in the same order.

    trials: (unit, row, score) of each. Later ones do not count: they would change a unit that was looked at.
    """
    when = turns(table)
    first: dict[str, tuple[int, float]] = {}
    for unit, row, score in trials:
        if row not in when.waits:
            mine = (when.at[row], score)
            first[unit] = min(first.get(unit, mine), mine)
    order = sorted(first, key=lambda unit: first[unit])
    return {unit: first[unit][0] for unit in order}, [first[unit][1] for unit in order]


def _planned(run: Path) -> tuple[dict[str, int], frozenset[str]]:
    """Episode -> its place in the plan, and the episodes that wait for one before them of their cell."""
    plan = plan_table(run)
    if not len(plan):
        return {}, frozenset()
    names = cells(plan["episode"])
    rows = read_columns(run, ["episode", "blame"])
    done = rows["episode"].filter(pc.not_equal(rows["blame"], RERUN).fill_null(True))
    group, owners = cells_of(plan)
    turn = turns_of(group, np.arange(len(plan)))  # each row by itself
    leading = turn.leading(turn.counts(still_to_come(plan, done)), len(owners))
    waits = turn.within[turn.number] > leading[group]
    return {name: i for i, name in enumerate(names)}, frozenset(names[i] for i in np.flatnonzero(waits))


def _stored(run: Path) -> dict[str, int]:
    """Episode -> its place among all that were stored, earliest first."""
    stored: list[str] = []
    for path in parts(run):
        try:
            stored += cells(read_part(path, ["episode"])["episode"])
        except (DamagedError, OSError):
            continue  # who opened the run was told
    for path in journals(run):
        try:
            stored += [row["episode"] for row in parse(read_file(path, JOURNAL), path).rows]
        except OSError:
            continue
    return {name: i for i, name in enumerate(dict.fromkeys(stored))}
