"""The page of the audit: what published pairs of simulated and real success show, drawn and in tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from foretell.files import require_writable
from foretell.report.charts import dots
from foretell.report.page import needs_extra, page
from foretell.report.section import Chart, Section, Sheet, Words
from foretell.reproduction.audit import REACHES, Audited
from foretell.reproduction.audit_page import COLUMNS, RULE, apart, line, totals

__all__ = ["charts", "write_audit"]


def write_audit(rows: Sequence[Audited], path: str | Path) -> Path:
    """Write the audit as one HTML file."""
    needs_extra()
    path = Path(path)
    require_writable(path, "out")
    sections = [_decisions(rows), _correlations(rows), _printed(rows), _sources(rows)]
    contents = {
        "title": "Simulation against reality in published papers",
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "foretell": version("foretell"),
        "runs": [],
        "sections": [section.to_dict() for section in sections],
        "episodes": {"count": 0},
        "notes": [],
    }
    path.write_text(page(contents), encoding="utf-8")
    return path


def _regrets(rows: Sequence[Audited]) -> list[dict[str, Any]]:
    made = []
    for row in rows:
        if row.picked is None or not row.picked.points:
            continue
        regret = row.picked.decision.regret
        if regret.low is None or regret.high is None:
            continue
        ends = {"regret": 100.0 * regret.estimate, "low": 100.0 * regret.low, "high": 100.0 * regret.high}
        made.append({"paper": row.name, "claim": row.reach, "trials": row.trials(), **ends})
    return made


def charts(rows: Sequence[Audited]) -> list[Chart]:
    """Forest plots: regret in points, and Pearson's correlation, one line for each panel."""
    tips = {"paper": ("paper", ""), "trials": ("real trials", ""), "claim": ("claim level", "")}
    ends = {"low": ("from", ".2f"), "high": ("to", ".2f")}
    regrets = _regrets(rows)
    spec = dots(
        regrets, y="paper", x="regret", title="regret in points", unit="number", zero=True,
        tips={**tips, "regret": ("regret", ".1f"), **ends},
    )  # fmt: skip
    about = (
        "Points of real success lost by taking simulation's best policy, with 95% intervals, furthest claims first. "
        "Other panels have no interval, because the papers do not say how many trials their rates rest on."
    )
    first = Chart(name="regret", title="What picking by simulation costs", spec=spec, rows=regrets, about=about)
    values = [
        {"paper": row.name, "claim": row.reach, "trials": row.trials(), "pearson": row.pearson.estimate}
        | {
            "low": row.pearson.low,
            "high": row.pearson.high,
            "interval": "over points" if row.trials() == "unknown" else "over trials",
        }
        for row in rows
    ]
    more = {"pearson": ("Pearson", ".3f"), **ends, "interval": ("interval", "")}
    spec = dots(
        values, y="paper", x="pearson", title="Pearson's r", unit="number", domain=(-1.0, 1.0), series="interval",
        tips={**tips, **more},
    )  # fmt: skip
    about = "Over trials where their numbers are known. Otherwise over points, as if these were independent policies."
    return [first, Chart(name="pearson", title="Correlations with intervals", spec=spec, rows=values, about=about)]


def _decisions(rows: Sequence[Audited]) -> Section:
    sheets = [
        Sheet(
            name=f"claim-{i}",
            title=f"Claim level: {reach}",
            columns=list(COLUMNS),
            rows=[line(row) for row in rows if row.reach == reach],
            right=list(COLUMNS[4:]),
        )
        for i, reach in enumerate(REACHES)
        if any(row.reach == reach for row in rows)
    ]
    return Section("decisions", "Decisions", totals(rows), [charts(rows)[0], *sheets, Words(RULE), Words(apart(rows))])


def _correlations(rows: Sequence[Audited]) -> Section:
    low = sum(row.pearson.low is not None and row.pearson.low > 0.5 for row in rows)
    says = f"In {low} of {len(rows)} panels the interval of Pearson's r lies above 0.5."
    return Section("correlations", "Correlations", says, [charts(rows)[1]])


def _printed(rows: Sequence[Audited]) -> Section:
    figures = [figure for row in rows for figure in row.figures]
    agree = sum(bool(figure.agrees) for figure in figures)
    columns = ["paper", "what", "printed", "ours", "agrees", "note"]
    lines = [
        [f.table, f.figure, f"{f.published}", f"{f.recomputed:.4f}", "yes" if f.agrees else "no", f.note]
        for f in figures
        if isinstance(f.recomputed, float)
    ]
    sheet = Sheet(name="printed", title="Printed coefficients", columns=columns, rows=lines, right=columns[2:4])
    return Section("printed", "Printed beside ours", f"{agree} of {len(figures)} follow from the points.", [sheet])


def _sources(rows: Sequence[Audited]) -> Section:
    cited = dict.fromkeys((row.matrix.paper, row.matrix.cited) for row in rows)
    sheet = Sheet(
        name="sources", title="Sources", columns=["name", "where from"], rows=[list(c) for c in sorted(cited)]
    )
    return Section("sources", "Sources", "Every number is a fact printed or drawn in one of these papers.", [sheet])
