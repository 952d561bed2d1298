"""Where episodes die: the last stage that each of them reached."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from foretell.answers.words import listed
from foretell.errors import ForetellError
from foretell.report.bars import bars
from foretell.report.charts import slug
from foretell.report.runs import Runs
from foretell.report.section import Block, Chart, Section, Sheet

__all__ = ["section"]

LINES = 24
"""Bars in a chart, at most."""
NONE = "no stage"
DONE = "success"

Row = Mapping[str, Any]


def section(runs: Runs) -> Section | None:
    """Of the tasks that have stages."""
    tasks: dict[str, list[Row]] = {task: [] for task in runs.tasks}
    for run in runs.each:
        for row, clock in zip(run.rows, run.clocks, strict=True):
            told = row["stages"] or row["judge"] != "person"  # a person may have noted the outcome only
            if told and row["success"] is not None and row["arm"] == "none":
                tasks[row["task"]].append({**row, "run": run.name, "clock": clock})
    for rows in tasks.values():
        rows.sort(key=lambda row: runs.policies.index(row["policy"]))
    blocks: list[Block] = []
    deaths: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    told: list[Row] = []
    for task, rows in tasks.items():
        stages = _order(task, rows, runs)
        if not (rows and stages):
            continue
        told += rows
        for row in rows:
            if not row["success"]:
                deaths[row["world"]][task, _furthest(row, stages)] += 1
        one = len(tasks) == 1
        name, where = slug("stages", "" if one else task), "" if one else f" on {task}"
        lines, together = _lines(rows)
        blocks += [_chart(lines, stages, name, where, together), _sheet(lines, stages, f"{name}-table", where)]
    if not blocks:
        return None
    worlds = len({row["world"] for row in told}) > 1
    clocks = len({row["clock"] for row in told}) > 1
    return Section("stages", "Stages", _says(deaths, len(tasks) > 1, worlds, clocks), blocks)


def _says(deaths: Mapping[str, Counter[tuple[str, str]]], tasks: bool, worlds: bool, clocks: bool) -> str:
    """Where most get stuck, world by world; the flags say of what there are several."""
    if not deaths:
        return "No episode failed, so none stopped short of the last stage."
    parts = []
    for world, counts in deaths.items():
        (task, stage), count = counts.most_common(1)[0]
        after = "before the first stage" if stage == NONE else f"after “{stage}”"
        after += (f" of {task}" if tasks else "") + (f" in {world}" if worlds else "")
        parts.append((after, count, counts.total()))
    together = "; clocks are counted together" if clocks else ""
    if all(count == failed for _, count, failed in parts):
        return f"Every failed episode gets stuck {listed([after for after, *_ in parts])}{together}."
    told = [f"{after} ({count:,} of {failed:,})" for after, count, failed in parts]
    return f"Failed episodes most often get stuck {listed(told)}{together}."


def _order(task: str, rows: Sequence[Row], runs: Runs) -> list[str]:
    """As the task declares its stages, where it can be found; else by when they are reached."""
    times: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, at in row["stages"] or ():
            times[name].append(at)
    declared = _declared(task, runs)
    found = sorted(times, key=lambda name: median(times[name]))
    return [*declared, *(name for name in found if name not in declared)]


def _declared(task: str, runs: Runs) -> list[str]:
    from foretell.study.plan import make_task

    kept: dict[str, list[str]] = vars(runs).setdefault("_stages", {})
    if task not in kept:
        kept[task] = []
        uses = [
            entry.get("use") for run in runs.each for entry in run.study.get("tasks") or () if isinstance(entry, dict)
        ]
        for use in dict.fromkeys(u for u in uses if isinstance(u, str) and ":" not in u):  # built in: no file is run
            try:
                made = make_task(use)
            except ForetellError:  # not here, or of another version
                continue
            if made.name == task:
                kept[task] = [stage.name for stage in made.stages]
    return kept[task]


def _lines(rows: Sequence[Row]) -> tuple[dict[str, list[Row]], str]:
    """Policy (with run and clock, if there are several) -> its episodes, and what is counted together if that makes
    too many lines. Worlds never are."""
    several = [c for c in ("run", "clock") if len({row[c] for row in rows}) > 1]
    worlds = ["world"] if len({row["world"] for row in rows}) > 1 else []
    alone = len({(row["run"], row["world"]) for row in rows}) == len({row["run"] for row in rows})
    made: dict[str, list[Row]] = {}
    together = ""
    for split in (several, [c for c in several if c == "run"], []):
        names = split if "run" in split and alone else [*worlds, *split]  # a run has one world, mostly
        made = defaultdict(list)
        for row in rows:
            made[" · ".join([row["policy"], *(row[c] for c in names)])].append(row)
        left = [f"{c}s" for c in several if c not in split]
        together = f" {listed(left).capitalize()} are counted together." if left else ""
        if len(made) <= LINES:
            break
    return made, together


def _furthest(row: Row, stages: Sequence[str]) -> str:
    reached = {name for name, _ in row["stages"] or ()}
    return next((name for name in reversed(stages) if name in reached), NONE)


def _chart(lines: Mapping[str, list[Row]], stages: Sequence[str], name: str, where: str, together: str) -> Chart:
    counted = {
        line: Counter(DONE if row["success"] else _furthest(row, stages) for row in mine)
        for line, mine in list(lines.items())[:LINES]
    }
    last = any(ends[stages[-1]] for ends in counted.values())  # mostly it is success itself
    order = [_said(stage) for stage in (NONE, *stages[: None if last else -1])] + [DONE]
    rows = []
    for line, ends in counted.items():
        n = ends.total()
        for stage in (NONE, *stages, DONE):
            if ends[stage] or stage == DONE:
                row = {"policy": line, "ended": _said(stage), "share": ends[stage] / n, "count": ends[stage], "n": n}
                rows.append(row)
    tips = {"policy": ("policy", ""), "ended": ("ended", ""), "count": ("episodes", "d"), "n": ("of", "d")}
    tips |= {"share": ("share", ".1%")}
    spec = bars(rows, y="policy", x="share", title="share of episodes", tips=tips, parts="ended", order=order,
                ordered=True, share=True)  # fmt: skip
    about = "Each failed episode counts at the last stage it reached, in the order " + " → ".join(stages) + "."
    return Chart(name, f"Where episodes end{where}", spec, rows, about + together)


def _said(stage: str) -> str:
    return stage if stage == DONE else "before the first stage" if stage == NONE else f"stuck after {stage}"


def _sheet(found: Mapping[str, list[Row]], stages: Sequence[str], name: str, where: str) -> Sheet:
    lines = []
    for policy, mine in found.items():
        line: list[Any] = [policy, len(mine)]
        for stage in stages:
            times = [at for row in mine for reached, at in row["stages"] or () if reached == stage]
            line.append(f"{len(times) / len(mine):.0%}, {median(times):.1f} s" if times else "0%")
        lines.append(line)
    about = "Share of episodes that reach the stage, and the median of the simulated seconds it took them."
    title = f"How many reach each stage{where}, and when"
    return Sheet(name, title, ["policy", "n", *stages], lines, ("n", *stages), about)
