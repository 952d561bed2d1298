"""The page of a fit: motion before and after, losses, parameters with their intervals, and what is left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.identify import Fitted, Identified
from foretell.registry import resolve
from foretell.report.charts import lines
from foretell.report.page import needs_extra, page
from foretell.report.section import Chart, Section, Sheet, Words

__all__ = ["write_fit"]

DRAWN = 3
"""Recordings whose motion the page draws: the held-out ones first."""
LOSSES = (("translation", "tool, mm", 1e3), ("rotation", "tool, mrad", 1e3), ("joints", "joints, mrad", 1e3))


def write_fit(identified: Identified, path: str | Path) -> Path:
    """Write the page of a fit as one HTML file."""
    needs_extra()
    if identified.fitted is None:
        raise UsageError("identify: nothing was fitted, so there is no page to write")
    path = Path(path)
    path.write_text(page(_contents(identified, identified.fitted)), encoding="utf-8")
    return path


def _contents(identified: Identified, fitted: Fitted) -> dict[str, Any]:
    sections = [_follows(fitted), _motion(identified, fitted), _parameters(fitted), _left(fitted)]
    return {
        "title": fitted.world.name,
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "foretell": version("foretell"),
        "runs": [],
        "sections": [section.to_dict() for section in sections],
        "episodes": {"count": 0},
        "notes": [*fitted.notes, *identified.notes],
    }


def _follows(fitted: Fitted) -> Section:
    rows = []
    known = [loss for loss in LOSSES if any(loss[0] in losses for losses in fitted.before.values())]
    for name in [*fitted.training, *fitted.held_out]:
        row = [name, "held out" if name in fitted.held_out else "training"]
        for loss, _, scale in known:
            for table in (fitted.before, fitted.after):
                row.append(f"{scale * table[name][loss]:.3f}" if loss in table[name] else "")
        rows.append(row)
    columns = ["recording", "used for", *(f"{label}, {when}" for _, label, _ in known for when in ("before", "after"))]
    sheet = Sheet(
        name="losses",
        title="Losses of each recording",
        columns=columns,
        rows=rows,
        right=columns[2:],
        about="Means over the actions: distance of the tool and half its angle (equations 3 and 4 of SIMPLER's paper), "
        "and the root mean square of the joints.",
    )
    return Section("follows", "How closely the world follows", _summary(fitted), [sheet])


def _summary(fitted: Fitted) -> str:
    names, where = (fitted.held_out, "held-out") if fitted.held_out else (fitted.training, "training")
    loss = "translation" if fitted.mean(names, "translation", True) is not None else "joints"
    before, after = fitted.mean(names, loss, False), fitted.mean(names, loss, True)
    assert before is not None and after is not None
    unit = "mm" if loss == "translation" else "mrad"
    return f"On {where} recordings the {loss} error falls from {1e3 * before:.2f} to {1e3 * after:.2f} {unit}."


def _motion(identified: Identified, fitted: Fitted) -> Section:
    names = [*fitted.held_out, *fitted.training][:DRAWN]
    order = [recording.name for recording in fitted.recordings]
    kind = resolve("robots", identified.robot)
    joints = [joint for group in kind.groups.values() for joint in group.joints]
    charts = []
    for name in names:
        at = order.index(name)
        recording, before, after = fitted.recordings[at], fitted.motions[0][at], fitted.motions[1][at]
        rows: list[dict[str, Any]] = []
        for series, motion in (("before", before), ("after", after)):
            if recording.ee is not None:
                apart = 1e3 * np.linalg.norm(motion.pos - recording.ee[:, :3], axis=1)
            else:
                apart = 1e3 * np.sqrt(np.mean((motion.q - recording.q) ** 2, axis=1))
            rows += [_point(action, value, series) for action, value in enumerate(apart.tolist())]
        title = "distance of the tool, mm" if recording.ee is not None else "joints apart, mrad"
        charts.append(_chart(f"error-{name}", f"{name}: {title}", rows, title))
        if recording.has_joints:
            charts.append(_worst(recording.q, before.q, after.q, joints, name))
        elif recording.ee is not None:
            axes = [f"tool {axis}" for axis in "xyz"]
            charts.append(_worst(recording.ee[:, :3], before.pos, after.pos, axes, name))
    return Section(
        "motion", "Motion", "Recorded motion, and the same actions replayed before and after the fit.", charts
    )


def _worst(recorded: np.ndarray, before: np.ndarray, after: np.ndarray, names: Sequence[str], title: str) -> Chart:
    """The joint, or axis of the tool, (T + 1, names) that the unfitted world follows worst."""
    worst = int(np.argmax(np.abs(before - recorded).max(axis=0)))
    rows: list[dict[str, Any]] = []
    # recorded last, so that before and after have the colours of the errors
    for series, values in (("before", before), ("after", after), ("recorded", recorded)):
        rows += [_point(action, value, series) for action, value in enumerate(values[:, worst].tolist())]
    return _chart(f"joint-{title}", f"{title}: {names[worst]}, which was followed worst", rows, "position, rad or m")


def _point(action: int, value: float, series: str) -> dict[str, Any]:
    return {"action": action, "value": value, "series": series, "low": value, "high": value}


def _chart(name: str, title: str, rows: Sequence[dict[str, Any]], up: str) -> Chart:
    tips = {"series": ("motion", ""), "action": ("action", "d"), "value": (up, ".3f")}
    spec = lines(
        rows, x="action", y="value", series="series", titles=("action", up), tips=tips, unit="number", domain=None
    )
    return Chart(name=name, title=title, spec=spec, rows=rows)


def _parameters(fitted: Fitted) -> Section:
    columns = ["parameter", "unit", "before", "fitted", "95% interval", "effect, mm or mrad", "identified"]
    rows = [
        [p.name, p.unit, f"{p.before:.3f}", f"{p.value:.3f}", f"{p.low:.3f} to {p.high:.3f}", f"{1e3 * p.effect:.3f}",
         "yes" if p.identified else f"no: {p.why}"]
        for p in fitted.parameters
    ]  # fmt: skip
    about = (
        "Intervals leave one recording out at a time, and end where the search ends. The effect is the change of the "
        "motion if a multiplier changes by a tenth, friction by 0.25 N m, or the delay by two ticks. A "
        "multiplier (x) is relative to the robot's published number."
    )
    sheet = Sheet(name="parameters", title="Parameters", columns=columns, rows=rows, right=columns[2:6], about=about)
    blocks: list[Sheet | Words] = [sheet]
    if fitted.ratios:
        pairs = [[" / ".join(r.names), f"{r.value:.3f}", f"{r.low:.3f} to {r.high:.3f}"] for r in fitted.ratios]
        columns = ["ratio", "fitted", "95% interval"]
        title = "Ratios of parameters that the recordings cannot tell apart"
        blocks.append(Sheet(name="ratios", title=title, columns=columns, rows=pairs, right=columns[1:]))
    count = sum(p.identified for p in fitted.parameters)
    return Section(
        "parameters", "What was fitted", f"The recordings identify {count} of {len(rows)} parameters.", blocks
    )


def _left(fitted: Fitted) -> Section:
    columns = ["output", "rms, mm or mrad", "correlation of successive residuals"]
    ranked = sorted(fitted.unexplained, key=lambda u: -u.rms)
    rows = [[u.output, f"{1e3 * u.rms:.3f}", f"{u.linked:.2f}"] for u in ranked]
    about = "Noise has a correlation near 0. A value near 1 is motion that no fitted parameter explains."
    sheet = Sheet(
        name="left", title="Residuals after the fit", columns=columns, rows=rows, right=columns[1:], about=about
    )
    linked = [u for u in ranked if u.linked > 0.5]
    says = "What is left looks like noise."
    if linked:
        says = f"{linked[0].output} moves in a way that no fitted parameter explains."
    return Section("left", "What no parameter explains", says, [sheet])
