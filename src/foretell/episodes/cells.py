"""Cells: rows of one world, task, policy, clock and arm, and how much of each is planned, done and still to come.

Bets may be looked at any time only if the order of their trials does not depend on the outcomes, and how soon an
episode ends does. So while episodes are still to come, only the *leading* units of a plan count: those before the first
that lacks an episode. Which of the plan is retired, still to come or leading is worked out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.digest import digest
from foretell.episodes.columns import grouped
from foretell.episodes.planned import CELL, is_retired

__all__ = ["Cell", "Turn", "cells_of", "given_up", "still_to_come", "turns_of"]

PERSON = "person"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One world, task, controller, policy, clock and arm, each of one version. The fields are those of `CELL`, in its
    order."""

    world: str = ""
    world_hash: str = ""
    task: str = ""
    policy: str = ""
    policy_hash: str = ""
    policy_options: str = ""
    clock: str = ""
    """JSON, as in the rows."""
    arm: str = ""
    task_version: str = ""
    """Empty where it is unknown, as in plans of an older foretell, and where a person judged by rules of their own."""
    task_hash: str = ""
    controller: str = ""
    """Empty where `task_version` is."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Cell:
        """The cell of a row. The row may be older than a column, and lack it."""
        values = {name: "" if (value := row.get(name)) is None else str(value) for name in CELL}
        if row.get("judge") == PERSON:
            values |= {"task_version": "", "task_hash": "", "controller": ""}
        return cls(**values)

    @property
    def shown(self) -> tuple[str, ...]:
        """The names that a table has of it, without versions."""
        return self.world, self.task, self.policy, self.clock, self.arm

    @property
    def policy_version(self) -> str:
        """16 hex digits: of the weights and the options."""
        return digest([self.policy_hash, self.policy_options])

    @property
    def task_source(self) -> str:
        """16 hex digits: of the task's version and of its file. Empty where the version is unknown."""
        return digest([self.task_version, self.task_hash]) if self.task_version else ""


def cells_of(table: pa.Table) -> tuple[np.ndarray, list[Cell]]:
    """(row -> an index into the cells, the cells by first row). Columns that the table lacks count as unknown."""
    columns = [name for name in (*CELL, "judge") if name in table.column_names]
    group, names = grouped([table[name] for name in columns])
    every = [Cell.of(dict(zip(columns, values, strict=True))) for values in names]
    known = {cell: i for i, cell in enumerate(dict.fromkeys(every))}
    if len(known) < len(every):  # a person judged by several versions, which count as one
        group = np.array([known[cell] for cell in every], dtype=np.int64)[group]
    return group, list(known)


def given_up(plan: pa.Table) -> np.ndarray:
    """Row of a plan -> whether its cell has rows that are retired. Rates show such cells; no question is asked of
    them, because their plan ended for a reason that may depend on outcomes."""
    group, names = grouped([plan[name] for name in CELL])
    counts = np.bincount(group[is_retired(plan)], minlength=len(names))
    affected: np.ndarray = counts[group] > 0
    return affected


def still_to_come(plan: pa.Table, done: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Row of a plan -> whether it is still to come: neither retired nor one of these episodes."""
    known = done.combine_chunks() if isinstance(done, pa.ChunkedArray) else done
    there = pc.is_in(plan["episode"], known).to_numpy(zero_copy_only=False)
    waits: np.ndarray = ~there & ~is_retired(plan)
    return waits


class Turn(NamedTuple):
    """Units of a plan, counted group by group, in the order of the plan."""

    number: np.ndarray
    """Row -> number of its unit."""
    within: np.ndarray
    """Unit -> its place in its group."""
    owner: np.ndarray
    """Unit -> its group."""
    first: np.ndarray
    """Unit -> its first row."""

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """Unit -> how many of its rows are among these (a mask, or one number per row)."""
        return np.bincount(self.number, rows, minlength=len(self.owner)).astype(np.int64)

    def leading(self, left: np.ndarray, groups: int) -> np.ndarray:
        """Group -> how many units at its beginning lack nothing. left: unit -> episodes that it lacks."""
        complete = np.bincount(self.owner, minlength=groups)
        lacks = np.flatnonzero(left)
        np.minimum.at(complete, self.owner[lacks], self.within[lacks])
        return complete


def turns_of(group: np.ndarray, unit: np.ndarray) -> Turn:
    """The units (numbers from 0) of rows of these groups (numbers from 0)."""
    _, first, inverse = np.unique(group * (unit.max(initial=0) + 1) + unit, return_index=True, return_inverse=True)
    owner = group[first]
    order = np.lexsort((first, owner))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    owner = owner[order]
    return Turn(number[inverse], np.arange(len(order)) - np.searchsorted(owner, owner), owner, first[order])
