"""Charts, all of one look: Vega-Lite specifications with their data in them, built with Altair.

Widths are the container's. No colour is written here: the page's theme, or paper's, has those of text, of axes and of
series, which people with any colour vision tell apart; series beyond its ten differ in shape as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from foretell.report.labels import LETTER, apart, around, beside

if TYPE_CHECKING:
    import altair as alt

__all__ = ["cells", "dots", "lines", "radar", "scatter", "slopes", "slug", "spans"]

Row = Mapping[str, Any]
Spec = dict[str, Any]
Tips = Mapping[str, tuple[str, str]]
"""Field -> what the tooltip calls it, and how a number is written (d3-format); text has none."""

COLOURS = 10
"""Of a theme's series."""
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
AXES: dict[str, dict[str, Any]] = {
    "share": {"format": ".0%"},
    "points": {"labelExpr": "datum.value == 0 ? '0' : format(datum.value, '+.0f')"},
    "number": {"format": ".4~g"},
    "rank": {"format": "d"},
}
"""Unit -> how its axis is written."""
LABELS = 260
"""Pixels, at most, of a name."""
FAINT: dict[str, Any] = {"opacity": 0.35, "strokeWidth": 1}
BESIDE, AROUND = "beside", "around"
"""Styles of words that reach beyond the plot on the right, and of a radar's: the page leaves room for them."""


