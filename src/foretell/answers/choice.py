"""Which rows are meant: one task, policy, clock and arm. What is not asked for must not be ambiguous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretell.answers.inputs import Table
from foretell.answers.words import plain
from foretell.errors import UsageError, suggest

__all__ = ["Choice", "choose", "labels", "meaning", "single_version"]

ORDER = ("task", "policy", "clock", "arm")
"""Settled one after the other: a task leaves fewer policies to choose from."""


@dataclass(frozen=True)
class Choice:
    """What the user asked for; None leaves it to the tables."""

    task: str | None = None
    policy: str | None = None
    clock: str | None = None
    arm: str | None = None


def labels(table: Table, column: str) -> list[str]:
    """Distinct names in a column, in order of appearance; none where there is no such column."""
    return list(dict.fromkeys(str(cell) for cell in dict.fromkeys(table.columns.get(column, ())) if cell is not None))


def choose(
    tables: Sequence[Table], choice: Choice, columns: Sequence[str] = ORDER, *, flag: str = "--{}"
) -> tuple[list[Table], list[str]]:
    """The rows meant of each table, and what is to be said about the choice.

    Where a table holds several names and nothing was asked, the one name all tables share is meant.
    """
    kept, notes = list(tables), []
    for column in (c for c in ORDER if c in columns):
        known = [labels(table, column) for table in kept]
        wanted = getattr(choice, column)
        if wanted is not None:
            picks = [_asked(table, column, names, wanted) for table, names in zip(kept, known, strict=True)]
            if not any(known):
                listed = ", ".join(table.name for table in kept)
                raise UsageError(f"{listed}: there is no column {column!r}, so {plain(wanted)!r} cannot be chosen")
            notes += _unlike(column, picks, kept)
        elif all(len(names) < 2 for names in known):
            picks = [names[0] if names else None for names in known]
            notes += _unlike(column, picks, kept)
        else:
            shared = [name for name in next(n for n in known if n) if all(name in n for n in known if n)]
            if len(shared) != 1:
                raise UsageError(_ambiguous(column, kept, known, flag.format(column)))
            picks = [shared[0] if names else None for names in known]
        kept = [_only(table, column, pick) for table, pick in zip(kept, picks, strict=True)]
    return kept, notes


def _unlike(column: str, picks: Sequence[str | None], tables: Sequence[Table]) -> list[str]:
    """A note where tables have different names of one column."""
    if len({pick for pick in picks if pick is not None}) < 2:
        return []
    listed = ", ".join(f"{plain(p)!r} in {t.name}" for p, t in zip(picks, tables, strict=True) if p is not None)
    return [f"{column}: {listed}"]


def meaning(table: Table, column: str, names: Sequence[str], word: str) -> str:
    """The name that is asked for, by itself or by another word that tables print for it."""
    if word in names:
        return word
    also = table.also.get(column, {}).get(word, frozenset())
    meant = [name for name in names if name in also]
    if len(meant) == 1:
        return meant[0]
    if meant:
        listed = ", ".join(map(plain, meant))
        raise UsageError(f"{column} {plain(word)!r} matches several names in {table.name}; choose one: {listed}")
    raise UsageError(f"{column} {plain(word)!r} is not in {table.name}; {suggest(word, map(plain, names))}")


def _asked(table: Table, column: str, names: list[str], word: str) -> str | None:
    if len(names) == 1 and _not_marked(table, column, names[0], word):
        return names[0]
    return meaning(table, column, names, word) if names else None


def _not_marked(table: Table, column: str, name: str, word: str) -> bool:
    """Whether real trials leave open what is asked: people record no simulated clock, and often no policy's version."""
    if set(labels(table, "judge")) != {"person"}:
        return False
    if column == "policy":
        return word.partition("#")[0] == name and labels(table, "policy_hash") == [""]
    return column == "clock"


PLURAL = {"task": "tasks", "policy": "policies", "clock": "clocks", "arm": "arms"}


def _ambiguous(column: str, tables: Sequence[Table], known: list[list[str]], flag: str) -> str:
    lines = [f"several {PLURAL[column]}: choose one with {flag}:"]
    for table, names in zip(tables, known, strict=True):
        if names:
            more = f" and {len(names) - 20} more" if len(names) > 20 else ""
            lines.append(f"  {table.name} has {', '.join(plain(name) for name in names[:20])}{more}")
    return "\n".join(lines)


def _only(table: Table, column: str, name: str | None) -> Table:
    if name is None or len(labels(table, column)) < 2:
        return table
    return table.keep([i for i, cell in enumerate(table.columns[column]) if str(cell) == name])


def single_version(table: Table) -> None:
    """Rows of two worlds, or of one world with other parameters, are never pooled."""
    worlds = labels(table, "world")
    if len(worlds) > 1:
        raise UsageError(
            f"{table.name} has episodes of several worlds ({', '.join(map(plain, worlds))}): "
            "write the rows of one world to a Parquet file and give that file"
        )
