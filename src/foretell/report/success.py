"""Success of every policy on every task: the figures of `foretell show`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.answers.show import figures
from foretell.counting import counted
from foretell.episodes.count import method_name
from foretell.report.charts import dots, slug
from foretell.report.runs import Runs, place
from foretell.report.section import Block, Chart, Section, Sheet

__all__ = ["section"]

TASKS, SERIES, CELLS = 6, 8, 60
"""Charts, series in a chart and dots in it, at most; the table has all."""
TIPS = {
    "policy": ("policy", ""),
    "series": ("under", ""),
    "rate": ("success", ".1%"),
    "low": ("from", ".1%"),
    "high": ("to", ".1%"),
    "n": ("episodes", "d"),
    "interval": ("interval", ""),
}

Entry = dict[str, Any]


def section(runs: Runs) -> Section | None:
    rows = []
    for run in runs.each:
        tasks = runs.task_names(run)
        rows += [
            {"run": run.name, **row, "task": tasks.get(row["task"], row["task"])}
            for row in figures(run.plan, run.table, besides=runs.cells)
        ]
    rows.sort(key=lambda row: (place(row["task"], runs.tasks), place(row["policy"], runs.policies)))
    judged = [row for row in rows if row["rate"] is not None]
    if not rows:
        return None
    blocks: list[Block] = [*_charts(judged), _sheet(rows)]
    return Section("success", "Success", _says(judged), blocks)


def _says(rows: Sequence[Entry]) -> str:
    if not rows:
        return "No episode has been judged yet, so there is no rate to show."
    shown, under = _plainest(rows)
    best, worst = max(shown, key=lambda r: (r["rate"], r["n"])), min(shown, key=lambda r: (r["rate"], -r["n"]))
    fewest, most = min(row["n"] for row in shown), max(row["n"] for row in shown)
    of = counted(fewest, "episode") if fewest == most else f"{fewest:,} to {most:,} episodes"
    if len(shown) == 1:
        text = f"{best['policy']} solves {best['rate']:.0%} of {counted(best['n'], 'episode')} of {best['task']}{under}"
    elif best["rate"] == worst["rate"]:
        text = f"All {len(shown)} rates{under} are {best['rate']:.0%}, each of {of}"
    else:
        ends = [f"{row['rate']:.0%} ({_who(row, shown)})" for row in (worst, best)]
        text = f"From {ends[0]} to {ends[1]}{under}, each of {of}"
    running = any(row["running"] for row in rows)
    return f"{text}; bars are confidence intervals{', and some cells are still running' if running else ''}."


def _plainest(rows: Sequence[Entry]) -> tuple[Sequence[Entry], str]:
    """Those of the clean arm and of `sync`, or of what comes first without them, and what they are under, in words:
    rates under several clocks or arms do not make one range."""
    phrases = []
    for name, plain, words in (("clock", "sync", "under the clock {}"), ("arm", "none", "under the perturbation {}")):
        known = list(dict.fromkeys(row[name] for row in rows))
        first = plain if plain in known else known[0]
        rows = [row for row in rows if row[name] == first]
        if len(known) > 1:
            phrases.append("without perturbation" if first == "none" else words.format(first))
    return rows, f" {' and '.join(phrases)}" if phrases else ""


def _who(row: Entry, rows: Sequence[Entry]) -> str:
    """Policy, task and run, as far as there are several."""
    name_ = row["policy"]
    for name, word in (("task", "on"), ("run", "in")):
        if len({other[name] for other in rows}) > 1:
            name_ += f" {word} {row[name]}"
    return str(name_)


def _charts(rows: Sequence[Entry]) -> list[Chart]:
    """One for each task; perturbed episodes have a section of their own."""
    arms = {row["arm"] for row in rows}
    clean = [row for row in rows if row["arm"] == "none"] or list(rows)
    varying = [name for name in ("run", "world", "clock") if len({row[name] for row in clean}) > 1]
    if "run" in varying and len({(row["run"], row["world"]) for row in clean}) == len({row["run"] for row in clean}):
        varying = [name for name in varying if name != "world"]  # each run has its own
    if clean is rows and len(arms) > 1:
        varying.append("arm")
    for row in clean:
        row["series"] = " · ".join(str(row[name]) for name in varying)
        row["interval"] = f"{row['method']}{_state(row)}"
    tasks = list(dict.fromkeys(row["task"] for row in clean))
    names = list(dict.fromkeys(row["series"] for row in clean))
    if len(names) > SERIES:
        names = names[:SERIES]
    charts = []
    for task in tasks[:TASKS]:
        mine = [row for row in clean if row["task"] == task and row["series"] in names]
        policies = list(dict.fromkeys(row["policy"] for row in mine))
        mine = [row for row in mine if row["policy"] in policies[: max(1, CELLS // len(names))]]
        if not mine:
            continue
        alone = len(tasks) == 1
        title = "Success rate" if alone else f"Success rate on {task}"
        series = "series" if len(names) > 1 else None
        tips = {k: v for k, v in TIPS.items() if k != "series" or series}
        data = [{k: v for k, v in row.items() if k in (*TIPS, "task", "successes")} for row in mine]
        # a row without a value for every series: all charts have them in one order, one colour each, and a legend
        blank = [
            {"policy": data[0]["policy"], "series": name, "rate": None, "low": None, "high": None} for name in names
        ]
        drawn = [*blank, *data] if series else data
        spec = dots(drawn, y="policy", x="rate", title="success", domain=(0.0, 1.0), series=series, tips=tips)
        charts.append(
            Chart(
                name=slug("success", "" if alone else task),
                title=title,
                spec=spec,
                rows=data,
                about=_about(mine, arms),
            )
        )
    if len(tasks) > TASKS and charts:
        charts[-1] = _with(charts[-1], f"{len(tasks) - TASKS} more tasks are in the table.")
    return charts


def _with(chart: Chart, words: str) -> Chart:
    return Chart(
        name=chart.name, title=chart.title, spec=chart.spec, rows=chart.rows, about=f"{chart.about} {words}".strip()
    )


def _about(rows: Sequence[Entry], arms: set[str]) -> str:
    level = f"{1 - rows[0]['alpha']:.0%}"
    exact = "Clopper-Pearson; star if scenarios were tried several times"
    about = f"Dots are success rates. Bars are {level} confidence intervals ({exact}), each for one policy alone."
    if any(row["until"] for row in rows):
        methods = dict.fromkeys(method_name(row) for row in rows if row["method"])
        about = f"Dots are success rates. Bars are {level} confidence intervals: {'; '.join(methods)}."
    elif any(_state(row) for row in rows):
        about = (
            f"Dots are success rates. Bars are {level} confidence intervals: {exact}. Where episodes are missing, the "
            "intervals are wider: they cover the leading scenarios and hold at any time (betting)."
        )
    return f"{about} Perturbed episodes are left out here." if "none" in arms and len(arms) > 1 else about


def _state(row: Entry) -> str:
    return ", running" if row["running"] else ", retired" if row["retired"] else ""


def _sheet(rows: Sequence[Entry]) -> Sheet:
    names = [c for c in ("run", "world", "task", "policy", "clock", "arm") if len({row[c] for row in rows}) > 1]
    names = [c for c in ("run", "world", "task", "policy", "clock", "arm") if c in (*names, "task", "policy")]
    columns = [*names, "success", "solved", "n", f"{1 - rows[0]['alpha']:.0%} interval"]
    errors, running = any(row["errors"] for row in rows), any(_state(row) for row in rows)
    columns += ["errors"] * errors + ["done"] * running
    lines = []
    for row in rows:
        rate = "–" if row["rate"] is None else f"{row['rate']:.0%}"
        ends = "–" if row["low"] is None else f"{row['low']:.0%} to {row['high']:.0%}"
        line = [*(row[c] for c in names), rate, row["successes"], row["n"], ends]
        line += [", ".join(f"{count} {blame}" for blame, count in row["errors"].items())] * errors
        line += [f"{row['finished']} of {row['planned']}{state}" if (state := _state(row)) else "all"] * running
        lines.append(line)
    about = "The same figures as `foretell show`. n counts episodes that were judged, and errors blamed on the policy."
    return Sheet(
        name="success-table",
        title="Every rate",
        columns=columns,
        rows=lines,
        right=("success", "solved", "n"),
        about=about,
    )
