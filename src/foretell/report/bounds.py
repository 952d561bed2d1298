"""Bounds: how good each policy really is, from few real trials and many simulated ones, and what simulation buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foretell import stats
from foretell.answers.bound import Bound, bound
from foretell.answers.inputs import open_table
from foretell.answers.units import measure, pair
from foretell.answers.words import listed
from foretell.counting import counted
from foretell.episodes.provenance import weakest
from foretell.errors import UsageError
from foretell.report.charts import dots, lines, slug
from foretell.report.groups import RowGroup, distinct, noted, unfinished
from foretell.report.reality import worlds
from foretell.report.runs import Runs
from foretell.report.section import Block, Chart, Section, Sheet, Words
from foretell.report.verdict import MECHANISM
from foretell.stats import Interval, TrialsSaved, WidthCurve

__all__ = ["section"]

LIVELY = ("strata", "blocked", "suresim", "clopper_pearson", "betting")
"""Methods drawn, beside the default, where there are many policies; the table has all."""
MANY = 4
"""Policies above which not every method is drawn."""
CURVES = 6
"""Policies of a task, at most, for which it is worked out what simulation buys: that resamples, which takes time."""
KINDS = {
    "wilson": "real trials alone, approximate",
    "clopper_pearson": "real trials alone, exact",
    "hoeffding": "real trials alone",
    "betting": "real trials alone",
    "star": "real trials alone",
    "strata": "with simulation, exact",
    "blocked": "with simulation",
    "suresim": "with simulation",
    "suresim_2stage": "with simulation",
    "suresim_ub": "with simulation",
    "suresim_2stage_ub": "with simulation",
    "control_variate": "with simulation, approximate",
    "control_variate_split": "with simulation, approximate",
}


@dataclass(frozen=True)
class Bounded:
    """One policy in one real world, with its simulations."""

    policy: str
    answer: Bound
    """By every method."""
    curve: WidthCurve | None
    """Width as simulated scenarios are added; None without enough of them beyond the real ones, or not worked out."""
    saved: TrialsSaved | None

    @property
    def default(self) -> Interval:
        """What `foretell bound` answers."""
        by_method = {i.method: i for i in self.answer.intervals}
        return by_method.get(self.answer.default, self.answer.intervals[0])


def section(runs: Runs) -> Section | None:
    """Intervals by every method, width against simulated trials, the floor, and real trials saved."""
    pairs = worlds(runs)
    blocks: list[Block] = unfinished(runs)
    bounded: list[Bounded] = []
    left: list[str] = []
    for (real, sim), groups in pairs.items():
        for tried, simulated in groups:
            cells = _cells(tried, simulated, left)
            if not cells:
                continue
            bounded += cells
            many = sum(len(g) for g in pairs.values()) > 1
            tail = [tried.task, *([sim, real] if len(pairs) > 1 else [])] if many else []
            on = f" on {tried.task}" if many else ""
            blocks += _blocks(cells, tail, on, real)
    if not bounded:
        blocks = []  # no interval to warn of
    if not bounded and not left:
        return None
    if any(tried.stands_in for both in pairs.values() for tried, _ in both):
        blocks.insert(0, Words(MECHANISM, "caution"))
    return Section("bounds", "Bounds on real performance", _says(bounded), distinct([*blocks, *noted(left)]))


def _says(bounded: Sequence[Bounded]) -> str:
    if not bounded:
        return "No policy has a bound on its real success from simulation. The notes give the reasons."
    helped = [cell for cell in bounded if cell.default.diagnostics.get("helps")]
    widths = sorted(cell.default.width for cell in bounded)
    typical = f"{100 * widths[len(widths) // 2]:.0f} points wide"
    if len(bounded) == 1:
        interval = bounded[0].default
        ends = f"{interval.low or 0:.0%} and {interval.high or 0:.0%}"
        bounds = f"The real success rate of {bounded[0].policy} is between {ends}"
        return (
            f"{bounds} (95% confidence interval). Simulation {'makes' if helped else 'does not make'} this interval "
            "narrower."
        )
    share = f"in {len(helped)} of {len(bounded)} cases" if helped else "in no case"
    return f"The 95% confidence interval of real success is typically {typical}. Simulation makes it narrower {share}."


def _cells(tried: RowGroup, simulated: RowGroup, left: list[str]) -> list[Bounded]:
    design: Any = weakest([tried.design, simulated.design])
    cells: list[Bounded] = []
    for policy in tried.policies:
        if policy not in simulated.policies:
            left.append(f"{policy} on {tried.task} was not simulated")
            continue
        tables = tuple(group.table.filter(pc.field("policy") == policy) for group in (tried, simulated))
        try:
            answer = bound(*tables, method="all", design=design, stand_in=True)
            simulated_too = answer.default in ("strata", "blocked")
            curve, saved = worth(*tables) if simulated_too and len(cells) < CURVES else (None, None)
        except UsageError as error:
            left.append(f"{policy} on {tried.task}: {str(error).partition(chr(10))[0]}")
            continue
        cells.append(Bounded(policy, answer, curve, saved))
    return cells


def worth(tried: pa.Table, simulated: pa.Table) -> tuple[WidthCurve, TrialsSaved]:
    """What simulation buys: the bound on growing numbers of simulated scenarios, and real trials it saves."""
    tables = [open_table(table, name) for table, name in ((tried, "real"), (simulated, "sim"))]
    paired, _ = pair(measure(tables[0]), measure(tables[1], whole=True), None)
    curve = stats.width_curve(paired.real, paired.sim, paired.extra)
    return curve, stats.real_trials_saved(paired.real, float(curve.widths[-1]))


def _blocks(cells: list[Bounded], tail: list[str], on: str, real: str) -> list[Block]:
    blocks: list[Block] = [_intervals(cells, slug("bounds", *tail), f"Real success by method{on}", real)]
    curves = [cell for cell in cells if cell.curve is not None]
    if curves:
        blocks.append(_curves(curves, slug("bound-width", *tail), f"Width against simulated trials{on}"))
    blocks.append(_sheet(cells, slug("trials-saved", *tail), f"What simulation saves{on}"))
    return [*blocks, *noted(note for cell in cells for note in cell.answer.notes)]


def _intervals(cells: list[Bounded], name: str, title: str, real: str) -> Chart:
    rows = []
    for cell in cells:
        for interval in cell.answer.intervals:
            row: dict[str, Any] = {"policy": cell.policy, "method": interval.method, "estimate": interval.estimate}
            row |= {"low": interval.low, "high": interval.high, "width": interval.width}
            row |= {"uses": KINDS.get(interval.method, ""), "guarantee": interval.guarantee}
            row |= {"default": "default" if interval.method == cell.answer.default else ""}
            rows.append(row)
    order = {method: i for i, method in enumerate(dict.fromkeys(("strata", *LIVELY, *KINDS)))}
    rows.sort(key=lambda row: ([c.policy for c in cells].index(row["policy"]), order.get(row["method"], 99)))
    share = ".1%"
    tips = {"policy": ("policy", ""), "method": ("method", ""), "uses": ("uses", ""), "estimate": ("estimate", share)}
    tips |= {"low": ("from", share), "high": ("to", share), "width": ("width", share), "guarantee": ("guarantee", "")}
    by: dict[str, Any] = {"y": "method"} if len(cells) == 1 else {"y": "policy", "series": "method"}
    drawn = [row for row in rows if len(cells) <= MANY or row["default"] or row["method"] in LIVELY]
    spec = dots(drawn, x="estimate", title=f"success in {real}", domain=(0.0, 1.0), tips=tips, **by)
    about = (
        f"95% confidence intervals. The default here is {cells[0].answer.default}. Choose a method before you look at "
        "the results: if you take the narrowest interval, the confidence is below 95%."
    )
    about += " The CSV has every method." if len(drawn) < len(rows) else ""
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about + _unsuited(cells))


def _unsuited(cells: list[Bounded]) -> str:
    """Which policies have no interval by which methods, and why: methods of one reason together."""
    methods: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for method in dict.fromkeys(m for cell in cells for m in cell.answer.not_applicable):
        lacking = [cell for cell in cells if method in cell.answer.not_applicable]
        why = lacking[0].answer.not_applicable[method].removeprefix(f"{method} ")
        methods.setdefault((tuple(cell.policy for cell in lacking), why), []).append(method)
    return "".join(
        f" Not given for {listed(list(policies))}: {listed(names)}, because each of them {why}."
        if len(names) > 1
        else f" Not given for {listed(list(policies))}: {names[0]}, because it {why}."
        for (policies, why), names in methods.items()
    )


def _curves(cells: list[Bounded], name: str, title: str) -> Chart:
    rows = []
    for cell in cells:
        assert cell.curve is not None
        alone = {"alone": cell.curve.real_only, "floor": cell.curve.floor}
        for size, width in zip(cell.curve.sizes.tolist(), cell.curve.widths.tolist(), strict=True):
            row = {"policy": cell.policy, "simulated": size, "width": 100 * width}
            rows.append(row | {k: 100 * v for k, v in alone.items()} | {"low": None, "high": None})
    tips = {"policy": ("policy", ""), "simulated": ("simulated scenarios", "d"), "width": ("width, points", ".1f")}
    tips |= {"floor": ("floor, points", ".1f"), "alone": ("real alone, points", ".1f")}
    spec = lines(
        rows, x="simulated", y="width", series="policy", tips=tips, unit="number", domain=None, log=True,
        titles=("simulated scenarios without a real partner", "width of the bound, points"),
        dashed="floor", ticks=sorted({row["simulated"] for row in rows}),
    )  # fmt: skip
    methods = listed(list(dict.fromkeys(cell.curve.method for cell in cells if cell.curve)))
    about = (
        f"Width of the interval by {methods}, for different numbers of simulated scenarios. No number of simulations "
        "brings it below the rectifier floor (dashed, forecast). The difference between simulation and reality sets "
        "this floor."
    )
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)


def _sheet(cells: list[Bounded], name: str, title: str) -> Sheet:
    """A line for every policy: its bound, what simulation does to its width, and real trials saved."""
    rows: list[list[Any]] = []
    for cell in cells:
        interval, diagnostics, saved = cell.default, cell.default.diagnostics, cell.saved
        rho, widths = diagnostics.get("correlation"), [diagnostics["width_real"], diagnostics["width_sim"]]
        widths.append(None if cell.curve is None else cell.curve.floor)
        ends = f"{interval.low or 0.0:.0%} to {interval.high or 0.0:.0%}"
        row = [cell.policy, ends, diagnostics["n"], diagnostics["n_extra"]]
        row += ["" if rho is None else f"{rho:.2f}", *("" if w is None else f"{100 * w:.1f}" for w in widths)]
        row += ["", ""] if saved is None else [saved.best, f"{saved.best - saved.n:+d}".replace("-", "−")]
        rows.append(row)
    columns = ["policy", "success, 95%", "real", "sim", "correlation"]
    columns += ["width alone", "width with", "floor", "needs", "saved"]
    methods = listed(list(dict.fromkeys(cell.default.method for cell in cells)))
    about = (
        f"Real success by {methods}, from real trials and further simulated scenarios. Widths are in points: with "
        "real trials alone, with simulation, and the rectifier floor. Needs: the number of real trials that the best "
        "method without simulation needs for the same width. Saved: this number minus the real trials that were run; "
        "below zero, simulation makes the interval wider. Both are forecasts by resampling the real trials"
    )
    left = sum(cell.saved is None for cell in cells)
    about += f"; {counted(left, 'policy has', 'policies have')} no forecast." if left else "."
    return Sheet(name=name, title=title, columns=columns, rows=rows, right=columns[2:], about=about)
