"""SIMPLER's aggregates in a report: mean success over the control and its variants, and the change under each shift."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from foretell.answers.aggregate import Aggregate, Outcomes, aggregates, outcomes
from foretell.episodes.columns import grouped
from foretell.report.charts import dots
from foretell.report.groups import RowGroup
from foretell.report.section import Block, Chart, Sheet
from foretell.tasks.variants import SHIFTS

__all__ = ["blocks"]

WORDS = {"aggregate": "control and variants", "arm_colours": "arm colours"}


def blocks(every: list[RowGroup]) -> list[Block]:
    """A table of the aggregates and a chart of the shifts; nothing where an arm of each aggregate is missing or still
    runs. Every scenario counts once, by its mean over the arms."""
    made = _made(every)
    if not made:
        return []
    many = len({(world, task) for world, task, *_ in made}) > 1
    rows = [
        [*((world, task) if many else ()), policy, WORDS[mean.name], len(mean.arms), mean.success.n, _percent(mean)]
        for world, task, policy, mean in made
    ]
    columns = [*(("world", "task") if many else ()), "policy", "mean over", "arms", "scenarios", "success"]
    sheet = Sheet(
        name="aggregates",
        title="Aggregates over SIMPLER's variants",
        columns=columns,
        rows=rows,
        right=columns[-3:],
        about="Every arm has the same weight; camera variants are left out. The 95% intervals pair arms by scenario: a "
        "scenario counts once, by its mean over the arms.",
    )
    return [sheet, _shifts(made, many)]


def _made(every: list[RowGroup]) -> list[tuple[str, str, str, Aggregate]]:
    """World, task, policy and aggregate, of the first clock of each world and task."""
    by: dict[tuple[str, str], dict[str, dict[str, RowGroup]]] = defaultdict(lambda: defaultdict(dict))
    for group in every:
        if (group.arm == "none" or group.arm in SHIFTS) and not group.missing and not group.horizons:
            by[group.world, group.task][group.clock][group.arm] = group
    made = []
    for (world, task), clocks in by.items():
        of_policy: dict[str, dict[str, Outcomes]] = defaultdict(dict)
        for arm, group in (clocks.get("sync") or next(iter(clocks.values()))).items():
            number, policies = grouped([group.table["policy"]])
            for i, (policy,) in enumerate(policies):
                of_policy[policy][arm] = outcomes(group.table.filter(pa.array(number == i)))
        made += [(world, task, policy, mean) for policy, by_arm in of_policy.items() for mean in aggregates(by_arm)]
    return made


def _percent(mean: Aggregate) -> str:
    return f"{mean.success.estimate:.1%} ({mean.success.low or 0.0:.0%} to {mean.success.high or 0.0:.0%})"


def _shifts(made: list[tuple[str, str, str, Aggregate]], many: bool) -> Chart:
    rows = []
    for world, task, policy, mean in made:
        for shift in mean.shifts:
            label = f"{shift.name}, {task} in {world}" if many else shift.name
            ends = {"low": shift.change.low, "high": shift.change.high}
            points = {key: None if value is None else 100 * value for key, value in ends.items()}
            row = {"shift": label, "policy": policy, "points": 100 * shift.change.estimate, **points}
            rows.append({**row, "absolute": 100 * shift.absolute, "variants": len(shift.arms), "pairs": shift.change.n})
    tips = {"shift": ("shift", ""), "policy": ("policy", ""), "points": ("change, points", "+.1f")}
    tips |= {"low": ("from", "+.1f"), "high": ("to", "+.1f"), "absolute": ("mean absolute change", ".1f")}
    tips |= {"variants": ("variants", "d"), "pairs": ("pairs", "d")}
    series = "policy" if len({row["policy"] for row in rows}) > 1 else None
    spec = dots(
        rows,
        y="shift",
        x="points",
        title="change in success, points",
        unit="points",
        zero=True,
        series=series,
        tips=tips,
    )
    about = (
        "Mean over the variants of a shift of success less that of the control (SIMPLER's equation 6), paired by "
        "scenario, with 95% intervals. The data also have the mean of absolute changes, which its Table VI prints."
    )
    return Chart(name="shifts", title="Change of success by shift", spec=spec, rows=rows, about=about)
