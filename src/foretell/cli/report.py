"""Write one HTML page with everything that runs show.

Examples:
    foretell report runs/first-study
    foretell report runs/sim runs/real -o report.html
"""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

from foretell.cli._flags import Json, OutFile, Runs, named

__all__ = ["main"]


def main(
    *,
    runs: Runs,
    out: Annotated[OutFile, named(None, default="report.html in the run folder, if there is one run")],
    embed: Annotated[float, named("MB")],
    json_: Json = False,
) -> None:
    """Write success, stages, failures, comparisons and every episode, with charts and videos, into one HTML page. The
    page opens from disk and needs no network.

    Args:
        out: The page to write.
        embed: Megabytes of videos to put into the page, failures first. The other videos are linked.
    """
    import gc

    from foretell import report
    from foretell.cli._arrow import leave_pandas_out

    leave_pandas_out()
    began = time.monotonic()

    def notify(text: str) -> None:
        if time.monotonic() - began > 2:
            print(f"{text} …", file=sys.stderr, flush=True)

    gc.disable()  # what a report is made of has hardly a cycle, and looking for them takes a fifth of its time
    try:
        written = report(*runs, out=out, embed=embed, notify=notify)
    finally:
        gc.enable()
    print(json.dumps(written.to_dict(), indent=2) if json_ else written.text())
