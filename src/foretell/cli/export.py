"""Export episodes to LeRobot, Rerun or CSV.

Examples:
    foretell export runs/first-study --to csv -o tables
    foretell export runs/first-study --success --cameras front -o dataset
    foretell export runs/first-study --to rerun -o recordings
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from foretell.cli._flags import Json, Policy, Run, Switch, Task, choice, named

__all__ = ["main"]


def main(
    *,
    run: Run,
    to: Annotated[str, choice("lerobot", "csv", "rerun")],
    out: Annotated[Path, named("FOLDER", "The new folder to write.", short="-o")],
    policy: Policy,
    task: Task,
    success: Switch,
    cameras: Annotated[tuple[str, ...], named("CAMERA ...", default="none; of real trials all that filmed them")],
    size: Annotated[str, named("HEIGHTxWIDTH")],
    json_: Json = False,
) -> None:
    """Write the episodes of a run for other tools. LeRobot and Rerun need recorded steps (`record: {steps: all}`).

    Args:
        to: A LeRobotDataset v3.0, tables for a spreadsheet, or a Rerun recording of each episode.
        success: Only episodes that succeeded.
        cameras: The cameras to draw at every step. Real trials have films instead, which are taken as they are.
        size: The size of these pictures, in pixels.
    """
    from foretell.export import export

    done = export(run, to=to, out=out, policy=policy, task=task, success=success, cameras=cameras, size=size)
    print(json.dumps(done.to_dict()) if json_ else done.text())
