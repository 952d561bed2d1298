"""The page of a tuned simulator: before and after, the landscape of θ, and what was held out."""

from __future__ import annotations

import math
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from foretell.report.charts import dots, lines, scatter, slug
from foretell.report.page import needs_extra, page
from foretell.report.section import Block, Chart, Section, Sheet
from foretell.tune.space import Tunable
from foretell.tune.tuned import Tuned

__all__ = ["sections", "write_tuned"]

SERIES = 6
"""Lines of a chart, at most."""


def write_tuned(tuned: Tuned, path: str | Path) -> Path:
    """Write the page of a tuned simulator as one HTML file."""
    needs_extra()
    path = Path(path)
    contents = {
        "title": f"{tuned.study}: tuned",
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "foretell": version("foretell"),
        "runs": [],
        "sections": [section.to_dict() for section in sections(tuned)],
        "episodes": {"count": 0},
        "notes": list(tuned.notes),
    }
    path.write_text(page(contents), encoding="utf-8")
    return path


def sections(tuned: Tuned) -> list[Section]:
    """The parts of the page."""
    return [_shown(tuned), _policies(tuned), _landscape(tuned), _theta(tuned)]


def _shown(tuned: Tuned) -> Section:
    rows = [
        ["the data it was fitted to", *(_number(v) for v in tuned.fitted), ""],
        ["held-out data", *(_number(v) for v in tuned.held_out), tuned.change(tuned.improvement)],
        ["held-out data, for policies like these", "", "", tuned.change(tuned.for_others)],
    ]
    columns = ["on", "before", "tuned", "improvement, with its interval"]
    about = (
        f"Held out: {tuned.checked}. Scenarios are resampled with all policies and both worlds in them; "
        "intervals are asymptotic. The value on the data it was fitted to is too good to be true."
    )
    sheet = Sheet(
        name="improvement",
        title=f"{tuned.objective.metric} of {tuned.of}",
        columns=columns,
        rows=rows,
        right=columns[1:],
        about=about,
    )
    return Section("improvement", "Does the tuned simulator predict better?", tuned.verdict(), [sheet])


def _policies(tuned: Tuned) -> Section:
    charts: list[Block] = []
    for task, (real, *worlds) in tuned.rates.items():
        for when, sim in zip(("before", "after"), worlds, strict=True):
            rows = [
                {"policy": policy, "real": float(a), "sim": float(b)}
                for policy, a, b in zip(tuned.judging, real, sim, strict=True)
            ]
            name, title = slug(when, task), f"{task}, {when}: real and simulated {tuned.of} of each policy"
            charts.append(Chart(name=name, title=title, spec=_against(rows, tuned.of), rows=rows))
    says = "Each point is a policy. After tuning, each is simulated in a world that was not fitted to it."
    return Section("policies", "Before and after", says, charts)


def _against(rows: list[dict[str, Any]], of: str) -> dict[str, Any]:
    """Simulated across, real upwards; metrics on another scale than 0 to 1 as dots, real beside simulated."""
    values = [row[side] for row in rows for side in ("real", "sim")]
    tips = {"policy": ("policy", ""), "sim": (f"simulated {of}", ".3f"), "real": (f"real {of}", ".3f")}
    if min(values) >= 0.0 and max(values) <= 1.0:
        ends = [{**r, **{f"{s}_{e}": r[s] for s in ("sim", "real") for e in ("low", "high")}} for r in rows]
        return scatter(ends, label="policy", titles=(f"simulated {of}", f"real {of}"), tips=tips)
    beside = [
        {"policy": r["policy"], "world": s, "value": r[s], "low": None, "high": None}
        for r in rows
        for s in ("real", "sim")
    ]
    tips = {"policy": ("policy", ""), "world": ("world", ""), "value": (of, ".4f")}
    return dots(beside, y="policy", x="value", title=of, tips=tips, unit="number", series="world")


def _landscape(tuned: Tuned) -> Section:
    charts: list[Block] = []
    rows = [
        {**{p.name: t.point.get(p.name, p.start) for p in tuned.parameters}, "value": value, "low": None, "high": None}
        for t, value in tuned.tried
        if math.isfinite(value)
    ]
    for p in tuned.parameters:
        known = [row for row in rows if row[p.name] is not None]
        if known:
            spec = _slice(known, p, tuned)
            charts.append(Chart(name=slug("landscape", p.name), title=_title(p, tuned), spec=spec, rows=known))
    best = tuned.objective.metric
    says = f"{best} on all data for each of {len(tuned.tried)} values of θ. The highest of many is partly luck."
    if tuned.objective.sign < 0:
        says = says.replace("highest", "lowest")
    return Section("landscape", "The landscape", says, charts)


def _title(parameter: Tunable, tuned: Tuned) -> str:
    others = [p.name for p in tuned.parameters if p is not parameter]
    return f"{tuned.objective.metric} by {parameter.name}" + (f" (and {', '.join(others)})" if others else "")


def _slice(rows: list[dict[str, Any]], p: Tunable, tuned: Tuned) -> dict[str, Any]:
    """The metric by one parameter, a line for each setting of the others in a grid; dots where there are too many."""
    others = [q.name for q in tuned.parameters if q is not p]
    named = [{**row, "x": row[p.name], "others": _setting(row, others)} for row in rows]
    settings = list(dict.fromkeys(row["others"] for row in named))
    metric = tuned.objective.metric
    tips = {"x": (p.name, ".4g"), "value": (metric, ".3f"), **({"others": ("with", "")} if others else {})}
    if p.kind == "choice" and any(isinstance(row["x"], bool | str) for row in named):
        words = [{**row, "x": str(row["x"])} for row in named]
        tips = {"x": (p.name, ""), "value": (metric, ".3f"), **({"others": ("with", "")} if others else {})}
        series = "others" if 1 < len(settings) <= SERIES else None
        return dots(words, y="x", x="value", title=metric, tips=tips, unit="number", series=series)
    if len(settings) > SERIES:
        named = [{**row, "others": "all others"} for row in _best(named, tuned.objective.sign)]
        tips = {"x": (p.name, ".4g"), "value": (f"best {metric}", ".3f")}
    named.sort(key=lambda row: row["x"])
    values = [row["value"] for row in rows]
    room = 0.05 * (max(values) - min(values)) or 0.05
    return lines(
        named, x="x", y="value", series="others", titles=(p.name, metric), tips=tips, unit="number",
        domain=(min(values) - room, max(values) + room), log=p.values.log,
    )  # fmt: skip


def _best(rows: list[dict[str, Any]], sign: int) -> list[dict[str, Any]]:
    """Of rows with one value of the parameter, the best: what is left if the others are chosen well."""
    best: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["x"] not in best or sign * row["value"] > sign * best[row["x"]]["value"]:
            best[row["x"]] = row
    return list(best.values())


def _setting(row: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name.rpartition('.')[2]} {_cell(row[name])}" for name in names) or "θ"


def _theta(tuned: Tuned) -> Section:
    columns = ["parameter", "before", "tuned", "in the folds"]
    about = "If folds choose different values, the data do not tell them apart."
    sheet = Sheet(name="theta", title="θ", columns=columns, rows=tuned.theta_rows(), right=columns[1:], about=about)
    fitted = len(tuned.world.get("fitted_to", ()))
    says = (
        f"The world lists the {fitted} scenarios and {len(tuned.real_episodes)} real episodes that it was fitted to: "
        "these are no evidence for it again."
    )
    return Section("theta", "What was tuned", says, [sheet])


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "undefined"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
