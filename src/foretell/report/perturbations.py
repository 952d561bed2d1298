"""Perturbations: what each factor costs each policy, against the same scenarios without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.episodes.columns import cells, grouped
from foretell.episodes.units import by_unit
from foretell.errors import ForetellError
from foretell.factors.arms import severity_of
from foretell.report.aggregates import blocks as aggregate_blocks
from foretell.report.charts import dots, lines, radar, slug
from foretell.report.groups import RowGroup, distinct, groups, unfinished
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Block, Chart, Section, Sheet, Words
from foretell.stats import ALPHA, Interval, holm
from foretell.stats.compare import compare as test_of
from foretell.stats.paired import EXACT
from foretell.stats.robustness import paired_change, success_rate
from foretell.study.unchanged import IDENTICAL, unchanged

__all__ = ["section"]

CLEAN = "none"
UNCERTIFIED = (
    "it is unknown which perturbations leave the tasks solvable; a test set shows it (`foretell testset build`)"
)
LEAST = 3
"""Arms, the clean one among them, below which there is no radar."""
SHARE = ".1%"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One policy on one task of one world under one arm."""

    world: str
    task: str
    policy: str
    arm: str
    success: Interval
    change: Interval | None
    """Perturbed less clean in the same scenarios; None for the clean control, and where no scenario has both."""
    p: float | None = None
    """p-value of no change, if there is a change to test; adjusted for the changes of all cells (Holm)."""
    identical: bool = False
    """Whether every episode is as without perturbation: the arm changes looks only, and the policy does not look."""

    @property
    def factor(self) -> str:
        return self.arm.partition("@")[0]

    @property
    def severity(self) -> float | None:
        """0 for the clean control; None where the arm has none."""
        return 0.0 if self.arm == CLEAN else severity_of(self.arm)


def section(runs: Runs) -> Section | None:
    """Changes, a radar and severity curves of every world and task that ran with and without perturbation."""
    same = {key for run in runs.each for key in unchanged(run.table)}
    changes = _cells(groups(runs), same)
    if not changes:
        return None
    tasks = list(dict.fromkeys((cell.world, cell.task) for cell in changes))
    blocks: list[Block] = [*unfinished(runs), *_board(runs, changes), *aggregate_blocks(groups(runs))]
    for world, task in tasks:
        mine = [cell for cell in changes if (cell.world, cell.task) == (world, task)]
        several = len({w for w, _ in tasks}) > 1
        here = [*([task] if len(tasks) > 1 else []), *([world] if several else [])]
        on = f" on {task}" if len(tasks) > 1 else ""
        on += f" in {world}" if several else ""
        blocks += _blocks(mine, here, on)
    blocks.append(_sheet(changes, len(tasks) > 1))
    return Section("perturbations", "Perturbations", _says(changes, len(tasks) > 1), distinct(blocks))


def _cells(every: list[RowGroup], same: Set[str] = frozenset()) -> list[Change]:
    """Every policy under every arm, of the first clock of each world and task, where there is a clean control too."""
    by: dict[tuple[str, str], dict[str, dict[str, RowGroup]]] = defaultdict(lambda: defaultdict(dict))
    for group in every:
        by[group.world, group.task][group.clock][group.arm] = group
    changes = []
    for (world, task), clocks in by.items():
        arms = clocks.get("sync") or next(iter(clocks.values()))
        if CLEAN not in arms or len(arms) < 2:
            continue
        tried = {arm: _tried(group) for arm, group in arms.items()}
        for arm in sorted(arms, key=lambda a: a != CLEAN):
            for policy, (mine, episodes) in tried[arm].items():
                known = np.array(list(mine.values()))
                clean, _ = tried[CLEAN].get(policy, ({}, frozenset()))
                both = [] if arm == CLEAN else [base for base in mine if base in clean]
                pair = [np.array([side[base] for base in both]) for side in (mine, clean)]
                change = paired_change([pair[0]], [pair[1]]) if both else None
                p = test_of(*pair, paired=True).p_value if both else None
                identical = change is not None and same >= episodes
                if identical and change is not None:
                    change = replace(change, low=0.0, high=0.0, method=IDENTICAL)
                changes.append(
                    Change(
                        world=world,
                        task=task,
                        policy=policy,
                        arm=arm,
                        success=success_rate([known]),
                        change=change,
                        p=p,
                        identical=identical,
                    )
                )
    tested = [cell.p for cell in changes if cell.p is not None]
    adjusted = iter(holm(tested) if tested else ())
    return [cell if cell.p is None else replace(cell, p=float(next(adjusted))) for cell in changes]


