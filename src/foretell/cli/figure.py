"""Draw one chart of the report for a paper.

Examples:
    foretell figure runs/first-study  # lists the charts
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

from foretell.cli._flags import Json, OutFile, Switch, named

__all__ = ["main"]


def main(
    *,
    runs_and_name: Annotated[tuple[str, ...], tyro.conf.Positional, named("RUN ... [NAME]")],
    out: Annotated[OutFile, named(None, default="NAME.pdf")],
    width: Annotated[str, named("MM|column|page")],
    text: Annotated[float, named("POINTS")],
    dpi: Annotated[float, named("DPI")],
    title: Switch,
    json_: Json = False,
) -> None:
    """Draw one chart of the report of some runs. Without a name, list the charts.

    Args:
        runs_and_name: One or more run folders, then the name of the chart.
        out: The file to write. Its ending sets the format: pdf, svg, png, json or csv.
        width: The width in millimetres, or `column` (88.9 mm) or `page` (181.9 mm) of a two-column paper.
        text: The size of labels in points.
        dpi: The resolution of a PNG, in dots per inch.
        title: Write the title into the picture.
    """
    from foretell.report.figure import figure, figures

    began = time.monotonic()

    def notify(what: str) -> None:
        if time.monotonic() - began > 2:
            print(f"{what} …", file=sys.stderr, flush=True)

    *runs, last = runs_and_name or ("",)
    if not runs or Path(last).is_dir():
        listed = figures(*runs_and_name, notify=notify)
        if json_:
            print(json.dumps([asdict(chart) for chart in listed], indent=2))
        else:
            size = max((len(chart.name) for chart in listed), default=0)
            print(
                "\n".join(f"{chart.name:<{size}}  {chart.title}" for chart in listed)
                or "no charts: these runs have no data for any"
            )
        return
    drawn = figure(*runs, name=last, out=out, width=width, text=text, dpi=dpi, title=title, notify=notify)
    print(json.dumps(drawn.to_dict(), indent=2) if json_ else drawn.text())
