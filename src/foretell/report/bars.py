"""Bars of counted episodes, one below the other: Vega-Lite specifications built with Altair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foretell.report.charts import Tips

__all__ = ["bars"]

Row = Mapping[str, Any]


def bars(
    rows: Sequence[Row],
    *,
    y: str,
    x: str,
    title: str,
    tips: Tips,
    parts: str | None = None,
    order: Sequence[str] = (),
    ordered: bool = False,
    share: bool = False,
) -> dict[str, Any]:
    """A bar for every `y`, of length `x`; `parts` of it are laid end to end, in `order` and coloured; `ordered` parts
    take shades from pale to deep. `share`: lengths are shares of one."""
    import altair as alt

    names = list(dict.fromkeys(str(row[y]) for row in rows))
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(nice=True)
    axis = alt.Axis(format=".0%", tickCount=6) if share else alt.Axis(tickMinStep=1, format="~d", tickCount=6)
    tooltips: list[Any] = [
        alt.Tooltip(field, type="quantitative", title=heading, format=form)
        if form
        else alt.Tooltip(field, type="nominal", title=heading)
        for field, (heading, form) in tips.items()
    ]
    coded: dict[str, Any] = {"color": alt.Color("all:N", legend=None)}  # no such field: one colour, the first
    if parts:
        shades: dict[str, Any] = {"range": "ordinal"} if ordered else {}
        legend = alt.Legend(title=None, orient="top", columns=len(order), symbolType="square", labelLimit=260)
        coded = {
            "color": alt.Color(f"{parts}:N", sort=None, scale=alt.Scale(domain=list(order), **shades), legend=legend),
            "order": alt.Order("place:Q"),
        }
    chart = (
        alt.Chart()
        .mark_bar(height={"band": 0.68})
        .encode(
            y=alt.Y(f"{y}:N", sort=names, title=None),
            x=alt.X(f"{x}:Q", title=title, scale=scale, axis=axis, stack="zero" if parts else None),
            tooltip=tooltips,
            **coded,
        )
        .properties(width="container", height=max(28 * len(names), 56))
    )
    made: dict[str, Any] = chart.to_dict(validate=False)
    made.pop("config", None)
    made["data"] = {"values": [{**row, "place": order.index(row[parts]) if parts else 0} for row in rows]}
    return made
