"""Import real trials from a spreadsheet or a LeRobot dataset.

Examples:
    foretell import trials.csv --like runs/first-study -o runs/real
    foretell import old_trials.csv --name lab-2024
    foretell import trials.csv --frames frames
    foretell import dataset --task lift --policy act -o runs/real
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, OutRun, named

__all__ = ["main"]


def main(
    *,
    trials: Annotated[Path, tyro.conf.Positional, named("TRIALS|DATASET")],
    out: OutRun,
    name: Annotated[str | None, named("NAME", default="the name of the file")],
    world: Annotated[str, named("NAME")],
    like: Annotated[Path | None, named("RUN")],
    frames: Annotated[Path | None, named("FOLDER", default="the folder of the sheet")],
    tolerance: Annotated[float, named("METRES")],
    outcomes: Annotated[Path | None, named("FILE", default="trials.csv in the dataset, or its own next.success")],
    policy: Annotated[str | None, named("POLICY", default="the column policy")],
    task: Annotated[str | None, named("TASK", default="the column task")],
    json_: Json = False,
) -> None:
    """Import real trials. Run the same command to add new lines. docs/real_trials.md lists the columns.

    Args:
        trials: A spreadsheet saved as CSV, with a line per trial and the columns policy, task, and success or score.
            Or a LeRobot dataset, whose episodes are the trials.
        name: The name of this set of trials.
        world: The name of the real world in tables.
        like: The run folder whose scenarios the column `scenario` names.
        frames: The folder of the camera frames that the column `frame` names, measured by `foretell match scenario`.
        tolerance: Two measured positions closer than this are the same spot.
        outcomes: Of a dataset: a CSV file with the columns episode_index and success, and others of a sheet.
        policy: Of a dataset: the policy, where no column names it.
        task: Of a dataset: the task, where no column names it.
    """
    from foretell.answers.show import show, table
    from foretell.counting import counted
    from foretell.reality import import_

    done = import_(
        trials, out=out, name=name, world=world, like=like, frames=frames, tolerance=tolerance, outcomes=outcomes,
        policy=policy, task=task,
    )  # fmt: skip
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
