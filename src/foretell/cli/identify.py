"""Compare recorded motion of a robot with a world's.

Examples:
    foretell identify recorded.npz --robot widowx --no-fit
    foretell identify recorded.npz --robot widowx --no-fit --json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Switch, World, named

__all__ = ["main"]


def main(
    *,
    file: Annotated[Path, tyro.conf.Positional, named("FILE")],
    robot: Annotated[str, named("ROBOT")],
    world: World,
    controller: Annotated[str | None, named("CONTROLLER", default="the robot's own")],
    fit: Switch,
    json_: Json = False,
) -> None:
    """Replay recorded actions in a world, in free space, and compare joints and tool after every action.

    Args:
        file: A NumPy file (.npz) with arrays SEQUENCE/actions, SEQUENCE/qpos and SEQUENCE/ee_base.
        robot: A robot, as `foretell list robots` names it, or file.py:Class.
        world: The world in which the actions are replayed.
        controller: The controllers that take the actions.
        fit: Do not fit θ to the recording. Fitting is not possible yet.
    """
    from foretell.identify import identify

    identified = identify(file, robot, world=world, controller=controller, fit=fit)
    print(json.dumps(identified.to_list(), indent=2) if json_ else identified.text())
