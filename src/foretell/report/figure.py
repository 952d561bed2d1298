"""`foretell figure`: one chart of the report, for paper: as PDF, SVG or PNG, or what is behind it as JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.files import require_writable
from foretell.notebook import Displayed
from foretell.reality.sheet import no_formula
from foretell.report import Chart, Runs
from foretell.report.contents import sections
from foretell.report.page import needs_extra, theme
from foretell.terminal import safe

__all__ = ["WIDTHS", "FigureFile", "Listed", "figure", "figures"]

WIDTHS = {"column": 88.9, "page": 181.9}
"""Millimetres: one column of a two-column paper, and both."""
KINDS = ("pdf", "svg", "png", "json", "csv")
POINT = 25.4 / 72
"""Millimetres."""

FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
"""Of one shape; the last is always there to be put into a PDF."""

NEEDS = {"ways-": "Ways are drawn from steps: run the study with `record: {steps: all}`"}
"""What charts of such names need."""

Spec = dict[str, Any]


@dataclass(frozen=True)
class Listed:
    """A chart that can be drawn."""

    name: str
    title: str
    section: str


@dataclass(frozen=True, kw_only=True)
class FigureFile(Displayed):
    """A figure on disk."""

    path: Path
    name: str
    title: str
    about: str
    """What to see in it, and how its intervals are made: words for the caption."""
    width: float | None
    """Millimetres; None for JSON and CSV."""
    height: float | None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "path": str(self.path)}

    def text(self) -> str:
        size = f", {self.width:.0f} x {self.height:.0f} mm" if self.width and self.height else ""
        return "\n".join(filter(None, [f"{self.path}: {self.title}{size}", self.about]))


def figures(*runs: str | Path, notify: Callable[[str], None] = lambda text: None) -> list[Listed]:
    """List the charts in the report of these runs, in the order of the report."""
    return [Listed(chart.name, chart.title, section) for section, chart in _charts(runs, notify)]


def figure(
    *runs: str | Path,
    name: str,
    out: str | Path | None = None,
    width: float | str = "column",
    text: float = 8.0,
    dpi: float = 300.0,
    title: bool = False,
    notify: Callable[[str], None] = lambda text: None,
) -> FigureFile:
    """Draw one chart of the report of some runs into a file (default NAME.pdf). The ending of `out` sets the file type.

    `width` is in millimetres, or `column` or `page` of a two-column paper. `text` is the size of labels in points.
    `dpi` is the resolution of a PNG. `title` writes the title into the chart.
    """
    needs_extra()
    path = Path(out) if out is not None else Path(f"{name}.pdf")
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise UsageError(f"out: {path} should end in one of {', '.join('.' + kind for kind in KINDS)}")
    wide = _millimetres(width)
    for field, value, most in (("text", text, 72.0), ("dpi", dpi, 2400.0)):
        if not 1 <= value <= most:
            raise UsageError(f"{field} is {value}, it must be between 1 and {most:g}")
    charts = {chart.name: chart for _, chart in _charts(runs, notify)}
    if name not in charts:
        why = next((f". {hint}" for part, hint in NEEDS.items() if name.startswith(part)), "")
        raise UsageError(f"there is no chart {name!r} in the report of these runs; {suggest(name, charts)}{why}")
    chart = charts[name]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"out: cannot write {path}: {error.strerror}") from None
    require_writable(path, "out")
    size: tuple[float | None, float | None] = (None, None)
    if kind == "csv":
        data = table(chart).encode()
    elif kind == "json":
        data = json.dumps(paper(chart, wide / POINT * _label() / text, title=title), indent=1).encode()
    else:
        svg, size = picture(chart, wide, text, title)
        data = _rendered(svg, kind, dpi)
    path.write_bytes(data)
    wide_mm, high_mm = size
    return FigureFile(path=path, name=chart.name, title=chart.title, about=chart.about, width=wide_mm, height=high_mm)


def _charts(runs: Sequence[str | Path], notify: Callable[[str], None]) -> list[tuple[str, Chart]]:
    opened = Runs.open([Path(run) for run in runs])
    return [(s.title, block) for s in sections(opened, notify=notify) for block in s.blocks if isinstance(block, Chart)]


def _millimetres(width: float | str) -> float:
    try:
        millimetres = WIDTHS[width] if width in WIDTHS else float(width)
    except ValueError:
        raise UsageError(f"width is {width!r}, it should be millimetres or one of {', '.join(WIDTHS)}") from None
    if not 20 <= millimetres <= 1000:
        raise UsageError(f"width is {width}, it must be between 20 and 1000 mm")
    return millimetres


def _label() -> float:
    """Pixels of a label as the theme for paper has it."""
    return float(theme()["paper"]["axis"]["labelFontSize"])


def paper(chart: Chart, width: float | None = None, columns: int | None = None, title: bool = False) -> Spec:
    """The chart's specification in the theme for paper; `width` of its plot in pixels, and at most so many columns in
    its legends. A composed chart keeps its own width."""
    spec: Spec = _printable(json.loads(json.dumps(chart.spec)))
    if width is not None and _single(spec):
        spec["width"] = round(width, 2)
    if title:
        spec.setdefault("title", chart.title)
    if columns is not None:
        _narrow(spec, columns)
    spec["config"] = {**theme()["paper"], "font": FONT, "background": "white", "padding": 1, **spec.get("config", {})}
    return spec


def _printable(part: Any) -> Any:
    """Without control characters, which names may have: what converts a chart aborts the process on one."""
    if isinstance(part, dict):
        return {_printable(name): _printable(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_printable(item) for item in part]
    return safe(part) if isinstance(part, str) else part


def _single(spec: Spec) -> bool:
    composed = any(part in spec for part in ("facet", "repeat", "concat", "hconcat", "vconcat"))
    composed |= any(part in spec.get("encoding", {}) for part in ("row", "column", "facet"))
    return not composed and spec.get("width", "container") == "container"


def _narrow(part: Any, columns: int) -> None:
    """Every legend in a specification to at most so many columns."""
    for name, value in part.items() if isinstance(part, dict) else ((None, item) for item in part):
        if name == "legend" and isinstance(value, dict):
            value["columns"] = min(columns, value.get("columns") or columns)
        elif name not in ("data", "datasets") and isinstance(value, dict | list):
            _narrow(value, columns)


def picture(chart: Chart, wide: float, text: float = 8.0, title: bool = False) -> tuple[str, tuple[float, float]]:
    """The chart as SVG of so many millimetres, and (width, height) of it.

    It is laid out in the theme's pixels and scaled as a whole, so that marks keep their proportion to the text. The
    plot is made as wide as leaves room for all that is written around it; legends give way first, and in the end the
    text gets smaller.
    """
    import vl_convert

    room = wide / POINT * _label() / text
    for columns in (None, 3, 2, 1):
        width = 0.75 * room
        for _ in range(3):
            svg = vl_convert.vegalite_to_svg(paper(chart, width, columns, title))
            match = _sized(svg)
            over = float(match[2]) - room
            if -1 <= over <= 0 or not _single(chart.spec):
                break
            width = max(0.2 * room, width - over - 0.5)
        if over <= 0:
            break
    high = wide * float(match[3]) / float(match[2])
    size = f' width="{wide / POINT:.3f}pt" height="{high / POINT:.3f}pt"'
    return match[1] + size + svg[match.end() :], (wide, high)


def _sized(svg: str) -> re.Match[str]:
    """The beginning of an SVG, its width and its height in points."""
    match = re.match(r'(<svg[^>]*?) width="([\d.]+)" height="([\d.]+)"', svg)
    assert match is not None  # vl-convert writes both
    return match


def _rendered(svg: str, kind: str, dpi: float) -> bytes:
    import vl_convert

    if kind == "svg":
        return svg.encode()
    plain = svg.replace('pt"', '"', 2)  # what converts takes a number for a point
    made: bytes = vl_convert.svg_to_pdf(plain) if kind == "pdf" else vl_convert.svg_to_png(plain, ppi=dpi)
    return made


def table(chart: Chart) -> str:
    """The figures behind a chart, as CSV."""
    columns = list(dict.fromkeys(name for row in chart.rows for name in row))
    file = io.StringIO()
    writer = csv.DictWriter(file, columns)
    writer.writerow({name: _cell(name) for name in columns})
    for row in chart.rows:
        writer.writerow({k: _cell(v) for k, v in row.items()})
    return file.getvalue()


def _cell(value: Any) -> Any:
    """A value as a spreadsheet may open it."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return no_formula(safe(value)) if isinstance(value, str) else value
