"""Say how to set a real table for each scenario of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    run: Annotated[Path, tyro.conf.Positional],
    task: str | None = None,
    csv: Path | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Print a card per scenario: its id, and where to put what. Try them in this order, and leave none out.

    Args:
        run: A run folder.
        task: Only scenarios of this task.
        csv: Also write a spreadsheet to fill in and give to `foretell import FILE --like RUN`.
        json_: Print the cards as JSON.
    """
    from foretell.cards import cards, write_sheet

    found = cards(run, task)
    if csv is not None:
        write_sheet(csv, found)
    if json_:
        print(json.dumps(found, indent=2))
        return
    for card in found:
        print(f"{card['id']}  {card['card']}")
    if csv is not None:
        print(f"{len(found)} lines in {csv}; once filled in: foretell import {csv} --like {run}")
