"""Print how to set the real table for each scenario.

Examples:
    foretell cards runs/first-study --csv trials.csv
    foretell cards runs/first-study --html cards.html --stl parts
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Switch, Task, named

__all__ = ["main"]


def main(
    *,
    run: Annotated[Path | None, tyro.conf.Positional, named("[RUN]")] = None,
    task: Annotated[Task, named(None, "Print only the scenarios of this task.")],
    csv: Annotated[Path | None, named("FILE")],
    html: Annotated[Path | None, named("FILE")],
    stl: Annotated[Path | None, named("FOLDER")],
    trust: Switch,
    json_: Json = False,
) -> None:
    """Print a card for each scenario: its id, and where each object goes. Try the scenarios in this order, and try all.

    Args:
        run: A run folder. Without it, --stl writes every object at its own size.
        csv: Write a spreadsheet to fill in. `foretell import FILE --like RUN` reads it.
        html: Write the cards as a page to print, with drawings of the table from above.
        stl: Write an STL file (mm, for a 3D printer) into this folder for each object and size.
        trust: With --stl: import the Python file of a task that the study of the run names. This runs code of whoever
            wrote that file.
    """
    from foretell.counting import counted
    from foretell.errors import UsageError
    from foretell.reality.cards import cards, frames
    from foretell.tasks.frame import describe

    if run is None:
        if stl is None or task is not None or csv is not None or html is not None:
            raise UsageError("cards: give a run folder. Without it, only --stl FOLDER works, which writes all objects")
        _objects(stl, json_)
        return
    answer = cards(run, task, csv=csv, html=html, stl=stl, trust=trust)
    if json_:
        print(json.dumps(answer, indent=2))
        return
    about = frames(run)
    for name in dict.fromkeys(card["task"] for card in answer):
        if name in about:
            print(f"{name}: {describe(about[name])}")
    for card in answer:
        print(f"{card['id']}  {card['card']}")
    if html is not None:
        print(f"{counted(len(answer), 'card')} to print in {html}")
    if csv is not None:
        print(f"{counted(len(answer), 'line')} in {csv}; when it is filled in: foretell import {csv} --like {run}")
    if stl is not None:
        files = {thing["file"] for card in answer for thing in card["print"]}
        print(f"{counted(len(files), 'STL file')} in {stl}")


def _objects(folder: Path, json_: bool) -> None:
    from foretell.objects.stl import write_objects

    objects = write_objects(folder)
    if json_:
        lines = [
            {"file": path.name, "size": [round(float(s), 2) for s in solid.size], "grams": round(solid.grams, 1)}
            for path, solid in objects.items()
        ]
        print(json.dumps(lines, indent=2))
        return
    for path, solid in objects.items():
        x, y, z = solid.size
        print(f"{path.name:<24} {x:6.1f} x {y:5.1f} x {z:5.1f} mm  {solid.grams:6.1f} g")
    print(f"{len(objects)} STL files in {folder}")
