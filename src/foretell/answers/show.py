"""The answer of a run in a table: success rates with intervals. Every figure is rebuilt from the rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.answers.aggregate import aggregate_entries, shift_table
from foretell.answers.agreement import agreement_words, correction_words
from foretell.answers.events import event_words
from foretell.clock import label
from foretell.episodes.begun import begun_words
from foretell.episodes.blind import blind_words
from foretell.episodes.cells import Cell
from foretell.episodes.columns import plain_text
from foretell.episodes.count import method_name
from foretell.episodes.planned import plan_table
from foretell.episodes.provenance import read_provenance
from foretell.episodes.read import read_columns
from foretell.episodes.selection import selection_words
from foretell.episodes.tally import COLUMNS, Tally
from foretell.errors import UsageError
from foretell.notebook import html_of, html_table
from foretell.stats import ALPHA
from foretell.tasks.events import EVENTS
from foretell.terminal import plain

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

__all__ = ["Figures", "counted_figures", "episode_table", "figures", "list_episodes", "remarks", "show", "table"]

WRONG, LINES = 4, 12
"""Kinds of events told of each entry, and entries, at most."""


class Figures(list[dict[str, Any]]):
    """What `show` found: a list of entries, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return html_of("no episodes yet")
        common, header, rows, below = _cells(self)
        return html_of(common) + html_table(header, rows) + html_of(below)


def show(
    run: str | Path, alpha: float = ALPHA, *, episodes: bool = False, failed: bool = False
) -> list[dict[str, Any]]:
    """One entry per world, task, policy, clock and arm: n, successes, rate, interval, errors.

    `episodes` gives one entry per episode instead; `failed` gives only the episodes that did not succeed.

    The interval is that of `foretell bound` where all that was planned is finished: Clopper-Pearson's, or `star` where
    scenarios were tried several times. Elsewhere the entry is `running`: it counts the leading scenarios that are
    complete, and its interval holds whenever one looks (see `episodes.tally`). A cell that stops by a rule (`until`)
    has the interval of that rule, before and after it stopped; `stopped` tells whether it did so early.
    Errors blamed on the policy count as failures; those of world or machine are left out of n and counted apart.
    A policy whose weights changed, or a world whose θ did, under one name is listed once for each, with its hash.
    Where all arms of one of SIMPLER's aggregates ran, it is an entry too, with the change under each shift.
    """
    if not 0 < alpha < 1:
        raise UsageError(f"alpha is {alpha}, it must be between 0 and 1")
    if episodes or failed:
        return list_episodes(run, failed=failed)
    rows = read_columns(run, (*COLUMNS, "base"))
    single = figures(plan_table(run), rows, alpha)
    return Figures([*single, *aggregate_entries(rows, single, alpha)])


def figures(plan: pa.Table, rows: pa.Table, alpha: float = ALPHA, besides: Iterable[Cell] = ()) -> Figures:
    """The entries of `show` from a plan and rows. `besides`: cells of other runs on the same page."""
    return counted_figures(Tally(plan, rows=rows), alpha, besides)


def counted_figures(tally: Tally, alpha: float = ALPHA, besides: Iterable[Cell] = ()) -> Figures:
    """The entries of `show` from a tally."""
    entries = tally.figures(alpha, begun=True, besides=besides)
    return Figures({name: value for name, value in row.items() if name != "pace"} for row in entries)


def list_episodes(run: str | Path, failed: bool = False) -> list[dict[str, Any]]:
    """One entry per episode: its key, what it was, how it ended. `failed`: only those that did not succeed."""
    columns = [
        "episode",
        "task",
        "policy",
        "clock",
        "arm",
        "scenario",
        "trial",
        "success",
        "end",
        "failure_reason",
        "error",
        "events",
    ]
    rows = plain_text(read_columns(run, [*columns, "steps", "sim_s"])).to_pylist()
    for row in rows:
        row["clock"] = label(row["clock"])
        row["events"] = dict(row["events"] or ())
    return [row for row in rows if not (failed and row["success"])]


