"""What went wrong: events judged from the true state, policy by policy, and compared between worlds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.answers.events import READ, event_shares, event_words
from foretell.answers.words import listed, sentence
from foretell.episodes.columns import spread
from foretell.report.charts import dots, slug
from foretell.report.runs import Runs, place
from foretell.report.section import Block, Chart, Section, Sheet
from foretell.stats import newcombe
from foretell.tasks.events import EVENTS

__all__ = ["section"]

TASKS, SERIES = 6, 8
"""Charts, and series in one, at most; the table has all."""
BY = ("task", "policy", "run", "world")
TIPS = {
    "event": ("event", ""),
    "series": ("policy", ""),
    "share": ("share of episodes", ".1%"),
    "low": ("from", ".1%"),
    "high": ("to", ".1%"),
    "episodes": ("episodes", "d"),
    "n": ("of", "d"),
}

Entry = dict[str, Any]


def section(runs: Runs) -> Section | None:
    """The section on all episodes without perturbation."""
    entries = event_shares(_table(runs), BY)
    if not entries:
        return None
    entries.sort(key=lambda e: (place(e["task"], runs.tasks), place(e["policy"], runs.policies)))
    for entry in entries:
        entry["what"] = event_words(entry["event"])
    blocks: list[Block] = [*_charts(entries), _sheet(entries)]
    real = {run.name for run in runs.real}
    if compared := _compared(entries, real):
        blocks.append(compared)
    blocks.append(_definitions(entries))
    return Section("events", "What went wrong", _says(entries, real), blocks)


def _table(runs: Runs) -> pa.Table:
    tables = []
    for run in runs.each:
        table = runs.named(run).select([*READ, "task", "policy", "arm"])
        table = table.append_column("run", spread([run.name], np.zeros(len(table), dtype=np.int64)))
        tables.append(table.filter(pc.equal(table["arm"], "none").fill_null(False)))
    return pa.concat_tables(tables).unify_dictionaries()


def _wrong(entry: Entry) -> bool:
    return entry["event"] not in EVENTS or EVENTS[entry["event"]].wrong


def _says(entries: Sequence[Entry], real: set[str]) -> str:
    """The most frequent of what went wrong, in simulation and in reality apart."""
    parts = []
    sim, world = ([e for e in entries if (e["run"] in real) == side] for side in (False, True))
    sides = [("in simulation ", sim), ("in reality or its stand-in ", world)] if sim and world else [("", entries)]
    for where, mine in sides:
        totals: dict[str, list[int]] = {}
        for entry in filter(_wrong, mine):
            count = totals.setdefault(entry["what"], [0, 0])
            count[0], count[1] = count[0] + entry["episodes"], count[1] + entry["n"]
        some = sorted(((k / n, what, k, n) for what, (k, n) in totals.items() if k), reverse=True)[:2]
        if some:
            first, *rest = [f"{k:,} of {n:,}{{}} {what}" for _, what, k, n in some]
            parts.append(where + listed([first.format(" episodes"), *(text.format("") for text in rest)]))
        elif mine:
            parts.append(f"{where}nothing went wrong")
    return f"{sentence('; '.join(parts))} An episode can have several events and still succeed."


def _series(entries: Sequence[Entry]) -> None:
    """Name the lines: the policy, with run and world where there are several."""
    several = len({(e["run"], e["world"]) for e in entries}) > 1
    runs = len({e["run"] for e in entries}) > 1
    for entry in entries:
        where = entry["run"] if runs else entry["world"]
        entry["series"] = f"{entry['policy']} · {where}" if several else entry["policy"]


def _charts(entries: Sequence[Entry]) -> list[Chart]:
    _series(entries)
    tasks = list(dict.fromkeys(e["task"] for e in entries))
    charts = []
    for task in tasks[:TASKS]:
        mine = [e for e in entries if e["task"] == task]
        seen = {e["event"] for e in mine if e["episodes"]}
        names = list(dict.fromkeys(e["series"] for e in mine))[:SERIES]
        rows = [
            {**{k: e[k] for k in TIPS if k != "event"}, "event": e["what"]}
            for e in mine
            if e["event"] in seen and e["series"] in names
        ]
        single = len(tasks) == 1
        series = "series" if len(names) > 1 else None
        spec = dots(rows, y="event", x="share", title="share of episodes", domain=(0.0, 1.0), tips=TIPS, series=series)
        about = (
            "Dots are shares of episodes in which an event happened at least once. Bars are "
            f"{1 - mine[0]['alpha']:.0%} confidence intervals (Clopper-Pearson; star if scenarios were tried several "
            "times), each for one share alone. Perturbed episodes are left out; clocks are counted together."
        )
        name, where = slug("events", "" if single else task), "" if single else f" on {task}"
        charts.append(Chart(name=name, title=f"How often each event happens{where}", spec=spec, rows=rows, about=about))
    return charts


def _sheet(entries: Sequence[Entry]) -> Sheet:
    names = ["task", "policy", *(c for c in ("run", "world") if len({e[c] for e in entries}) > 1)]
    seen = {e["event"] for e in entries if e["episodes"]}
    events = [event for event in dict.fromkeys(e["event"] for e in entries) if event in seen]  # as every line has them
    lines: dict[tuple[str, ...], list[Any]] = {}
    for entry in entries:
        if entry["event"] in events:
            line = lines.setdefault(tuple(entry[c] for c in BY), [*(entry[c] for c in names), entry["n"]])
            line.append(f"{entry['episodes']} ({entry['low']:.0%}–{entry['high']:.0%})" if entry["episodes"] else "0")
    columns = [*names, "n", *(event_words(event) for event in events)]
    about = "Number of episodes with the event, and the confidence interval of their share."
    return Sheet(
        name="events-table",
        title="Every event",
        columns=columns,
        rows=list(lines.values()),
        right=columns[len(names) :],
        about=about,
    )


def _compared(entries: Sequence[Entry], real: set[str]) -> Sheet | None:
    """Events that both sides can have, summed over the runs of each."""
    sides: dict[tuple[str, str, str], dict[bool, list[int]]] = {}
    for entry in entries:
        side = sides.setdefault((entry["task"], entry["policy"], entry["what"]), {}).setdefault(
            entry["run"] in real, [0, 0]
        )
        side[0], side[1] = side[0] + entry["episodes"], side[1] + entry["n"]
    lines = []
    for names, shares in sides.items():
        if len(shares) < 2 or not (shares[False][0] or shares[True][0]):
            continue
        (ks, ns), (kr, nr) = shares[False], shares[True]
        gap = newcombe(kr, nr, ks, ns)
        assert gap.low is not None and gap.high is not None  # Newcombe gives both ends
        points = f"{100 * gap.estimate:+.0f} ({100 * gap.low:+.0f} to {100 * gap.high:+.0f})"
        clear = "more in reality" if gap.low > 0 else "more in simulation" if gap.high < 0 else ""
        lines.append([*names, f"{ks} of {ns}", f"{kr} of {nr}", points, clear])
    if not lines:
        return None
    columns = ["task", "policy", "event", "simulation", "reality or stand-in", "difference, points", ""]
    about = (
        "Episodes in which an event happened, on both sides. The difference of their shares is in percentage points, "
        "with Newcombe's 95% confidence interval for each difference alone. The interval assumes that all episodes "
        "are independent."
    )
    return Sheet(
        name="events-compared",
        title="The same events in simulation and in reality",
        columns=columns,
        rows=lines,
        right=columns[3:6],
        about=about,
    )


def _definitions(entries: Sequence[Entry]) -> Sheet:
    seen = [name for name in EVENTS if any(e["event"] == name and e["episodes"] for e in entries)]
    lines = [[EVENTS[name].words, name, EVENTS[name].definition.replace("`", "")] for name in seen]
    about = (
        "Events are judged from the true state after each action. An event that begins and ends between two actions "
        "is not counted."
    )
    return Sheet(
        name="events-defined",
        title="What counts as each event",
        columns=["event", "in the table", "definition"],
        rows=lines,
        right=(),
        about=about,
    )
