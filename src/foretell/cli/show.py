"""Print a run's results: success rates with intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    run: Annotated[Path, tyro.conf.Positional],
    alpha: float = 0.05,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Success rates of a run, with Wilson intervals.

    Args:
        run: A run folder.
        alpha: One minus the confidence level.
        json_: Print a list of objects instead of a table.
    """
    from foretell.summary import show, table

    rows = show(run, alpha=alpha)
    if json_:
        print(json.dumps(rows, indent=2))
    else:
        table(rows)