def episode_table(rows: list[dict[str, Any]]) -> None:
    """Print what `list_episodes` found."""
    page = _page("episode", "task", "policy", "clock", "scenario", "trial", "outcome", "why", "events")
    for row in rows:
        outcome = "success" if row["success"] else row["end"] if row["success"] is None else "failure"
        why = row["error"] or ("" if row["success"] else row["failure_reason"]) or ""
        names = [row[c] for c in ("episode", "task", "policy", "clock")]
        page.add_row(
            *map(plain, [*names, row["scenario"][:8], str(row["trial"]), outcome, why, _happened(row["events"])])
        )
    _print(page if rows else None)


def _happened(events: dict[str, float]) -> str:
    """Events in words, with how often they happened if more than once."""
    return ", ".join(event_words(name) + (f" x{times:g}" if times > 1 else "") for name, times in events.items())


def _page(*columns: str) -> Table:
    from rich.table import Table

    return Table(*columns, box=None, header_style="bold", pad_edge=False)


def _print(page: Table | None) -> None:
    from rich.console import Console

    from foretell.terminal import raw

    if page is None:
        print("no episodes")
        return
    # names are data, and whole: a narrow terminal wraps lines itself
    Console(file=raw(sys.stdout), width=10_000, soft_wrap=True, markup=False, emoji=False, highlight=False).print(page)


def remarks(run: str | Path) -> list[str]:
    """What a reader of a run's figures must know besides: whether it is blind, or was unblinded early; whether its
    scenarios had unequal chances; corrections of verdicts, and how far second judges agree."""
    words = blind_words(read_provenance(run))
    blind = [f"{words[0].upper()}{words[1:]}."] if words else []
    return [*blind, *begun_words(run), *selection_words(run), *correction_words(run), *agreement_words(run)]


def table(rows: list[dict[str, Any]], remarks: Iterable[str] = ()) -> None:
    """Print what `show` found, and `remarks` on it."""
    if not rows:
        print("no episodes yet")
        return
    common, header, cells, below = _cells(rows)
    page = _page()
    for column in header:
        page.add_column(column, justify="right" if column in ("success", "n") else "left")
    for row in cells:
        page.add_row(*row)
    if common:
        print(common)
    _print(page)
    for line in (*([below] if below else []), *remarks):
        print(line)


def _cells(rows: list[dict[str, Any]]) -> tuple[str, list[str], list[list[str]], str]:
    """What all entries have in common, names of columns, the cells of each entry, and what intervals they are."""
    names = ("world", "task", "policy", "clock", "arm")
    fixed = [c for c in ("world", "clock", "arm") if len({row[c] for row in rows}) == 1]
    header = [*(c for c in names if c not in fixed), "success", "n", f"{1 - rows[0]['alpha']:.0%} interval", "errors"]
    made = []
    for row in rows:
        rate = "-" if row["rate"] is None else f"{row['rate']:.0%}"
        bounds = "-" if row["low"] is None else f"{row['low']:.0%} to {row['high']:.0%}"
        if row["running"] or row["retired"]:
            word = "running" if row["running"] else "retired"
            bounds += f", {word}: {row['finished']} of {row['planned']}"
        elif row["stopped"]:
            bounds += ", stopped"
        errors = plain(", ".join(f"{count} {blame}" for blame, count in row["errors"].items()))
        made.append([*(plain(str(row[c])) for c in names if c not in fixed), rate, str(row["n"]), bounds, errors])
    methods = dict.fromkeys(method_name(row) for row in rows if row["method"])
    common = ", ".join(f"{column} {rows[0][column]}" for column in fixed)
    below = [f"Intervals: {'; '.join(methods)}."] if methods else []
    apart = [c for c in names if c not in fixed]
    return common, header, made, "\n".join([*below, *shift_table(rows, apart), *_wrong(rows, apart)])


def _wrong(rows: list[dict[str, Any]], names: list[str]) -> list[str]:
    """What went wrong in each entry, the most frequent first: in how many of its episodes."""
    lines = []
    for row in rows:
        counts = [(k, name) for name, k in row["events"].items() if name not in EVENTS or EVENTS[name].wrong]
        most = sorted(counts, key=lambda pair: -pair[0])[:WRONG]
        if most:
            events = ", ".join(f"{event_words(name)} {k} of {row['finished']}" for k, name in most)
            lines.append(f"  {plain(', '.join(str(row[c]) for c in names))}: {events}")
    more = [f"  and {len(lines) - LINES} more; foretell report shows all"] if len(lines) > LINES else []
    return ["What went wrong, in episodes:", *lines[:LINES], *more] if lines else []
