"""Clocks: what it costs that the world does not wait while a policy thinks, and when one episode thought and acted."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foretell.answers.clock_words import seconds
from foretell.answers.clocks import Clocks, clocks
from foretell.counting import counted
from foretell.episodes.columns import codes, grouped, spread
from foretell.errors import ForetellError, UsageError
from foretell.report.charts import dots, lines, slug, spans
from foretell.report.groups import distinct, noted, unfinished
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Block, Chart, Section, Sheet, Words
from foretell.report.timeline import TRACKS, Timeline, timeline

__all__ = ["section"]

Row = dict[str, Any]
INFERENCES = 12
"""How many of them, about, the picture of an episode shows."""
PAIRS = 20
"""Pairs that change places, at most, in their table."""
NEAR = 1.25
"""Latencies or speeds closer than this factor make no line."""
SHARE = ".1%"


def section(runs: Runs) -> Section | None:
    """Gaps, success against latency and speed, budgets and a timeline, of every world that ran under two clocks."""
    blocks: list[Block] = []
    sentences = []
    tables = _tables(runs)
    for world, (table, arm) in tables.items():
        try:
            answer = clocks(table, arm=arm)
        except UsageError as error:
            blocks.append(Words(f"{world}: {str(error).partition(chr(10))[0]}.", "caution"))
            continue
        tail = [world] if len(tables) > 1 else []
        sentences.append(_says(answer) + (f" ({world})" if tail else ""))
        blocks += _blocks(answer, tail)
        if arm != "none":
            blocks.append(Words(f"All results are under the perturbation {arm}."))
    picture = _timeline(runs)
    if not sentences and picture is None:
        return None
    warned = unfinished(runs) if sentences else []  # a timeline has no interval
    blocks = [*warned, *blocks, *(picture or [])]
    says = ". ".join(sentences) or "One episode's timeline shows when the policy looked, thought and acted"
    return Section("clocks", "Clocks", f"{says}.", distinct(blocks))


def _tables(runs: Runs) -> dict[str, tuple[pa.Table, str]]:
    """World -> its episodes, of one arm, where there are some under `sync` and some under another clock."""
    parts: dict[str, list[pa.Table]] = defaultdict(list)
    kinds = {json.loads(text)["kind"] for run in runs.each for text in run.values("clock")}
    for run in runs.each if len(kinds) > 1 else ():
        table = run.table.set_column(run.table.column_names.index("task"), "task", runs.tasks_of(run))
        index, worlds = codes(spread([name.world for name in runs.names(run)], run.cells[0]))
        for number, world in enumerate(worlds):
            parts[world].append(table.filter(pa.array(index == number)) if len(worlds) > 1 else table)
    by_world = {}
    for world, tables in parts.items():
        table = pa.concat_tables(tables)
        arms = {arm for (arm,) in grouped([table["arm"]])[1]}
        arm = "none" if "none" in arms else min(arms)
        if len(arms) > 1:  # a filter copies the table
            table = table.filter(pc.field("arm") == arm)
        kinds = {json.loads(text)["kind"] for (text,) in grouped([table["clock"]])[1]}
        if "sync" in kinds and len(kinds) > 1:
            by_world[world] = (table, arm)
    return by_world


def _says(answer: Clocks) -> str:
    loses = [row for row in answer.cells if row["verdict"] == "loses"]
    names = list(dict.fromkeys(row["policy"] for row in answer.cells))
    if not loses:
        return f"No policy of {len(names)} is shown to lose success when the world does not wait for it"
    worst = max(loses, key=lambda row: row["gap_points"]["estimate"])
    who = list(dict.fromkeys(row["policy"] for row in loses))
    most = f"{worst['gap_points']['estimate']:.0f} points on {worst['task']} under {worst['clock']}"
    if len(who) == 1:
        return f"{who[0]} is shown to lose success when the world does not wait for it, up to {most}"
    sentence = f"{len(who)} of {len(names)} policies are shown to lose success when the world does not wait for them"
    return f"{sentence}; {worst['policy']} loses most: {most}"


def _blocks(answer: Clocks, tail: list[str]) -> list[Block]:
    blocks: list[Block] = []
    tasks = list(dict.fromkeys(row["task"] for row in answer.cells))
    for task in tasks:
        here = [*([task] if len(tasks) > 1 else []), *tail]
        on = f" on {task}" if len(tasks) > 1 else ""

        def of(rows: list[Row], task: str = task) -> list[Row]:
            return [row for row in rows if row["task"] == task]

        blocks.append(_gaps(of(answer.cells), slug("async-gap", *here), f"What waiting hides{on}"))
        blocks += _against(
            of(answer.against_latency), "latency_s", slug("success-latency", *here), f"Success against latency{on}"
        )
        blocks += _against(
            of(answer.against_speed), "speed", slug("success-speed", *here), f"Success against speed{on}"
        )
        blocks += _budgets(of(answer.budgets), slug("latency-budget", *here), f"Latency budget{on}", answer.keep)
        blocks += [Words(_fit(row)) for row in of(answer.fits) if row["points_per_tenfold"]["estimate"] is not None]
    blocks.append(_cells(answer.cells, slug("clocks-table", *tail)))
    blocks.append(_budget_sheet(answer, slug("latency-budgets", *tail)))
    blocks += _ranks(answer.ranks, slug("async-ranks", *tail))
    return [*blocks, *noted(answer.notes)]


def _gaps(cells: list[Row], name: str, title: str) -> Chart:
    rows = []
    for cell in cells:
        gap = cell["gap_points"]
        row = {"policy": cell["policy"], "clock": cell["clock"], "points": gap["estimate"], "low": gap["low"]}
        row |= {"high": gap["high"], "sync": cell["sync"]["estimate"], "async": cell["async"]["estimate"]}
        rows.append({**row, "verdict": cell["verdict"], "p_adjusted": cell["p_adjusted"], "n": cell["pairs"]})
    tips = {"policy": ("policy", ""), "clock": ("clock", ""), "points": ("lost, points", ".1f"), "low": ("from", ".1f")}
    tips |= {"high": ("to", ".1f"), "sync": ("sync", SHARE), "async": ("async", SHARE), "verdict": ("verdict", "")}
    tips |= {"p_adjusted": ("p, adjusted", ".2g"), "n": ("pairs", "d")}
    by: dict[str, Any] = {"series": "clock"} if len({row["clock"] for row in rows}) > 1 else {}
    spec = dots(rows, y="policy", x="points", title="success lost, points", unit="points", zero=True, tips=tips, **by)
    about = (
        "Success under `sync` less success under the clock, on the same trials, with 95% confidence intervals. "
        "Values above 0 are lost success."
    )
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)


def _against(trends: list[Row], by: str, name: str, title: str) -> list[Block]:
    rows, x = [], by.removesuffix("_s")
    several = len({_named(trend) for trend in trends}) < len(trends)
    for trend in trends:
        series = f"{_named(trend)}, {trend['clock']}" if several else _named(trend)
        for point in trend["points"]:
            row = {"policy": series, x: point[by] if by == "speed" else 1000.0 * point[by], "clock": point["clock"]}
            rows.append({**row, **{k: point[k] for k in ("success", "low", "high")}, "trend": trend["verdict"]})
    values = sorted({row[x] for row in rows})
    if not values or values[-1] < NEAR * values[0]:
        return []  # no two of them differ enough to make a line
    tips = {"policy": ("policy", ""), "clock": ("clock", ""), x: ("speed" if by == "speed" else "latency, ms", ".3~g")}
    tips |= {"success": ("success", SHARE), "low": ("from", SHARE), "high": ("to", SHARE), "trend": ("trend", "")}
    words = "speed (simulated per wall second)" if by == "speed" else "latency of an inference, ms (simulated time)"
    log, ticks = values[0] > 0 and values[-1] / values[0] > 8, values if by == "speed" else None
    spec = lines(rows, x=x, y="success", series="policy", titles=(words, "success"), tips=tips, log=log, ticks=ticks)
    return [
        Chart(
            name=name,
            title=title,
            spec=spec,
            rows=rows,
            about="95% confidence intervals. Lines join the clocks that were tried.",
        )
    ]


def _budget(row: Row) -> str:
    """A latency budget as people say it."""
    if row["estimate_s"] is not None:
        return seconds(row["estimate_s"])
    if row["kept_at_s"] is not None:
        return f"at least {seconds(row['tried_s'][-1])}"
    return "none" if row["lost_at_s"] is None else f"below {seconds(row['tried_s'][0])}"


def _named(row: Row) -> str:
    return f"{row['policy']} ({row['way']})" if row["way"] else str(row["policy"])


def _budgets(budgets: list[Row], name: str, title: str, keep: float) -> list[Block]:
    """A chart, where any policy's budget lies among the latencies tried."""
    if all(row["estimate_s"] is None for row in budgets):
        return []
    rows = []
    for row in budgets:
        low, high = (row[k] if row[k] is not None else row["tried_s"][i] for k, i in (("low_s", 0), ("high_s", -1)))
        estimate = row["estimate_s"]
        made = {"policy": _named(row), "budget_ms": None if estimate is None else 1000 * estimate, "said": _budget(row)}
        rows.append({**made, "low_ms": 1000 * low, "high_ms": 1000 * high, **_ends(row)})
    tips = {"policy": ("policy", ""), "said": ("budget", ""), "low": ("from", ""), "high": ("to", "")}
    most = max(row["high_ms"] for row in rows)
    spec = dots(
        rows, y="policy", x="budget_ms", ends=("low_ms", "high_ms"), title="latency, ms (simulated time)", tips=tips,
        unit="number", text="said", domain=(0.0, 1.2 * most),
    )  # fmt: skip
    about = (
        f"The latency up to which a policy keeps {100 * keep:.10g}% of its synchronous success, with its 95% "
        "confidence interval. If the interval does not end within the latencies tried, its bar stops at the last of "
        "them."
    )
    return [Chart(name=name, title=title, spec=spec, rows=rows, about=about)]


