"""Picking a policy by simulation: what it costs in reality, as a table and a chart of the section on reality."""

from __future__ import annotations

from typing import Any

from foretell.answers.picked import Picked
from foretell.answers.predictivity import Predictivity
from foretell.answers.words import listed
from foretell.report.charts import dots
from foretell.report.section import Block, Chart, Sheet, Words
from foretell.stats import Interval

__all__ = ["picking", "sentence"]

OVERALL = "all tasks alike"
ABOUT = (
    "Regret is the real success of the truly best policy minus that of the pick, in points. Its intervals, and the "
    "policies that may be the best, hold together with 95% confidence for any pick; they are made for regret, which a "
    "bootstrap misses."
)


def _asked(answer: Predictivity, task: str) -> dict[str, Picked]:
    """What was decided -> the decision, over all tasks first; task: the name of the only one."""
    decisions = {name or task: made for name, made in answer.decisions.items()}
    return ({OVERALL: answer.overall} if answer.overall is not None else {}) | decisions


def sentence(answer: Predictivity, sim: str) -> str:
    """The pick, its regret and the reach of the claim, in one sentence."""
    made = answer.overall or next(iter(answer.decisions.values()))
    decision = made.decision
    pick, best = " or ".join(made.names(decision.picks)), listed(made.names(decision.winners))
    if len(decision.picks) > 1:
        pick = f"{pick}, which tie"
    where = "the best in the real trials" if decision.agrees else f"where {best} did best in the real trials"
    tasks = f" over {len(answer.decisions)} tasks" if answer.overall is not None else ""
    regret, reach = _ends(decision.regret, made.points), decision.claim.reach
    return f"Picking by {sim}{tasks} takes {pick}, {where}: regret {regret}; claim level: {reach}."


def _ends(interval: Interval, points: bool, unit: bool = True) -> str:
    factor, digits, name = (100.0, 1, " points") if points else (1.0, 3, "")
    ends = ""
    if interval.low is not None and interval.high is not None:
        ends = f" ({factor * interval.low:.{digits}f} to {factor * interval.high:.{digits}f})"
    return f"{factor * interval.estimate:.{digits}f}{name if unit else ''}{ends}"


def picking(answer: Predictivity, task: str, names: tuple[str, str]) -> list[Block]:
    """A table of every decision, and a chart of the regrets; names: of the table and of the chart."""
    asked = _asked(answer, task)
    rows, drawn = [], []
    for label, made in asked.items():
        decision = made.decision
        best = "unknown" if decision.maybe_best is None else listed(made.names(decision.maybe_best))
        rows.append([label, "simulation's best", *_row(made, decision.picks, decision.regret), best])
        drawn.append(_drawn(label, "simulation's best", made, decision.regret))
        for short in decision.shortlists:
            if short.k > 1:
                how = f"best of its top {short.k} in real trials"
                rows.append([label, how, *_row(made, short.picks, short.regret), best])
                drawn.append(_drawn(label, how, made, short.regret))
    columns = ["task", "picked by", "pick", "real success", "regret in points", "may truly be the best"]
    sheet = Sheet(
        name=names[0],
        title="What picking by simulation costs",
        columns=columns,
        rows=rows,
        right=columns[3:5],
        about=ABOUT,
    )
    blocks: list[Block] = [sheet, Words(" ".join(next(iter(asked.values())).left_out()))]
    known = [row for row in drawn if row["low"] is not None]
    if not known:
        return blocks
    tips = {"task": ("task", ""), "picked_by": ("picked by", ""), "pick": ("pick", "")}
    tips |= {"regret": ("regret", ".1f"), "low": ("from", ".1f"), "high": ("to", ".1f")}
    spec = dots(
        known, y="task", x="regret", title="regret in points", unit="number", series="picked_by", zero=True, tips=tips
    )
    about = "Points of real success lost by each pick, with 95% intervals. 0 is best."
    return [Chart(name=names[1], title="Regret", spec=spec, rows=known, about=about), *blocks]


def _row(made: Picked, picks: tuple[int, ...], regret: Interval) -> list[str]:
    mean = sum(made.real[i] for i in picks) / len(picks)
    rate = f"{mean:.0%}" if made.points else f"{mean:.3f}"
    return [listed(made.names(picks)), rate, _ends(regret, made.points, unit=False)]


def _drawn(label: str, how: str, made: Picked, regret: Interval) -> dict[str, Any]:
    factor = 100.0 if made.points else 1.0
    low, high = (None if end is None else factor * end for end in (regret.low, regret.high))
    row = {"task": label, "picked_by": how, "pick": ", ".join(made.names(made.decision.picks))}
    return {**row, "regret": factor * regret.estimate, "low": low, "high": high}
