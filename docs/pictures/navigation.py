"""Draws pictures/navigation_tuned.png from what `foretell tune studies/predict_navigation.yaml --stand-in` wrote.

python docs/pictures/navigation.py runs/predict_navigation-tune
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import altair as alt

TITLES = {"before": "planar_challenge: sliding on, no noise", "after": "tuned: sliding off, noise 0 to 0.5"}


def panel(rows: list[dict[str, Any]], title: str) -> Any:
    axis = alt.Scale(domain=[0, 1])
    base = alt.Chart(alt.Data(values=rows))
    line = alt.Chart(alt.Data(values=[{"v": 0}, {"v": 1}])).mark_line(color="#bbb", strokeDash=[4, 4])
    diagonal = line.encode(
        x=alt.X("v:Q", title="simulated SPL", scale=axis), y=alt.Y("v:Q", title="SPL in the stand-in")
    )
    place = {"x": alt.X("sim:Q", scale=axis), "y": alt.Y("real:Q", scale=axis)}
    dots = base.mark_circle(size=70, opacity=1).encode(color=alt.Color("kind:N", legend=None, scale=COLOURS), **place)
    names = [
        alt.Chart(alt.Data(values=[row]))
        .mark_text(align="left", dx=7, dy=BESIDE.get(row["agent"], -5), fontSize=11)
        .encode(text="agent:N", **place)
        for row in rows
    ]
    return alt.layer(diagonal, dots, *names).properties(width=420, height=340, title=title)


BESIDE = {"bug": 3, "nav-careful": 14, "goal-follower": -20, "nav-few": -31}
"""Pixels that a name stands below its point, where names would overlap."""
COLOURS = alt.Scale(domain=["script", "learned", "slides"], range=["#4c78a8", "#59a14f", "#e4572e"])


def main(folder: str) -> None:
    rates = json.loads((Path(folder) / "tune.json").read_text())["rates"]["pointnav"]
    panels = []
    for when, title in TITLES.items():
        rows = []
        for agent, values in rates.items():
            kind = "slides" if agent in ("bumper", "nav-slide") else "learned" if agent.startswith("nav-") else "script"
            rows.append({"agent": agent, "kind": kind, "sim": values[when], "real": values["real"]})
        panels.append(panel(rows, title))
    chart = alt.hconcat(*panels).configure_view(stroke=None).configure_title(anchor="start")
    chart.save(str(Path(__file__).with_name("navigation_tuned.png")), scale_factor=1.6)


if __name__ == "__main__":
    main(sys.argv[1])