def _ends(row: Row) -> Row:
    return {
        "low": "below those tried" if row["low_s"] is None else seconds(row["low_s"]),
        "high": "above those tried" if row["high_s"] is None else seconds(row["high_s"]),
    }


def _budget_sheet(answer: Clocks, name: str) -> Sheet:
    columns = ["task", "policy", "budget", "from", "to", "kept at", "lost at"]
    rows = []
    for row in answer.budgets:
        ends = _ends(row).values() if _budget(row) != "none" else ("", "")
        rows.append(
            [row["task"], _named(row), _budget(row), *ends, *(seconds(row[k]) for k in ("kept_at_s", "lost_at_s"))]
        )
    title = f"Latency that keeps {100 * answer.keep:.10g}% of synchronous success"
    return Sheet(
        name=name,
        title=title,
        columns=columns,
        rows=rows,
        right=columns[2:],
        about="95% confidence intervals. None: the policy never succeeds.",
    )


def _fit(row: Row) -> str:
    slope = row["points_per_tenfold"]
    sign = "costs" if slope["estimate"] >= 0 else "gains"
    ends = "" if slope["low"] is None else f" (95%: {slope['low']:.0f} to {slope['high']:.0f})".replace("-", "−")
    points = f"{abs(slope['estimate']):.0f} points of success on {row['task']}{ends}"
    return (
        f"Ten times the latency {sign} {points}: a line through {counted(row['points'], 'gap')} of "
        f"{counted(row['policies'], 'policy', 'policies')}."
    )


