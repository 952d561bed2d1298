"""`foretell figure`: the report's charts for paper, at the size asked for, with their text in them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

import foretell
from foretell.cli import main
from foretell.errors import UsageError
from foretell.report import Chart
from foretell.report.figure import figure, figures, picture, table


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drawn") / "run"
    policies = {"expert": "expert", "<b>wild & co</b>": "random"}
    foretell.run({"tasks": ["lift"], "policies": policies, "scenarios": {"count": 3}}, out=path, workers=0)
    return path


def test_charts_are_listed_and_the_nearest_is_suggested(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [chart.name for chart in figures(run)]
    assert "success" in names and len(set(names)) == len(names)
    main(["figure", str(run), "--json"])
    assert [chart["name"] for chart in json.loads(capsys.readouterr().out)] == names
    with pytest.raises(
        UsageError, match=r"there is no chart 'sucess' in the report of these runs; did you mean 'success'\?"
    ):
        figure(run, name="sucess")


def test_a_pdf_has_the_width_asked_for_and_its_fonts(run: Path, tmp_path: Path) -> None:
    drawn = figure(run, name="success", out=tmp_path / "new" / "fig.pdf")
    data = drawn.path.read_bytes()
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", data)
    assert box is not None and drawn.height is not None
    assert float(box[1]) == pytest.approx(88.9 / 25.4 * 72, abs=1)
    assert float(box[2]) == pytest.approx(drawn.height / 25.4 * 72, abs=1)
    assert b"/FontFile" in data


def test_svg_and_png_have_the_same_size_and_names_stay_names(run: Path, tmp_path: Path) -> None:
    svg = figure(run, name="success", out=tmp_path / "a.svg", width=120, title=True)
    text = svg.path.read_text()
    assert f'width="{120 / 25.4 * 72:.3f}pt"' in text
    assert "&lt;b>wild &amp; co" in text.replace("&gt;", ">") and "<b>" not in text
    assert svg.title in text
    png = figure(run, name="success", out=tmp_path / "a.png", width=120, dpi=100, title=True)
    wide, high = Image.open(png.path).size
    assert wide == pytest.approx(120 / 25.4 * 100, abs=2) and high == pytest.approx(svg.height / 25.4 * 100, abs=2)


def test_data_behind_it_comes_as_json_and_csv(run: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(figure(run, name="success", out=tmp_path / "a.csv").path.read_text())))
    shown = {row["policy"]: row for row in foretell.show(run)}
    assert {row["policy"]: float(row["low"]) for row in rows} == {name: row["low"] for name, row in shown.items()}
    spec = json.loads(figure(run, name="success", out=tmp_path / "a.json").path.read_text())
    assert spec["config"]["background"] == "white" and "vega-lite" in spec["$schema"]


def test_a_table_carries_out_nothing() -> None:
    rows = [{"=1+1": "+2", "plain": -3.0}]
    assert table(Chart(name="x", title="x", spec={}, rows=rows)).splitlines() == ["'=1+1,plain", "'+2,-3.0"]


def test_what_is_written_around_a_plot_fits_into_the_width() -> None:
    names = [f"a rather long name number {i}" for i in range(6)]
    rows = [{"name": name, "value": i + 1, "said": "a long remark"} for i, name in enumerate(names)]
    encoding = {"y": {"field": "name", "type": "nominal"}, "x": {"field": "value", "type": "quantitative"}}
    colour = {"field": "name", "type": "nominal", "legend": {"orient": "top", "columns": 6}}
    text = {"mark": {"type": "text", "align": "left", "dx": 5}, "encoding": {"text": {"field": "said"}}}
    bars = {"mark": "bar", "encoding": {"color": colour}}
    spec = {"data": {"values": rows}, "encoding": encoding, "layer": [bars, text], "width": "container"}
    svg, (wide, _) = picture(Chart(name="x", title="x", spec=spec, rows=rows), 88.9)
    assert wide == 88.9
    box = re.search(r'viewBox="0 0 ([\d.]+) ', svg)
    assert box is not None and float(box[1]) == pytest.approx(88.9 / 25.4 * 72 * 10 / 8, abs=2), (
        "nothing was scaled down"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"out": "a.jpg"}, "out: a.jpg should end in one of .pdf, .svg"),
        ({"width": "collumn"}, "width is 'collumn', it should be millimetres or one of column, page"),
        ({"width": 5}, "width is 5, it must be between 20 and 1000 mm"),
        ({"text": 0}, "text is 0, it must be between 1 and 72"),
        ({"out": "/proc/nothing/a.pdf"}, "out: cannot write"),
    ],
)
def test_options_that_cannot_be_are_named(run: Path, options: dict, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        figure(run, name="success", **options)
