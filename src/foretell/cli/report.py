"""Write what runs show as one HTML page that opens from disk.

Examples:
    foretell report runs/first-study
    foretell report runs/sim runs/real -o report.html
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    embed: float = 20.0,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Success, stages, failures, comparisons and every episode of one run or several, with charts and videos, in a file
    that needs no network.

    Args:
        runs: Run folders.
        out: The page; default report.html in the run folder, if there is one.
        embed: Megabytes of videos to put into the page, failures first; the others are linked.
        json_: Print what was written as JSON.
    """
    import gc

    from foretell import report
    from foretell.cli._arrow import leave_pandas_out

    leave_pandas_out()
    began = time.monotonic()

    def told(text: str) -> None:
        if time.monotonic() - began > 2:
            print(f"{text} …", file=sys.stderr, flush=True)

    gc.disable()  # what a report is made of has hardly a cycle, and looking for them takes a fifth of its time
    try:
        written = report(*runs, out=out, embed=round(embed * 1e6), told=told)
    finally:
        gc.enable()
    print(json.dumps(written.to_dict(), indent=2) if json_ else written.text())
