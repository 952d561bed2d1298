"""Import real trials from a spreadsheet into a run folder.

Examples:
    foretell import trials.csv --like runs/first-study -o runs/real
    foretell import old_trials.csv --name lab-2024
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    trials: Annotated[Path, tyro.conf.Positional],
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    name: str | None = None,
    world: str = "real",
    like: Path | None = None,
    tolerance: float = 0.002,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Import real trials. The same command again adds the lines that are new; docs/real_trials.md has the columns.

    Args:
        trials: A spreadsheet saved as CSV: a line per trial, with policy, task and success or score.
        out: The run folder; default runs/NAME.
        name: Name of the set of trials; default the file's.
        world: What the real world is called in tables.
        like: The run folder whose scenarios the column `scenario` names.
        tolerance: Metres within which two measured positions are one spot.
        json_: Print what was done as JSON.
    """
    from foretell.answers.show import show, table
    from foretell.counting import counted
    from foretell.reality import import_

    done = import_(trials, out=out, name=name, world=world, like=like, tolerance=tolerance)
    if json_:
        print(json.dumps({**asdict(done), "path": str(done.path)}))
        return
    table(show(done.path))
    for note in done.notes:
        print(f"note: {note}")
    earlier = f", {counted(done.skipped, 'was', 'were')} there already" if done.skipped else ""
    trials_added = counted(done.added, "trial")
    print(f"{trials_added} added{earlier}; everything is in {done.path}")
    if done.scenarios:
        same = "situation" if done.scenarios == 1 else f"{done.scenarios} situations"
        print(f"Simulate the same {same}: foretell run STUDY.yaml --pair-with {done.path}")