def _cells(cells: list[Row], name: str) -> Sheet:
    def rate(row: Row) -> str:
        return "" if row["estimate"] is None else f"{row['estimate']:.0%} ({row['low']:.0%} to {row['high']:.0%})"

    rows = []
    for cell in cells:
        gap = cell["gap_points"]
        kept = cell["retention"]["estimate"]
        row = [cell["task"], cell["policy"], cell["clock"], cell["pairs"], rate(cell["sync"]), rate(cell["async"])]
        lost, low, high = (str(round(gap[k])).replace("-", "−") for k in ("estimate", "low", "high"))
        row += [f"{lost} ({low} to {high})", "" if kept is None else f"{kept:.0%}"]
        row += [cell["verdict"], *(seconds(cell[n]) for n in ("latency_s", "observation_age_s", "starvation_s"))]
        rows.append(row)
    columns = ["task", "policy", "clock", "pairs", "sync", "async", "lost, points", "kept", "verdict"]
    columns += ["latency", "age of observations", "starved"]
    about = (
        "The figures of `foretell clocks`. Times are simulated and include the speed. Starved: share of the time "
        "without a fresh action."
    )
    return Sheet(
        name=name,
        title="Every clock beside sync",
        columns=columns,
        rows=rows,
        right=[*columns[3:8], *columns[9:]],
        about=about,
    )


