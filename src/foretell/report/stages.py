"""Where episodes die: the last stage that each of them reached."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

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
    deaths: Counter[tuple[str, str]] = Counter()
    for task, rows in tasks.items():
        stages = _order(task, rows, runs)
        if not (rows and stages):
            continue
        counted = _counted(rows, stages)
        for line in counted:
            for stage, count in line["died"].items():
                deaths[task, stage] += count
        one = len(tasks) == 1
        name, where = slug("stages", "" if one else task), "" if one else f" on {task}"
        blocks += [_chart(counted, stages, name, where), _sheet(rows, stages, f"{name}-table", where)]
    if not blocks:
        return None
    return Section("stages", "Stages", _says(deaths, len(tasks) > 1), blocks)


def _says(deaths: Counter[tuple[str, str]], several: bool) -> str:
    failed = sum(deaths.values())
    if not failed:
        return "No episode failed, so none stopped short of the last stage."
    (task, stage), count = deaths.most_common(1)[0]
    after = "before the first stage" if stage == NONE else f"after “{stage}”"
    of = f" of {task}" if several else ""
    if count == failed:
        return f"Every failed episode gets stuck {after}{of}."
    return f"Failed episodes most often get stuck {after}{of}: {count:,} of {failed:,}."


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
        uses = [entry["use"] for run in runs.each for entry in run.study.get("tasks") or () if isinstance(entry, dict)]
        for use in dict.fromkeys(u for u in uses if isinstance(u, str) and ":" not in u):  # built in: no file is run
            try:
                made = make_task(use)
            except ForetellError:  # not here, or of another version
                continue
            if made.name == task:
                kept[task] = [stage.name for stage in made.stages]
    return kept[task]


def _counted(rows: Sequence[Row], stages: Sequence[str]) -> list[dict[str, Any]]:
    """Of each policy (and run and clock, if there are several): where how many ended."""
    varying = [c for c in ("run", "clock") if len({row[c] for row in rows}) > 1]
    while varying and len({(row["policy"], *(row[c] for c in varying)) for row in rows}) > LINES:
        varying.pop()  # those are counted together
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[" · ".join([row["policy"], *(row[c] for c in varying)])].append(row)
    found = []
    for name, mine in list(groups.items())[:LINES]:
        ends = Counter(DONE if row["success"] else _furthest(row, stages) for row in mine)
        died = {stage: ends[stage] for stage in (NONE, *stages) if ends[stage]}
        found.append({"name": name, "n": len(mine), "died": died, "solved": ends[DONE]})
    return found


def _furthest(row: Row, stages: Sequence[str]) -> str:
    reached = {name for name, _ in row["stages"] or ()}
    return next((name for name in reversed(stages) if name in reached), NONE)


def _chart(counted: Sequence[dict[str, Any]], stages: Sequence[str], name: str, where: str) -> Chart:
    last = any(stages[-1] in line["died"] for line in counted)  # mostly it is success itself
    order = [_said(stage) for stage in (NONE, *stages[: None if last else -1])] + [DONE]
    rows = []
    for line in counted:
        for stage, count in {**line["died"], DONE: line["solved"]}.items():
            share = count / line["n"]
            rows.append({"policy": line["name"], "ended": _said(stage), "share": share, "count": count, "n": line["n"]})
    tips = {"policy": ("policy", ""), "ended": ("ended", ""), "count": ("episodes", "d"), "n": ("of", "d")}
    tips |= {"share": ("share", ".1%")}
    spec = bars(rows, y="policy", x="share", title="share of episodes", tips=tips, parts="ended", order=order,
                ordered=True, share=True)  # fmt: skip
    about = "Each failed episode counts at the last stage it reached, in the order " + " → ".join(stages) + "."
    return Chart(name, f"Where episodes end{where}", spec, rows, about)


def _said(stage: str) -> str:
    return stage if stage == DONE else "before the first stage" if stage == NONE else f"stuck after {stage}"


def _sheet(rows: Sequence[Row], stages: Sequence[str], name: str, where: str) -> Sheet:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["policy"]].append(row)
    lines = []
    for policy, mine in groups.items():
        line: list[Any] = [policy, len(mine)]
        for stage in stages:
            times = [at for row in mine for reached, at in row["stages"] or () if reached == stage]
            line.append(f"{len(times) / len(mine):.0%}, {median(times):.1f} s" if times else "0%")
        lines.append(line)
    about = "Share of episodes that reach the stage, and the median of the simulated seconds it took them."
    title = f"How many reach each stage{where}, and when"
    return Sheet(name, title, ["policy", "n", *stages], lines, ("n", *stages), about)
