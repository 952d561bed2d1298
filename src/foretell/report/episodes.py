"""The episodes of the runs, by column: every one, or of a large run a sample that a page can carry."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.episodes.parts import DamagedError, read_parquet
from foretell.episodes.scenarios import each_scenario
from foretell.errors import ForetellError
from foretell.files import inside, read_file
from foretell.report.films import film_of
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Section
from foretell.study.films import steps
from foretell.terminal import plain

__all__ = ["columns", "embedded", "section"]

NAMES = (
    "run",
    "world",
    "task",
    "policy",
    "clock",
    "arm",
    "scenario",
    "outcome",
    "why",
    "error",
    "end",
    "judge",
    "video",
)
"""Columns kept as numbers into a list of names."""
READ = (
    "episode", "world", "task", "policy", "clock", "arm", "scenario", "trial", "success", "blame", "error",
    "failure_reason", "end", "judge", "video", "sim_s", "steps", "score", "severity", "stages",
)  # fmt: skip
SAMPLE = 10_000
"""Episodes that a page carries."""
EVENTS_SHOWN = 40
"""Episodes whose events the page carries."""
EVENTS_EACH = 3000
STEPS_EACH, SERIES = 1000, 64
"""Steps and columns of one filmed episode that the page carries."""
TIMES = ("sim_s", "until_s")
EVENT = pa.schema({"kind": pa.string(), **dict.fromkeys(TIMES, pa.float64())})

Table = dict[str, Any]


def section(runs: Runs) -> Section | None:
    count = sum(len(run.table) for run in runs.each)
    if not count:
        return None
    which = "The one episode" if count == 1 else f"Each of the {count:,} episodes"
    opens = "a row opens its video, its scenario and the command that runs it again"
    if count > SAMPLE:
        which = f"A sample of {SAMPLE:,} of the {count:,} episodes"
        opens += ". Those with a video come first, the others are spread evenly over the runs"
    return Section("episodes", "Episodes", f"{which} behind the figures above: {opens}.")


def _sample(runs: Runs) -> list[np.ndarray]:
    """Rows of each run that the page carries: all, or those with a video and others spread evenly."""
    total = sum(len(run.table) for run in runs.each)
    if total <= SAMPLE:
        return [np.arange(len(run.table)) for run in runs.each]
    filmed = np.concatenate([run.table["video"].is_valid().to_numpy() for run in runs.each])
    first = _spread(np.flatnonzero(filmed), SAMPLE)
    chosen = np.sort(np.concatenate([first, _spread(np.flatnonzero(~filmed), SAMPLE - len(first))]))
    ends = np.cumsum([len(run.table) for run in runs.each])
    return [chosen[(chosen >= end - len(run.table)) & (chosen < end)] - (end - len(run.table))
            for run, end in zip(runs.each, ends.tolist(), strict=True)]  # fmt: skip


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]


def columns(runs: Runs, link: Callable[[OneRun, str], str], notes: list[str]) -> Table:
    """`names`: column -> its distinct values; `codes`: column -> an index into them per row; numbers as they are.

    `total`: how many episodes there are; the page carries `count` of them. `cards`: scenario -> the lines that say how
    to set it up, as indices into `lines`. `events`: episode -> kind, start and end of each of its events. `steps`:
    episode -> times, and what was where, of filmed ones. `absent`: addresses of videos that are not on the disk.
    """
    names: dict[str, dict[Any, int]] = {name: {} for name in NAMES}
    codes: dict[str, list[int]] = {name: [] for name in NAMES}
    keys: list[str] = []
    numbers: dict[str, list[Any]] = {"trial": [], "sim_s": [], "steps": [], "score": [], "severity": []}
    stages: list[Any] = []
    stage_names: dict[str, int] = {}
    absent = set()
    refused: dict[tuple[str, str], list[str]] = {}
    sample = _sample(runs)
    for run, chosen in zip(runs.each, sample, strict=True):
        rows = pa.array(chosen, pa.int64())
        for row in runs.named(run).select(READ).take(rows).to_pylist():
            keys.append(row["episode"])
            there, why = film_of(run, row["video"]) if row["video"] else (None, "")
            film = link(run, row["video"]) if row["video"] and not why else ""
            if film and there is None:
                absent.add(film)
            if why:
                refused.setdefault((run.name, why), []).append(row["video"])
            facts = {
                **row,
                "run": run.name,
                "outcome": _outcome(row),
                "why": "" if row["success"] else row["failure_reason"] or "",
                "error": _short(row["error"]),
                "video": film,
            }
            for name in NAMES:
                codes[name].append(names[name].setdefault(facts[name] or "", len(names[name])))
            for name, values in numbers.items():
                value = row[name]
                values.append(round(value, 3) if isinstance(value, float) else value)
            reached = [(stage_names.setdefault(k, len(stage_names)), round(v, 2)) for k, v in row["stages"] or ()]
            stages.append([part for pair in reached for part in pair])
    for (name, why), videos in refused.items():
        many = "One video is" if len(videos) == 1 else f"{len(videos):,} videos are"
        notes.append(f"{many} not shown of {name}: {why}. Named: {plain(videos[0])[:200]}.")
    return {
        "count": len(keys),
        "total": sum(len(run.table) for run in runs.each),
        "episode": keys,
        "names": {name: list(values) for name, values in names.items()},
        "codes": codes,
        "numbers": numbers,
        "stages": stages,
        "stage_names": list(stage_names),
        "absent": sorted(absent),
        **_cards(runs, sample, notes),
        "events": _events(runs, sample),
        "steps": _steps(runs),
    }


def _outcome(row: dict[str, Any]) -> str:
    if row["success"] is None:
        return f"error: {row['blame']}" if row["blame"] else "not judged"
    return "success" if row["success"] else f"error: {row['blame']}" if row["blame"] else "failure"


def _short(text: str | None, most: int = 4000) -> str:
    text = text or ""
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters)"


def _cards(runs: Runs, sample: list[np.ndarray], notes: list[str]) -> Table:
    lines: dict[str, int] = {}
    cards = {}
    for run, chosen in zip(runs.each, sample, strict=True):
        needed = set(run.table["scenario"].take(pa.array(chosen, pa.int64())).to_pylist())
        try:
            for scenario in each_scenario(run.path, needed):
                cards[scenario.id] = [lines.setdefault(line, len(lines)) for line in scenario.card().splitlines()]
        except ForetellError as error:
            notes.append(f"Scenarios of {run.name} are not shown: {error}")
    return {"lines": list(lines), "cards": cards}


def _events(runs: Runs, sample: list[np.ndarray]) -> Table:
    """Events of the first episodes that have them."""
    columns: Table = {}
    for run, chosen in zip(runs.each, sample, strict=True):
        if run.masked:
            continue  # how long a policy thinks tells which one it is
        folder = run.path / "events"
        recorded = {path.stem for path in folder.glob("*.parquet")}
        for key in run.table["episode"].take(pa.array(chosen, pa.int64())).to_pylist() if recorded else ():
            if len(columns) >= EVENTS_SHOWN:
                return columns
            if key in recorded and (events := _read_events(folder / f"{key}.parquet")):
                columns[key] = events
    return columns


def _read_events(path: Path) -> Table | None:
    try:
        table = read_parquet(path, ["kind", *TIMES]).slice(0, EVENTS_EACH).select(EVENT.names).cast(EVENT)
    except (DamagedError, OSError, ValueError, KeyError, pa.ArrowException):  # damaged: `foretell timeline` says how
        return None
    kinds = table["kind"].to_pylist()
    known = list(dict.fromkeys(kinds))
    times = {t: [None if v is None else round(v, 4) for v in table[t].to_pylist()] for t in TIMES}
    return {"kinds": known, "kind": [known.index(k) for k in kinds], "start": times["sim_s"], "stop": times["until_s"]}


def _steps(runs: Runs) -> Table:
    """Steps of the first filmed episodes."""
    columns: Table = {}
    for run in runs.each:
        for episode in run.table["episode"].filter(run.table["video"].is_valid()).to_pylist():
            if len(columns) >= EVENTS_SHOWN:
                return columns
            path = inside(run.path, steps(episode))
            if path is not None and (read := _read_steps(path)):
                columns[episode] = read
    return columns


def _read_steps(path: Path) -> Table | None:
    """`time` in s, and every other column: heights in m, openings in m, actions as given."""
    try:
        table = read_parquet(path).slice(0, STEPS_EACH)
        names = [f.name for f in table.schema if pa.types.is_floating(f.type)][:SERIES]
        series = {name: [round(float(v), 4) for v in table[name].to_pylist()] for name in names}
    except (DamagedError, OSError, ValueError, TypeError, pa.ArrowException):
        return None
    times = series.pop("time", None)
    return {"time": times, "series": series} if times else None


def embedded(runs: Runs, table: Table, most: int) -> dict[str, str]:
    """Address -> video in base64, failures first, as many as fit into `most` bytes."""
    places = {}
    for run in runs.each:
        filmed = run.table.select(["episode", "video"]).filter(run.table["video"].is_valid())
        for row in filmed.to_pylist():
            if row["video"]:
                places[run.name, row["episode"]] = film_of(run, row["video"])[0]
    names, codes = table["names"], table["codes"]
    order = sorted(range(table["count"]), key=lambda i: names["outcome"][codes["outcome"][i]] == "success")
    films: dict[str, str] = {}
    for i in order:
        film = names["video"][codes["video"][i]]
        if not film or film in films or film in table["absent"]:
            continue
        path = places[names["run"][codes["run"][i]], table["episode"][i]]
        try:
            if path is not None and path.stat().st_size <= most:
                data = read_file(path, most)
                films[film] = base64.b64encode(data).decode()
                most -= len(data)
        except OSError:  # gone, or changed, since it was looked at
            continue
    return films