def _ranks(ranks: list[Row], name: str) -> list[Block]:
    """Pairs of policies that change places when the world does not wait, those first that are shown to."""
    changes = [(row, pair) for row in ranks for pair in row["reversals"]]
    rows = []
    for row, pair in sorted(changes, key=lambda both: both[1]["p_adjusted"])[:PAIRS]:
        a, b = pair["ahead_sync"], pair["ahead_async"]
        rates = [f"{row['policies'][a][m]:.0%} against {row['policies'][b][m]:.0%}" for m in ("sync", "async")]
        rows.append([row["task"], row["clock"], a, b, *rates, "shown" if pair["shown"] else "may be chance"])
    if not rows:
        return []
    columns = ["task", "clock", "ahead sync", "ahead async", "sync", "async", "shown?"]
    about = f"{len(changes) - PAIRS} more pairs change places." if len(changes) > PAIRS else ""
    return [
        Sheet(
            name=name,
            title="Policies that change places between sync and async",
            columns=columns,
            rows=rows,
            about=about,
        )
    ]


def _timeline(runs: Runs) -> list[Block] | None:
    """The picture of one episode that kept its events: a slow clock's, and a failure's if there is one."""
    chosen = None
    for run in runs.each:
        chosen = max(filter(None, (chosen, _telling(run))), key=lambda choice: choice[0], default=None)
    if chosen is None:
        return None
    with suppress(ForetellError):
        return [_picture(timeline(chosen[1].path, chosen[2]))]
    return None


def _telling(run: OneRun) -> tuple[tuple[bool, float, bool], OneRun, str] | None:
    """The most telling of the episodes with events: asynchronous, slow, failed."""
    kept = {path.stem for path in (run.path / "events").glob("*.parquet")} if not run.masked else set()
    if not kept:
        return None
    rows = run.table.filter(pc.field("episode").isin(list(kept))).select(["episode", "clock", "success", "metrics"])
    best = None
    for row in rows.to_pylist():
        latency = dict(row["metrics"] or ()).get("latency_per_inference_s") or 0.0
        worth = (json.loads(row["clock"])["kind"] != "sync", latency, row["success"] is False)
        if best is None or worth > best[0]:
            best = (worth, run, str(row["episode"]))
    return best


def _picture(timeline: Timeline) -> Chart:
    kind = "think" if any(e["kind"] == "think" for e in timeline.events) else "look"
    starts = [e["sim_s"] for e in timeline.events if e["kind"] == kind]
    length = starts[INFERENCES] if len(starts) > INFERENCES else timeline.sim_s
    lanes = [
        name for name in dict.fromkeys(TRACKS.values()) if any(TRACKS.get(e["kind"]) == name for e in timeline.events)
    ]
    bars: list[Row] = []
    marks: list[Row] = []
    rows: list[Row] = []
    for event in timeline.events:
        lane = TRACKS.get(event["kind"])
        end = event["until_s"] if event["until_s"] is not None else timeline.sim_s if event["kind"] == "think" else None
        row = {
            "lane": lane,
            "kind": event["kind"],
            "start": event["sim_s"],
            "end": end,
            "inference": event["inference"],
        }
        rows.append({**row, "value": event["value"]})
        if lane is None or event["sim_s"] > length:
            continue
        number = event["inference"]
        shade = 1 if event["kind"] in ("starve", "seam") else 0 if number is None else (0, 2, 5)[number % 3]
        (marks if end is None else bars).append(
            {**row, "shade": shade, "end": None if end is None else min(end, length)}
        )
    tips = {"kind": ("", ""), "inference": ("inference", "d"), "start": ("from, s", ".3f"), "end": ("to, s", ".3f")}
    spec = spans(bars, marks, lanes=lanes, length=length, tips=tips)
    about = (
        f"Episode {timeline.episode}: {timeline.about}. The first {length:.2g} of {timeline.sim_s:.2g} s. An inference "
        f"and its actions have the same colour. {timeline.inferences} inferences in all; "
        f"{timeline.starvation_share:.0%} of the time without a fresh action. `foretell timeline` shows all of it."
    )
    return Chart(name="timeline", title="When one episode looked, thought and acted", spec=spec, rows=rows, about=about)
