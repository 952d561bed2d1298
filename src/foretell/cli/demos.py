"""Write demonstrations of a task's scripted expert.

Examples:
    foretell demos lift -n 100 -o demos/lift
    foretell demos can --noise 0.2 --cameras front panda/wrist -o demos/can
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Workers, World, choice, named

__all__ = ["main"]


def main(
    *,
    task: Annotated[str, tyro.conf.Positional, named("TASK")],
    n: Annotated[int, named("N", short="-n")],
    to: Annotated[str, choice("lerobot", "csv", "rerun")],
    out: Annotated[Path, named("FOLDER", "The new folder to write.", short="-o")],
    world: World,
    controller: Annotated[str | None, named("CONTROLLER", default="the task's own")],
    noise: Annotated[float, named("NOISE")],
    seed: Annotated[int, named("SEED")],
    cameras: Annotated[tuple[str, ...], named("CAMERA ...", default="none")],
    size: Annotated[str, named("HEIGHTxWIDTH")],
    workers: Workers,
    keep: Annotated[Path | None, named("RUN", default="the run is removed")],
    json_: Json = False,
) -> None:
    """Run the scripted expert of a task, and export the episodes that succeed: a dataset to train on.

    Args:
        task: The task (`foretell list tasks`).
        n: Number of scenarios. No study draws them.
        to: As in `foretell export`.
        world: The world to run in.
        controller: What takes the actions.
        noise: Disturb the expert's actions, so that the dataset holds recoveries.
        seed: Choose other scenarios.
        cameras: The cameras to draw at every step.
        size: The size of these pictures, in pixels.
        keep: The run folder to keep.
    """
    from foretell.export import demos

    done = demos(
        task, n=n, to=to, out=out, world=world, controller=controller, noise=noise, seed=seed, cameras=cameras,
        size=size, workers=workers, keep=keep,
    )  # fmt: skip
    print(json.dumps(done.to_dict()) if json_ else done.text())