def _tried(group: RowGroup) -> dict[str, tuple[dict[str, float], frozenset[str]]]:
    """Policy with trials that count -> (base of a scenario -> mean success of these; all its episodes)."""
    number, policies = grouped([group.table["policy"]])
    tried = {}
    for i, (policy,) in enumerate(policies):
        table = group.table.filter(pa.array(number == i))
        judged = table.filter(table["success"].is_valid())
        bases = by_unit(judged["base"], sort=False)
        means = bases.means(judged["success"].to_numpy()).tolist()
        if means:
            tried[policy] = dict(zip(bases.names, means, strict=True)), frozenset(cells(table["episode"]))
    return tried


def _says(changes: list[Change], many: bool) -> str:
    shown = [cell for cell in changes if cell.change and cell.change.estimate < 0.0 and (cell.p or 0.0) <= ALPHA]
    if not shown:
        return "No perturbation is shown to cost any policy success."
    worst = min(shown, key=lambda cell: cell.change.estimate if cell.change else 0.0)
    assert worst.change is not None and worst.change.low is not None and worst.change.high is not None
    lost = f"{-100 * worst.change.estimate:.0f} points of success"
    ends = f"(95%: {-100 * worst.change.high:.0f} to {-100 * worst.change.low:.0f})"
    on = f" on {worst.task}" if many else ""
    on += f" in {worst.world}" if len({cell.world for cell in changes}) > 1 else ""
    return f"{worst.arm} hurts most: it costs {worst.policy} {lost}{on} {ends}."


def _blocks(cells: list[Change], here: list[str], on: str) -> list[Block]:
    blocks: list[Block] = []
    mild = {cell.arm for cell in cells if "@" in cell.arm}
    plain = (
        [cell for cell in cells if cell.arm not in mild] if any(c.change for c in cells if c.arm not in mild) else cells
    )
    rows = _changes(plain)
    if rows:
        blocks.append(_bars(rows, slug("perturbation-change", *here), f"What each perturbation costs{on}"))
    if len({cell.arm for cell in plain}) >= LEAST:
        blocks.append(_radar(plain, slug("perturbation-radar", *here), f"Success by perturbation{on}"))
    return [*blocks, *_curves(cells, here, on)]


def _changes(cells: list[Change]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for cell in cells:
        if cell.change is not None:
            ends = {
                k: None if v is None else 100 * v for k, v in (("low", cell.change.low), ("high", cell.change.high))
            }
            row = {"arm": cell.arm, "policy": cell.policy, "points": 100 * cell.change.estimate, **ends}
            row |= {"success": cell.success.estimate, "pairs": cell.change.n, "method": cell.change.method}
            rows.append({**row, "p_adjusted": cell.p})
    order: dict[str, list[float]] = defaultdict(list)
    for entry in rows:
        order[entry["arm"]].append(entry["points"])
    return sorted(rows, key=lambda row: (float(np.mean(order[row["arm"]])), row["arm"]))


def _bars(rows: list[dict[str, Any]], name: str, title: str) -> Chart:
    tips = {"arm": ("perturbation", ""), "policy": ("policy", ""), "points": ("change, points", "+.1f")}
    tips |= {"low": ("from", "+.1f"), "high": ("to", "+.1f"), "success": ("success", SHARE), "pairs": ("pairs", "d")}
    tips |= {"p_adjusted": ("p, adjusted", ".2g")}
    series = "policy" if len({row["policy"] for row in rows}) > 1 else None
    spec = dots(
        rows, y="arm", x="points", title="change in success, points", unit="points", zero=True, series=series, tips=tips
    )
    about = (
        f"Change against the clean control in the same scenarios, with 95% confidence intervals (exact up to {EXACT} "
        "pairs of successes). Each interval is for one change alone: of twenty perturbations without effect, about "
        "one interval excludes 0 by chance. The sentence above uses the paired test of `foretell compare` with "
        "Holm's adjustment over all changes in this section."
    )
    if any(row["method"] == IDENTICAL for row in rows):
        about += (
            " An interval without width means that every episode is identical to its clean control: the perturbation "
            "changes only the appearance, and the policy uses no camera."
        )
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)


def _radar(cells: list[Change], name: str, title: str) -> Chart:
    rows = [
        {"arm": "clean" if cell.arm == CLEAN else cell.arm, "policy": cell.policy, "success": cell.success.estimate}
        | {"low": cell.success.low, "high": cell.success.high, "n": cell.success.n}
        for cell in cells
    ]
    tips = {
        "policy": ("policy", ""),
        "arm": ("perturbation", ""),
        "success": ("success", SHARE),
        "low": ("from", SHARE),
    }
    tips |= {"high": ("to", SHARE), "n": ("scenarios", "d")}
    spec = radar(rows, axis="arm", series="policy", value="success", tips=tips)
    return Chart(
        name=name,
        title=title,
        spec=spec,
        rows=rows,
        about="0 is in the middle, 100% on the rim. A larger, rounder shape means a more robust policy.",
    )


