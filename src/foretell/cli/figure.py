"""Draw one chart of the report for a paper: PDF, SVG, PNG, or its data.

Examples:
    foretell figure runs/first-study                      # lists the charts there are
    foretell figure runs/first-study success -o success.pdf --width column
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    runs_and_name: Annotated[tuple[str, ...], tyro.conf.Positional],
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    width: str = "column",
    text: float = 8.0,
    dpi: float = 300.0,
    title: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Draw one chart of the report of some runs; without a name, list the charts there are.

    Args:
        runs_and_name: One run folder or several, and then the chart's name.
        out: The file; its ending (pdf, svg, png, json or csv) says what kind. Default NAME.pdf.
        width: Millimetres, or column or page of a two-column paper (88.9 and 181.9).
        text: Size of labels, in points.
        dpi: Dots per inch of a PNG.
        title: Write the title into the picture.
        json_: Print JSON.
    """
    from foretell.report.figure import figure, figures

    began = time.monotonic()

    def told(what: str) -> None:
        if time.monotonic() - began > 2:
            print(f"{what} …", file=sys.stderr, flush=True)

    *runs, last = runs_and_name or ("",)
    if not runs or Path(last).is_dir():
        listed = figures(*runs_and_name, told=told)
        if json_:
            print(json.dumps([asdict(chart) for chart in listed], indent=2))
        else:
            size = max((len(chart.name) for chart in listed), default=0)
            print("\n".join(f"{chart.name:<{size}}  {chart.title}" for chart in listed) or "no charts: no data for any")
        return
    drawn = figure(*runs, name=last, out=out, width=width, text=text, dpi=dpi, title=title, told=told)
    print(json.dumps(drawn.to_dict(), indent=2) if json_ else drawn.text())