def slug(*parts: str) -> str:
    """A chart's name: lower case, dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(p for p in parts if p).lower()).strip("-") or "chart"


@contextmanager
def _building() -> Iterator[Any]:
    """Altair without its checks of every part against the schema, which take longer than all else: tests make them."""
    import altair
    from altair.utils import schemapi

    with (
        schemapi.debug_mode(False),
        altair.data_transformers.enable("default", consolidate_datasets=False, max_rows=None),
    ):
        yield altair


def _spec(layers: Sequence[alt.Chart], rows: Sequence[Row] | None, height: float) -> Spec:
    """Layers as one specification, as wide as its container. `rows` is the data of layers that have none."""
    import altair

    data = {} if rows is None else {"data": altair.InlineData(values=[dict(row) for row in rows])}
    whole = altair.layer(*layers, **data).properties(width="container", height=round(height))
    made: Spec = whole.to_dict(validate=False)
    made.pop("config", None)
    return made


def _data(rows: Sequence[Row]) -> alt.Chart:
    import altair

    return altair.Chart(altair.InlineData(values=[dict(row) for row in rows]))


def _names(rows: Sequence[Row], field: str) -> list[str]:
    return list(dict.fromkeys(str(row[field]) for row in rows))


def _coded(names: Sequence[str], field: str, legend: bool = True) -> dict[str, Any]:
    """Encodings that tell series apart: colour, and where the theme has too few, shape."""
    import altair as alt

    shown = alt.Legend(title=None, orient="top", columns=4, symbolLimit=40, symbolOpacity=1, labelLimit=LABELS)
    place: Any = shown if legend and len(names) > 1 else None
    forms = [SHAPES[(i // COLOURS) % len(SHAPES)] for i in range(len(names))]
    coded: dict[str, Any] = {"color": alt.Color(f"{field}:N", scale=alt.Scale(domain=list(names)), legend=place)}
    if len(names) > COLOURS:
        scale = alt.Scale(domain=list(names), range=forms)
        coded["shape"] = alt.Shape(f"{field}:N", scale=scale, legend=place)
    return coded


def _tips(tips: Tips) -> list[alt.Tooltip]:
    import altair as alt

    return [
        alt.Tooltip(field, type="quantitative", title=title, format=form)
        if form
        else alt.Tooltip(field, type="nominal", title=title)
        for field, (title, form) in tips.items()
    ]


def _sound(chart: alt.Chart, *fields: str) -> alt.Chart:
    """Only rows that have these: an interval may lack an end."""
    return chart.transform_filter(" && ".join(f"isValid(datum.{field})" for field in fields))


def dots(
    rows: Sequence[Row],
    *,
    y: str,
    x: str,
    title: str,
    tips: Tips,
    ends: tuple[str, str] = ("low", "high"),
    unit: str = "share",
    series: str | None = None,
    domain: tuple[float, float] | None = None,
    zero: bool = False,
    text: str | None = None,
) -> Spec:
    """A dot with its interval for every `y`, one below the other; `series` are set side by side and coloured. `zero`
    draws a line at 0; `text` is a field written beside the interval."""
    with _building() as alt:
        names, groups = _names(rows, series) if series else [], _names(rows, y)
        scale = alt.Scale(domain=list(domain), nice=False) if domain else alt.Scale(zero=zero, padding=10)
        at: dict[str, Any] = {"y": alt.Y(f"{y}:N", sort=groups, title=None, axis=alt.Axis(labelLimit=LABELS))}
        coded: dict[str, Any] = {}
        if series:
            at["yOffset"] = alt.YOffset(f"{series}:N", sort=names)
            coded = _coded(names, series)

        def across(field: str) -> Any:
            return alt.X(f"{field}:Q", scale=scale, title=title, axis=alt.Axis(tickCount=6, **AXES[unit]))

        tooltips = _tips(tips)
        bar = _sound(alt.Chart(), *ends).mark_bar(height=3, opacity=0.55)
        shade = {"color": coded["color"]} if series else {}
        layers = [
            bar.encode(x=across(ends[0]), x2=f"{ends[1]}:Q", tooltip=tooltips, **shade, **at),
            _sound(alt.Chart(), x)
            .mark_point(filled=True, size=80, opacity=1)
            .encode(x=across(x), tooltip=tooltips, **coded, **at),
        ]
        if text:
            lines: dict[str, Any] = {"lineBreak": "\n", "lineHeight": 12}  # two fit where a name stands
            words = alt.Chart().mark_text(style=BESIDE, align="left", dx=9, fontWeight=600, **lines)
            layers.append(words.encode(x=across(ends[1]), text=f"{text}:N", **at))
        if zero:
            layers.insert(0, _data([{"at": 0}]).mark_rule(strokeDash=[4, 4]).encode(x=across("at")))
        step = 14 * len(names) + 12 if series else 28
        return _spec(layers, rows, max(step * len(groups), 56))


def lines(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    series: str,
    titles: tuple[str, str],
    tips: Tips,
    ends: tuple[str, str] = ("low", "high"),
    unit: str = "share",
    domain: tuple[float, float] | None = (0.0, 1.0),
    log: bool = False,
    ticks: Sequence[float] | None = None,
    dashed: str | None = None,
) -> Spec:
    """A line for each of `series`, its points with their intervals. `dashed`: a level of each, drawn across."""
    with _building() as alt:
        coded = _coded(_names(rows, series), series)
        span = alt.Scale(type="log", nice=False, padding=14) if log else alt.Scale(zero=False, padding=14)
        axis = alt.Axis(grid=False, **AXES["number"], **({"values": list(ticks)} if ticks else {"tickCount": 6}))
        across = alt.X(f"{x}:Q", title=titles[0], axis=axis, scale=span)
        scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=True)

        def up(field: str) -> Any:
            return alt.Y(f"{field}:Q", title=titles[1], scale=scale, axis=alt.Axis(tickCount=6, **AXES[unit]))

        bar = _sound(alt.Chart(), *ends).mark_rule(strokeWidth=2, opacity=0.35)
        layers = [
            alt.Chart().mark_line(strokeWidth=2).encode(x=across, y=up(y), color=coded["color"]),
            bar.encode(x=across, y=up(ends[0]), y2=f"{ends[1]}:Q", color=coded["color"]),
            alt.Chart()
            .mark_point(filled=True, size=65, opacity=1)
            .encode(x=across, y=up(y), tooltip=_tips(tips), **coded),
        ]
        if dashed:
            level = _data(list({row[series]: row for row in rows}.values())).mark_rule(strokeDash=[5, 4], opacity=0.6)
            layers.insert(0, level.encode(y=up(dashed), color=coded["color"]))
        return _spec(layers, rows, 300)


def scatter(rows: Sequence[Row], *, label: str, titles: tuple[str, str], tips: Tips) -> Spec:
    """Fields sim, sim_low, sim_high across and real, real_low, real_high upwards, and the line where both agree."""
    height = 420.0
    labels = beside([(str(row[label]), (float(row["sim"]), float(row["real"]))) for row in rows], height)
    with _building() as alt:
        scale = alt.Scale(domain=[0, 1], nice=False)
        share = alt.Axis(tickCount=6, **AXES["share"])

        def at(sim: str, real: str) -> dict[str, Any]:
            across, up = (alt.X, sim, titles[0]), (alt.Y, real, titles[1])
            return {
                name: channel(f"{field}:Q", scale=scale, axis=share, title=title)
                for name, (channel, field, title) in {"x": across, "y": up}.items()
            }

        coded, tooltips = _coded(_names(rows, label), label, legend=False), _tips(tips)
        bar: dict[str, Any] = {"strokeWidth": 2.5, "opacity": 0.4}
        shade = {"color": coded["color"], "tooltip": tooltips}
        layers = [
            _data([{"sim": v, "real": v} for v in (0, 1)])
            .mark_line(strokeDash=[4, 4], strokeWidth=1, opacity=0.6)
            .encode(**at("sim", "real"), color=alt.value("gray")),
            alt.Chart().mark_rule(**bar).encode(**at("sim_low", "real"), x2="sim_high:Q", **shade),
            alt.Chart().mark_rule(**bar).encode(**at("sim", "real_low"), y2="real_high:Q", **shade),
            alt.Chart()
            .mark_point(filled=True, size=100, opacity=1)
            .encode(**at("sim", "real"), tooltip=tooltips, **coded),
        ]
        for left, sign in ((True, -1), (False, 1)):
            mine = [tag for tag in labels if tag.left is left]
            names = _data(
                [
                    {label: tag.names[0], "said": tag.text, "all": ", ".join(tag.names), "written": tag.at}
                    | {"sim": tag.point[0], "real": tag.point[1]}
                    for tag in mine
                ]
            )
            if mine:
                thread = names.mark_rule(strokeWidth=1, x2Offset=8 * sign)
                layers += [
                    thread.encode(**at("sim", "real"), x2="sim:Q", y2="written:Q", color=coded["color"]),
                    names.mark_text(align="right" if left else "left", dx=10 * sign, limit=LABELS).encode(
                        **at("sim", "written"), text="said:N", tooltip=alt.Tooltip("all:N", title=label)
                    ),
                ]
        return _spec(layers, rows, height)


def slopes(rows: Sequence[Row], *, label: str, kind: str, sides: tuple[str, str], title: str, tips: Tips) -> Spec:
    """A line for each `label` from one side to the other (fields side and value), coloured by `kind`."""
    with _building() as alt:
        place = alt.Scale(type="point", padding=0.15)
        across = alt.X("side:N", sort=list(sides), title=None, scale=place, axis=alt.Axis(labelAngle=0, ticks=False))
        up = alt.Y("value:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(**AXES["share"]))
        coded = _coded(sorted(_names(rows, kind), reverse=True), kind)
        base = alt.Chart().encode(x=across, y=up, color=coded["color"], tooltip=_tips(tips))
        before = {row[label]: row["value"] for row in rows if row["side"] == sides[0]}
        ends = [row for row in rows if row["side"] == sides[1]]
        ends.sort(key=lambda row: (row["value"], before.get(row[label], 0.0)))  # of equals, as their lines come in
        spread = apart([float(row["value"]) for row in ends], 0.05)
        names = _data([{**row, "written": at} for row, at in zip(ends, spread, strict=True)])
        thread = names.mark_rule(strokeWidth=1, x2Offset=16).encode(x2="side:N", y=up, y2="written:Q")
        layers = [
            base.mark_line(strokeWidth=2).encode(detail=f"{label}:N"),
            thread.encode(x=across, color=coded["color"]),
            base.mark_point(filled=True, size=75, opacity=1),
            names.mark_text(style=BESIDE, align="left", dx=20, limit=LABELS).encode(
                x=across, y=alt.Y("written:Q", title=title), text=f"{label}:N"
            ),
        ]
        return _spec(layers, rows, 340)


def cells(
    rows: Sequence[Row], *, y: str, x: str, kind: str, kinds: Sequence[str], text: str, order: Sequence[str], tips: Tips
) -> Spec:
    """A number for every pair, on a square of the colour of its `kind` where that is one of `kinds`."""
    with _building() as alt:
        axis: dict[str, Any] = {"ticks": False, "domain": False, "labelLimit": LABELS}
        top = alt.Axis(orient="top", labelAngle=-40, **axis)
        base = alt.Chart().encode(
            x=alt.X(f"{x}:N", sort=list(order), title=None, axis=top, scale=alt.Scale(paddingInner=0.04)),
            y=alt.Y(f"{y}:N", sort=list(order), title=None, axis=alt.Axis(**axis), scale=alt.Scale(paddingInner=0.1)),
            tooltip=_tips(tips),
        )
        legend = alt.Legend(title=None, orient="bottom")
        colour = alt.Color(f"{kind}:N", scale=alt.Scale(domain=list(kinds)), legend=legend)
        known = base.transform_filter(alt.FieldOneOfPredicate(field=kind, oneOf=list(kinds)))
        square = known.mark_rect(cornerRadius=3, opacity=0.45).encode(color=colour)
        return _spec([square, base.mark_text(fontSize=11).encode(text=f"{text}:N")], rows, 28 * len(order))


def spans(rows: Sequence[Row], marks: Sequence[Row], *, lanes: Sequence[str], length: float, tips: Tips) -> Spec:
    """Lanes from top to bottom, time from left to right. Rows have lane, start, end and shade; marks only a start."""
    with _building() as alt:
        reach = alt.Scale(domain=[0, length], nice=False, clamp=True)
        across = alt.X("start:Q", scale=reach, title="simulated time, s", axis=alt.Axis(format="~g"))
        at: dict[str, Any] = {
            "x": across,
            "y": alt.Y("lane:N", sort=list(lanes), title=None, axis=alt.Axis(grid=True, tickBand="extent")),
            "color": alt.Color("shade:O", scale=alt.Scale(range="category", domain=[0, 1, 2, 3, 4, 5]), legend=None),
            "tooltip": _tips(tips),
        }
        layers = [
            _data(rows).mark_bar(height=18, cornerRadius=2, clip=True).encode(x2="end:Q", **at),
            _data(marks).mark_tick(thickness=2, size=18, clip=True).encode(**at),
        ]
        return _spec(layers, None, 36 * len(lanes))


def radar(rows: Sequence[Row], *, axis: str, series: str, value: str, tips: Tips) -> Spec:
    """A spoke for each `axis`, a closed line for each of `series`; 0 is in the middle, 1 on the rim. It is round, and
    as large as leaves room for the names around it."""
    spokes = _names(rows, axis)
    turn = {name: 2.0 * math.pi * i / len(spokes) for i, name in enumerate(spokes)}

    def at(angle: float, r: float) -> dict[str, float]:
        return {"x": round(r * math.sin(angle), 4), "y": round(r * math.cos(angle), 4)}

    points = [
        {**row, **at(turn[str(row[axis])], float(row[value])), "turn": turn[str(row[axis])]}
        for row in rows
        if row[value] is not None
    ]
    points += [{**row, "turn": 2.0 * math.pi} for row in points if row["turn"] == 0.0]  # back to where it began
    levels = (0.25, 0.5, 0.75, 1.0)
    rings = [{"guide": r, "turn": i, **at(math.pi * i / 30, r)} for r in levels for i in range(61)]
    rays = [{"guide": name, "turn": i, **at(turn[name], i)} for name in spokes for i in (0, 1)]
    rim = [(name, at(turn[name], 1.08)) for name in spokes]
    sides = {"left": (0.1, 2.0), "center": (-0.1, 0.1), "right": (-2.0, -0.1)}  # alignment -> where to find them
    words: dict[str, list[Row]] = {}
    for align, (low, high) in sides.items():
        mine = [(name, (spot["x"], spot["y"])) for name, spot in rim if low <= spot["x"] < high]
        places = [spot for _, spot in mine] if align == "center" else around([spot for _, spot in mine], 0.17)
        words[align] = [{"said": name, "x": x, "y": y} for (name, _), (x, y) in zip(mine, places, strict=True)]
    besides = [word for align in ("left", "right") for word in words[align]]
    room = [f"(width / 2 - {len(word['said']) * LETTER + 6:.0f}) / {abs(word['x']):.4f}" for word in besides]
    radius = f"max(min(0.2 * width, height / 2.6), min({', '.join(['height / 2.6', *room])}))"  # pixels
    with _building() as alt:
        reach = [f"{length} / 2 / radius" for length in ("width", "height")]
        scales = [alt.Scale(domain=[{"expr": f"-{r}"}, {"expr": r}], nice=False, zero=False) for r in reach]
        place: dict[str, Any] = {
            "x": alt.X("x:Q", scale=scales[0], axis=None),
            "y": alt.Y("y:Q", scale=scales[1], axis=None),
        }
        coded = _coded(_names(rows, series), series)
        drawn = _data(points).encode(**place)

        def guide(rows: list[Row]) -> Any:
            thin = _data(rows).mark_line(**FAINT)
            return thin.encode(detail="guide:N", order="turn:Q", color=alt.value("gray"), **place)

        def text(rows: list[Row], **how: Any) -> Any:
            return _data(rows).mark_text(baseline="middle", **how).encode(text="said:N", **place)

        marks: list[Row] = [{"said": f"{r:.0%}", **at(math.pi / len(spokes), r)} for r in (0.5, 1.0)]
        layers = [
            guide([*rings]),
            guide([*rays]),
            text(marks, align="center", fontSize=10, opacity=0.75),
            drawn.mark_line(strokeWidth=2.5, opacity=0.9).encode(color=coded["color"], order="turn:Q"),
            drawn.mark_point(filled=True, size=60, opacity=1).encode(tooltip=_tips(tips), **coded),
            *(text(mine, style=AROUND, align=align) for align, mine in words.items() if mine),
        ]
        return {**_spec(layers, None, 400), "params": [{"name": "radius", "expr": radius}]}
