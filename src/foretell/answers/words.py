"""Answers in words: numbers, names and small tables as text that any terminal can show."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace

from foretell.stats.interval import ALIKE, AS_RUN, HASHED, IID, PAIRS, SHUFFLED, UNITED, Interval
from foretell.terminal import plain

__all__ = [
    "ANYTIME",
    "DRAWN",
    "amount",
    "contradiction",
    "level",
    "listed",
    "noted",
    "of_counts",
    "of_scenarios",
    "plain",
    "sentence",
    "table",
]

ANYTIME = "This holds at every look: you may look after each trial, and stop when you like."
DRAWN = "scenarios drawn independently from one distribution"
ASSUMED = {
    IID: DRAWN,
    PAIRS: "real trials placed on randomly chosen scenarios",
    ALIKE: "paired and extra scenarios drawn from the same distribution",
    HASHED: "scenarios put in the order of a hash of their names and then shuffled by a draw that a hash of their "
    "scores seeds: an order that cannot follow outcomes",
    SHUFFLED: "scenarios taken in an order drawn by a hash of their names, which cannot follow outcomes",
    UNITED: "trials taken in several orders drawn by a hash of all scores, and the intervals united",
    AS_RUN: "trials listed in the order in which they were run, and that order chosen without looking at outcomes",
}
"""What an interval assumes of scores -> the same of scenarios and their trials."""
COUNTED = {IID: "trials drawn independently from one distribution"}
"""The same of trials that are only counted."""


def of_scenarios(interval: Interval) -> Interval:
    """The interval, which speaks of scores, in words for scenarios."""
    return replace(interval, assumes=tuple(ASSUMED.get(assumption, assumption) for assumption in interval.assumes))


def of_counts(interval: Interval) -> Interval:
    """The interval, which speaks of scores, in words for trials that are counted."""
    return replace(interval, assumes=tuple(COUNTED.get(assumption, assumption) for assumption in interval.assumes))


def amount(value: float | None, metric: str) -> str:
    """A score as people say it: successes in percent."""
    if value is None:
        return "-"
    return f"{value:.1%}" if metric == "success" else f"{value:.3f}"


def contradiction(intervals: Sequence[Interval], mean: float, metric: str) -> str | None:
    """What to say first where the trials refute every mean, by one method or some of several; None where they do not.
    mean: of the real scores."""
    contrary = [interval for interval in intervals if interval.contradiction is not None]
    if not contrary:
        return None
    rate = "success rate" if metric == "success" else f"mean {metric}"
    methods = f" by {listed([interval.method for interval in contrary])}" if len(intervals) > 1 else ""
    ends = "; ".join(f"level {interval.contradiction:.3g}" for interval in contrary)
    cause = " Did something change between them, or do they not stand in the order run?" if contrary[0].anytime else ""
    return (
        f"Early and late trials contradict each other{methods}: no {rate} fits both with {level(contrary[0].alpha)} "
        f"confidence. The mean of all trials is {amount(mean, metric)}.{cause} The ends below are those of {ends}, the "
        "largest at which any mean is left: do not rely on them."
    )


def level(alpha: float) -> str:
    """Confidence, in percent."""
    return f"{100 * (1 - alpha):.10g}%"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def noted(notes: Iterable[str]) -> list[str]:
    """Notes as lines; warnings keep their own word."""
    return [plain(note) if note.startswith("warning: ") else f"note: {plain(note)}" for note in notes]


def sentence(text: str) -> str:
    """Begins with a capital and ends with a full stop."""
    text = text.rstrip(".")
    return text[:1].upper() + text[1:] + "."


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Aligned columns, the first ones (`left`) to the left."""
    from rich.console import Console
    from rich.table import Table

    page = Table(box=None, pad_edge=False)
    for i, name in enumerate(header):
        page.add_column(name, justify="left" if i < left else "right", no_wrap=True)
    for row in rows:
        page.add_row(*[plain(cell) for cell in row])
    out = io.StringIO()
    Console(file=out, width=400, markup=False, emoji=False, highlight=False, color_system=None).print(page)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
