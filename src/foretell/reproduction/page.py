"""Figures as text: one table for each table of the paper, and a line that sums up."""

from __future__ import annotations

import sys
from typing import Any

from foretell.papers import PAPERS

__all__ = ["show", "summary"]

RULE = "Agrees: within half a unit of the last printed digit, or given by inputs that round to the printed ones."
SHORT = 34
"""Notes up to this many characters stand in the table, longer ones below it."""


def _text(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4f}".rstrip("0").rstrip(".")


def summary(rows: list[dict[str, Any]]) -> str:
    """Counts in one sentence."""
    counted = [r for r in rows if isinstance(r["published"], float) and r["recomputed"] is not None]
    agree = sum(bool(r["agrees"]) for r in counted)
    why = " (why: see the notes)" if agree < len(counted) else ""
    line = f"{len(counted)} figures recomputed, {agree} agree to rounding, {len(counted) - agree} differ{why}"
    claims = [r for r in rows if isinstance(r["published"], str)]
    if claims:
        line += f"; {sum(bool(r['agrees']) for r in claims)} of {len(claims)} statements hold"
    quoted = sum(r["quoted"] for r in rows)
    if quoted:
        line += f"; {quoted} quoted, because they follow from printed figures only"
    lost = sum(r["recomputed"] is None and not r["quoted"] for r in rows)
    if lost:
        line += f"; {lost} cannot be recomputed"
    bare = sum(r["published"] is None for r in rows)
    if bare:
        line += f"; {bare} of ours have no printed number"
    return line + "."


def _grids(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, dict[str, float]]]:
    """Curves without printed numbers, `... , N = 100`: by their last part, then by the rest of the name."""
    curves: dict[str, dict[str, float]] = {}
    for r in rows:
        start, _, end = r["figure"].rpartition(", ")
        if r["published"] is None and end.startswith(("N = ", "correlation ")):
            curves.setdefault(start, {})[end] = r["recomputed"]
    grids: dict[tuple[str, ...], dict[str, dict[str, float]]] = {}
    for start, values in curves.items():
        grids.setdefault(tuple(sorted(values, key=lambda k: float(k.split()[-1]))), {})[start] = values
    return grids


def show(rows: list[dict[str, Any]], brief: bool = False) -> None:
    """Print the figures, table by table; `brief` leaves out those that agree without remark."""
    from rich.console import Console
    from rich.table import Table

    from foretell.terminal import raw

    console = Console(file=raw(sys.stdout), markup=False, emoji=False, highlight=False, soft_wrap=True)
    if rows:
        console.print(f"{PAPERS[rows[0]['paper']]}. {RULE}")
    for name in dict.fromkeys(r["table"] for r in rows):
        mine = [r for r in rows if r["table"] == name]
        grids = _grids(mine)
        curves = {f"{start}, {end}" for grid in grids.values() for start, ends in grid.items() for end in ends}
        mine = [r for r in mine if r["figure"] not in curves]
        seen = [r for r in mine if not brief or r["note"] or r["agrees"] is not True]
        quiet = len(mine) - len(seen)
        console.print(f"\n{name}" + (f"  ({quiet} more agree)" if quiet else ""), style="bold")
        for ends, grid in grids.items():
            page = Table(box=None, header_style="bold", pad_edge=False)
            page.add_column("ours; no printed numbers")
            for end in ends:
                page.add_column(end, justify="right", no_wrap=True)
            for start, values in grid.items():
                page.add_row(start, *(f"{values[end]:.4f}" for end in ends))
            console.print(page)
        page = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("what", "paper", "ours", "difference", "note"):
            left = column in ("what", "note")
            page.add_column(column, justify="left" if left else "right", no_wrap=not left)
        below: dict[str, int] = {}
        for r in seen:
            gap = "" if r["difference"] is None else f"{r['difference']:+.4f}"
            remark = r["note"]
            if len(remark) > SHORT:
                remark = f"[{below.setdefault(remark, len(below) + 1)}]"
            if r["agrees"] is False:
                remark = f"differs {remark}" if remark.startswith("[") else f"differs: {remark}"
            ours = "quoted" if r["quoted"] else _text(r["recomputed"])
            page.add_row(r["figure"], _text(r["published"]), ours, gap, remark)
        if seen:
            console.print(page)
        for remark, number in below.items():
            console.print(f"[{number}] {remark}")
    console.print(f"\n{summary(rows)}")
