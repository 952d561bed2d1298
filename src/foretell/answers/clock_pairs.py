"""Episodes of several clocks, brought together: each asynchronous one beside the synchronous one of the same trial."""

from __future__ import annotations

import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.answers.choice import Choice, choose, labels, meaning, single_version
from foretell.answers.inputs import Source, Table, open_table
from foretell.answers.words import plain
from foretell.clock import safe_label
from foretell.counting import counted
from foretell.episodes.columns import by_name, cells, codes, grouped
from foretell.episodes.names import family
from foretell.episodes.parts import DamagedError, read_parquet
from foretell.episodes.planned import plan_table
from foretell.episodes.provenance import design_of
from foretell.episodes.read import read_columns
from foretell.episodes.stopped import FIXED, has_rule
from foretell.episodes.units import unit_of
from foretell.errors import ForetellError, UsageError
from foretell.stats.order import by_id
from foretell.stats.scenarios import by_scenario

__all__ = ["METRICS", "ClockPair", "clock_pairs"]

METRICS = ("inferences", "latency_per_inference_s", "latency_per_action_s", "observation_age_s", "starvation_s")
MEDIANS = ("latency_per_inference_s", "latency_per_action_s")
ADVICE = (
    "add `sync` to the study's `clocks` and run it again with --add: finished episodes stay, and only missing ones run"
)
COUNTED = ("task", "policy", "clock", "scenario", "parent", "trial", "success", "blame", "row")
"""Columns that pairs are made of."""
Rows = dict[tuple[str, str], int]
"""(scenario, trial) -> row of the table."""


@dataclass(frozen=True, kw_only=True)
class ClockPair:
    """One policy on one task under one asynchronous clock, and the same trials under `sync`."""

    task: str
    policy: str
    clock: dict[str, Any]
    """The clock of the rows, from JSON."""
    label: str
    units: tuple[str, ...]
    """Scenarios with at least one pair that counts."""
    sync: Any
    """Mean success of each of them, shape (n,)."""
    asyn: Any
    """Shape (n,)."""
    pairs: int
    """Pairs of episodes; more than scenarios if there are several trials."""
    metrics: dict[str, float | None]
    """Median latencies, means of the others, over the asynchronous episodes of the pairs."""
    constant: bool
    """Whether every inference took the same time."""

    @property
    def speed(self) -> float:
        return float(self.clock.get("speed", 1.0))

    @cached_property
    def latency(self) -> float | None:
        """Latency of an inference in simulated seconds (speed included): the measured one, else that of the clock."""
        measured = self.metrics["latency_per_inference_s"]
        if measured is not None:
            return measured
        given = self.clock.get("latency")
        if not isinstance(given, dict) or not given.get("values"):
            return None
        values = [float(v) for v in given["values"]]
        middle = {"constant": values[0], "normal": values[0], "lognormal": values[0]}
        return self.speed * middle.get(str(given.get("kind")), float(np.median(values)))

    def without(self, *options: str) -> str:
        """The clock but for these options, as text."""
        return json.dumps({k: v for k, v in self.clock.items() if k not in options}, sort_keys=True)

    def family(self) -> str:
        """The clock as the study wrote it: a latency that was measured or has a name differs among policies."""
        return family(self.without())


