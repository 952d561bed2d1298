"""Charts: sound Vega-Lite, as wide as their container, themed by the page, and drawn with what they were given."""

from __future__ import annotations

import json
import re
from typing import Any

import altair
import pytest
import vl_convert

from foretell.report import charts
from foretell.report.page import theme

ROWS = [
    {"policy": f"p{i}", "value": i / 12, "low": i / 12 - 0.05, "high": i / 12 + 0.05, "word": "w"} for i in range(12)
]
TIPS = {"policy": ("policy", ""), "value": ("success", ".1%")}


def made() -> dict[str, dict[str, Any]]:
    """Every kind of chart, small."""
    across = [{**row, "x": x, "floor": 0.1} for row in ROWS for x in (1.0, 10.0)]
    both = [
        {**row, **{f"{s}{e}": row["value"] for s in ("sim", "real") for e in ("", "_low", "_high")}} for row in ROWS
    ]
    sides = [
        {**row, "side": side, "kind": "a" if i % 2 else "b"} for i, row in enumerate(ROWS) for side in ("one", "other")
    ]
    pairs = [{"a": a, "b": b, "said": "+3", "kind": "up"} for a in "xyz" for b in "xyz" if a != b]
    around = [{"arm": f"a{i % 4}", "policy": f"p{i // 4}", "value": i / 12} for i in range(12)]
    bars = [{"lane": "think", "start": 0.1 * i, "end": 0.1 * i + 0.05, "shade": i % 3} for i in range(5)]
    return {
        "dots": charts.dots(ROWS, y="policy", x="value", title="success", tips=TIPS, text="word", zero=True),
        "series": charts.dots(ROWS, y="word", x="value", series="policy", title="success", tips=TIPS, domain=(0, 1)),
        "lines": charts.lines(
            across, x="x", y="value", series="policy", titles=("x", "y"), tips=TIPS, log=True, dashed="floor"
        ),
        "scatter": charts.scatter(both, label="policy", titles=("sim", "real"), tips=TIPS),
        "slopes": charts.slopes(sides, label="policy", kind="kind", sides=("one", "other"), title="success", tips=TIPS),
        "cells": charts.cells(
            pairs, y="a", x="b", kind="kind", kinds=("up", "down"), text="said", order="xyz", tips={}
        ),
        "spans": charts.spans(
            bars, [{"lane": "look", "start": 0.2, "shade": 0}], lanes=["look", "think"], length=1, tips={}
        ),
        "radar": charts.radar(around, axis="arm", series="policy", value="value", tips=TIPS),
    }


@pytest.mark.parametrize("kind", sorted(made()))
def test_every_chart_is_sound_and_draws(kind: str) -> None:
    spec = made()[kind]
    altair.Chart.from_dict(spec)  # checks it against the schema
    assert spec["width"] == "container" and spec["height"] > 0 and "config" not in spec
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b", json.dumps(spec)), "the page's theme has the colours"
    json.dumps(spec, allow_nan=False)
    svg = vl_convert.vegalite_to_svg({**spec, "width": 400}, config=theme()["paper"])
    assert svg.count("<path") > 5 and "NaN" not in svg and "undefined" not in svg


def test_twelve_series_differ_in_colour_or_shape() -> None:
    svg = vl_convert.vegalite_to_svg({**made()["series"], "width": 400}, config=theme()["light"])
    dots = re.findall(
        r'<path aria-label="[^"]*policy: (p\d+)[^"]*"[^>]*transform="[^"]*" d="([^"]*)"[^>]*fill="([^"]*)"', svg
    )
    looks = {(shape, fill) for _, shape, fill in dots}
    assert len({name for name, *_ in dots}) == 12 and len(looks) == 12


def test_an_interval_without_an_end_is_not_drawn_from_zero() -> None:
    rows = [{**ROWS[6]}, {**ROWS[7], "low": None, "high": None}]
    spec = charts.dots(rows, y="policy", x="value", title="", tips=TIPS, domain=(0, 1))
    svg = vl_convert.vegalite_to_svg({**spec, "width": 400}, config=theme()["paper"])
    assert svg.count('aria-roledescription="bar"') == 1 and svg.count('aria-roledescription="point"') == 2


def test_names_of_charts() -> None:
    assert charts.slug("success", "", "Pick & Place <b>") == "success-pick-place-b"
    assert charts.slug("é") == "chart"