def _curves(cells: list[Change], here: list[str], on: str) -> list[Block]:
    """Success against severity, a chart for each policy, of the factors that ran at two severities or more."""
    charts: list[Block] = []
    for policy, mine in groupby(sorted(cells, key=lambda c: c.policy), key=lambda c: c.policy):
        own = list(mine)
        clean = [cell for cell in own if cell.arm == CLEAN]
        by: dict[str, list[Change]] = defaultdict(list)
        for cell in own:
            if cell.arm != CLEAN and "+" not in cell.arm and cell.severity is not None:
                by[cell.factor].append(cell)
        rows = [
            {"factor": factor, "severity": cell.severity, "success": cell.success.estimate}
            | {"low": cell.success.low, "high": cell.success.high, "n": cell.success.n}
            for factor, points in by.items()
            if len(points) > 1
            for cell in sorted([*clean, *points], key=lambda c: c.severity or 0.0)
        ]
        if rows:
            tips = {"factor": ("factor", ""), "severity": ("severity", ".2~g"), "success": ("success", SHARE)}
            tips |= {"low": ("from", SHARE), "high": ("to", SHARE), "n": ("scenarios", "d")}
            titles = ("severity (0: none, 1: the published extreme)", "success")
            spec = lines(rows, x="severity", y="success", series="factor", titles=titles, tips=tips)
            factors = list(dict.fromkeys(row["factor"] for row in rows))
            grow = f"{factors[0]} grows" if len(factors) == 1 else "factors grow"
            name = slug("severity-curve", policy, *here)
            charts.append(
                Chart(
                    name=name,
                    title=f"{policy} as {grow}{on}",
                    spec=spec,
                    rows=rows,
                    about="95% intervals (Clopper-Pearson).",
                )
            )
    return charts


def _sheet(changes: list[Change], many: bool) -> Sheet:
    rows = []
    for cell in changes:
        success, change = cell.success, cell.change
        rate = f"{success.estimate:.0%} ({success.low or 0.0:.0%} to {success.high or 0.0:.0%})"
        words = ""
        if change is not None:
            value, low, high = (f"{round(100 * (v or 0.0)):+d}" for v in (change.estimate, change.low, change.high))
            words = f"{value} ({low} to {high})".replace("+0", "0").replace("-", "−")
            words = IDENTICAL if cell.identical else words
        where = [cell.world, cell.task] if many else []
        rows.append([*where, cell.policy, "clean" if cell.arm == CLEAN else cell.arm, success.n, rate, words])
    columns = [*(["world", "task"] if many else []), "policy", "perturbation", "n", "success", "change, points"]
    return Sheet(name="perturbations-table", title="Every perturbation", columns=columns, rows=rows, right=columns[-3:])


def _board(runs: Runs, changes: list[Change]) -> list[Block]:
    """The ranking of `foretell leaderboard`, of every world in which policies ran the same test set."""
    from foretell.leaderboard import leaderboard
    from foretell.report.leaderboard import section as board_section

    blocks: list[Block] = []
    worlds = list(dict.fromkeys(cell.world for cell in changes))
    for world in worlds:
        mine = [run for run in runs.each if _perturbed(run, world)]
        if not any((run.path / "testset.jsonl").is_file() for run in mine):
            blocks.append(Words(f"No leaderboard of {world}: {UNCERTIFIED}."))
            continue
        clocks = [group.clock for group in groups(runs) if group.world == world]
        try:
            board = leaderboard(*(run.path for run in mine), clock="sync" if "sync" in clocks else clocks[0])
        except ForetellError as error:
            blocks.append(Words(f"No leaderboard of {world}: {str(error).partition(chr(10))[0]}.", "caution"))
            continue
        if all(entry["rank"] is None for entry in board.entries):
            blocks.append(Words(f"No leaderboard of {world}: {board.entries[0]['reason']}."))
            continue
        ranking = next(b for b in board_section(board).blocks if isinstance(b, Sheet) and b.name == "leaderboard")
        name = slug(ranking.name, world if len(worlds) > 1 else "")
        blocks.append(
            replace(ranking, name=name, title=f"Leaderboard of {world}" if len(worlds) > 1 else "Leaderboard")
        )
    return blocks


def _perturbed(run: OneRun, world: str) -> bool:
    """Whether a run is of this world and of several arms."""
    return world.partition("#")[0] in run.worlds and len(run.values("arm")) > 1