def clock_pairs(
    sources: Sequence[Source], tasks: Sequence[str], policies: Sequence[str], arm: str | None
) -> tuple[list[ClockPair], list[str]]:
    """Every task, policy and asynchronous clock that has a synchronous partner, in that order, clocks by latency."""
    whole, notes = _gathered(sources)
    table = open_table(whole, ", ".join(_name(s, i) for i, s in enumerate(sources)))
    measured = by_name(whole["metrics"])
    nothing = np.full(len(whole), np.nan)
    metrics = {name: measured.get(name, nothing) for name in METRICS}
    if not table.episodes:
        raise UsageError(f"{table.name} has no episodes: give run folders, or Parquet files made from one")
    table = replace(table, columns={**table.columns, "clock": cells(whole["clock"]), "row": list(range(len(whole)))})
    for column, wanted in (("task", tasks), ("policy", policies)):
        table = _only(table, column, wanted)
    (table,), about = choose([table], Choice(arm=arm), ("arm",))
    single_version(table)
    _has_both(table)
    table = replace(table, columns={name: table.columns[name] for name in COUNTED})  # the others take memory
    groups, left = _by_clock(table)
    units = [str(unit_of(*names)) for names in zip(table.columns["parent"], table.columns["scenario"], strict=True)]
    success = np.array([bool(value) for value in table.columns["success"]])
    metrics = {name: values[table.columns["row"]] for name, values in metrics.items()}
    del table, whole  # lists of every row
    if left:
        why = ", ".join(f"{count} {reason}" for reason, count in left.items())
        notes.append(
            f"{counted(sum(left.values()), 'episode does', 'episodes do')} not count ({why}), and "
            f"neither does any partner"
        )
    made: list[ClockPair] = []
    for (task, policy), by_clock in groups:
        made += _paired(task, policy, by_clock, units=units, success=success, metrics=metrics, notes=notes)
    if not made:
        listed = "\n".join(f"  {plain(note)}" for note in notes)
        raise UsageError(f"no trial ran both under `sync` and under another clock\n{listed}".rstrip())
    return made, [*about, *dict.fromkeys(notes)]


def _by_clock(table: Table) -> tuple[list[tuple[tuple[str, str], dict[str, Rows]]], Counter[str]]:
    """(task and policy -> clock -> its trials that count; why the others do not count -> how many)"""
    columns = [table.columns[c] for c in ("task", "policy", "clock", "scenario", "trial", "success", "blame")]
    text = [pa.chunked_array([pa.array(column, pa.string())]) for column in columns[:3]]
    group, keys = grouped(text)
    trials: list[Rows] = [{} for _ in keys]
    left: Counter[str] = Counter()
    rows = zip(group.tolist(), *columns[3:], strict=True)
    for i, (number, scenario, trial, success, blame) in enumerate(rows):
        if success is None:
            left[str(blame or "not judged")] += 1
            continue
        if (scenario, str(trial)) in trials[number]:
            raise UsageError(
                f"{table.place(i)}: trial {trial} of scenario {scenario} is there twice under one clock: two versions "
                "of a task or of its rule of success cannot be told apart"
            )
        trials[number][scenario, str(trial)] = i
    by_policy: dict[tuple[str, str], dict[str, Rows]] = defaultdict(dict)
    for (task, policy, clock), mine in zip(keys, trials, strict=True):
        if mine:
            by_policy[task, policy][clock] = mine
    return sorted(by_policy.items()), left


def _name(source: Source, index: int) -> str:
    return str(source) if isinstance(source, (str, Path)) else f"table {index + 1}"


def _gathered(sources: Sequence[Source]) -> tuple[pa.Table, list[str]]:
    """All episodes in one Arrow table, each once."""
    if not sources:
        raise UsageError("no episodes: give a run folder, or several")
    tables, notes = [], []
    for i, source in enumerate(sources):
        name = _name(source, i)
        with warnings.catch_warnings(record=True) as damage:
            warnings.simplefilter("always", UserWarning)
            rows = _read(source, name)
        notes += [str(w.message) for w in damage]
        missing = [c for c in ("episode", "clock", "metrics") if c not in rows.column_names]
        if missing:
            raise UsageError(f"{name} has no column {missing[0]!r}: give run folders, or Parquet files made from one")
        if not rows.num_rows:
            raise UsageError(f"{name} has no episodes yet")
        tables.append(rows)
        if isinstance(source, (str, Path)) and has_rule(plan_table(source)):
            notes.append(f"{name}: {FIXED}")
        if isinstance(source, (str, Path)) and Path(source).is_dir() and (design := design_of(source)) != "iid":
            notes.append(
                f"{name}: scenarios are {design}, not drawn at random: intervals hold for these scenarios only"
            )
    try:
        whole = pa.concat_tables(tables)
    except pa.ArrowException as error:
        raise UsageError(f"the tables do not fit together: {plain(str(error))[:200]}") from None
    index, keys = codes(whole["episode"])
    if len(keys) < len(whole):
        whole = whole.take(np.sort(np.unique(index, return_index=True)[1]))
    return whole, notes


