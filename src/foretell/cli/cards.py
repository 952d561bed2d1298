"""Say how to set a real table for each scenario of a run, and what to print.

Examples:
    foretell cards runs/first-study --csv trials.csv
    foretell cards runs/first-study --html cards.html --stl parts
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    run: Annotated[Path | None, tyro.conf.Positional] = None,
    task: str | None = None,
    csv: Path | None = None,
    html: Path | None = None,
    stl: Path | None = None,
    trust: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Print a card per scenario: its id, and where to put what. Try them in this order, and leave none out.

    Args:
        run: A run folder. Without one, --stl writes every object at its own size.
        task: Only scenarios of this task.
        csv: Also write a spreadsheet to fill in and give to `foretell import FILE --like RUN`.
        html: Also write the cards as a page to print, with drawings of the table from above.
        stl: Also write a binary STL file (mm) into this folder for each object and size in these scenarios.
        trust: With --stl: import the file of a task that the run's study names. That is code of whoever wrote it.
        json_: Print the cards as JSON.
    """
    from foretell.counting import counted
    from foretell.errors import UsageError
    from foretell.reality.card_page import write_page
    from foretell.reality.cards import cards, frames, write_sheet
    from foretell.tasks.frame import describe

    if run is None:
        if stl is None or task is not None or csv is not None or html is not None:
            raise UsageError("cards: give a run folder; without one there is only --stl DIR, which writes all objects")
        _objects(stl, json_)
        return
    found = cards(run, task, stl=stl, trust=trust)
    if csv is not None:
        write_sheet(csv, found)
    if html is not None:
        write_page(html, run, found)
    if json_:
        print(json.dumps(found, indent=2))
        return
    about = frames(run)
    for name in dict.fromkeys(card["task"] for card in found):
        if name in about:
            print(f"{name}: {describe(about[name])}")
    for card in found:
        print(f"{card['id']}  {card['card']}")
    if html is not None:
        print(f"{counted(len(found), 'card')} to print in {html}")
    if csv is not None:
        print(f"{counted(len(found), 'line')} in {csv}; once filled in: foretell import {csv} --like {run}")
    if stl is not None:
        files = {thing["file"] for card in found for thing in card["print"]}
        print(f"{counted(len(files), 'STL file')} in {stl}")


def _objects(folder: Path, json_: bool) -> None:
    from foretell.objects.stl import write_objects

    lines = [
        {"file": path.name, "size": [round(float(s), 2) for s in made.size], "grams": round(made.grams, 1)}
        for path, made in write_objects(folder).items()
    ]
    if json_:
        print(json.dumps(lines, indent=2))
        return
    for line in lines:
        x, y, z = line["size"]  # type: ignore[misc]
        print(f"{line['file']:<24} {x:6.1f} x {y:5.1f} x {z:5.1f} mm  {line['grams']:6.1f} g")
    print(f"{len(lines)} STL files in {folder}")