def _read(source: Source, name: str) -> pa.Table:
    try:
        if not isinstance(source, (str, Path)):
            return source if isinstance(source, pa.Table) else pa.table(source)
        path = Path(source)
        return read_columns(path) if path.is_dir() or not path.exists() else read_parquet(path, follow=True)
    except ForetellError:
        raise
    except (pa.ArrowException, DamagedError, OSError, TypeError, ValueError) as error:
        what = f"{name} is neither a run folder nor a Parquet file made from one"
        raise UsageError(f"{what}: {plain(str(error))[:200]}") from None


def _only(table: Table, column: str, wanted: Sequence[str]) -> Table:
    known = labels(table, column)
    meant = {meaning(table, column, known, name) for name in wanted}
    if not wanted:
        return table
    return table.keep([i for i, cell in enumerate(table.columns[column]) if cell in meant])


def _has_both(table: Table) -> None:
    """Raises UsageError, with the clocks to add, unless there are `sync` and another clock."""
    texts = labels(table, "clock")
    listed = ", ".join(sorted(map(safe_label, texts)))
    kinds = {json.loads(text)["kind"] for text in texts}
    if "sync" not in kinds:
        raise UsageError(f"{table.name} has no episodes under the clock `sync` (it has {listed}); {ADVICE}")
    if kinds == {"sync"}:
        more = "add others to the study's `clocks`, such as `virtual: {latency: 0.1}`, and run it again"
        raise UsageError(f"{table.name} has only the clock `sync`: there is nothing to compare it with; {more}")


def _paired(
    task: str,
    policy: str,
    by_clock: dict[str, Rows],
    *,
    units: list[str],
    success: np.ndarray,
    metrics: dict[str, np.ndarray],
    notes: list[str],
) -> list[ClockPair]:
    """`units`, `success` and `metrics` have an entry for each row of the table."""
    what = f"{plain(policy)} on {plain(task)}"
    waits = next((rows for text, rows in by_clock.items() if json.loads(text)["kind"] == "sync"), None)
    if waits is None or len(by_clock) == 1:
        notes.append(f"{what} is left out: it ran under {'no `sync`' if waits is None else '`sync` only'}")
        return []
    cells = []
    for text, rows in by_clock.items():
        if rows is waits:
            continue
        label = safe_label(text)
        keys = [key for key in waits if key in rows]
        if not keys:
            notes.append(f"{what} under {label} is left out: no trial of it ran under `sync` too")
            continue
        alone = len(rows) + len(waits) - 2 * len(keys)
        if alone:
            notes.append(
                f"{what} under {label}: {counted(alone, 'episode is', 'episodes are')} left out "
                f"for lack of a partner that counts"
            )
        keys = [keys[i] for i in by_id([units[rows[key]] for key in keys])]  # the order of a file must not matter
        at = [rows[key] for key in keys]
        names = [units[row] for row in at]
        sync, asyn = (by_scenario(names, [float(success[side[key]]) for key in keys]) for side in (waits, rows))
        middles: dict[str, float | None] = {}
        spread = False
        for name in METRICS:
            values = metrics[name][at]
            values = values[np.isfinite(values)]
            middle = np.median if name in MEDIANS else np.mean
            middles[name] = float(middle(values)) if len(values) else None
            spread |= name == "latency_per_inference_s" and bool(len(values)) and np.ptp(values) > 1e-9
        clock = json.loads(text)
        cells.append(
            ClockPair(
                task=task,
                policy=policy,
                clock=clock,
                label=label,
                units=tuple(str(unit) for unit in sync.ids),
                sync=sync.scores,
                asyn=asyn.scores,
                pairs=len(keys),
                metrics=middles,
                constant=not spread,
            )
        )
    return sorted(cells, key=lambda c: (c.latency is None, c.latency or 0.0, c.speed, c.label))
