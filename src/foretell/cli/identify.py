"""Fit a world to recorded motion of a robot, or only compare.

Examples:
    foretell identify recorded.npz --robot widowx -o fitted.yaml
    foretell identify recorded.npz --robot widowx --vary gains delay --way cma
    foretell identify recorded.npz --robot widowx --no-fit --json
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Timer
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Switch, World, named

__all__ = ["main"]

SILENT = 2.0
"""Seconds before the first word on how far it is."""


def main(
    *,
    data: Annotated[Path, tyro.conf.Positional, named("DATA")],
    robot: Annotated[str, named("ROBOT")],
    world: World,
    controller: Annotated[str | None, named("CONTROLLER", default="the robot's own")],
    fit: Switch,
    vary: Annotated[tuple[str, ...], named("WHAT ...")],
    way: Annotated[str, named("WAY")],
    to: Annotated[tuple[str, ...], named("tool|joints ...", default="tool where recorded, else joints")],
    held_out: Annotated[float, named("SHARE")],
    width: Annotated[float, named("TIMES")],
    evaluations: Annotated[int, named("N")],
    seed: Annotated[int, named("SEED")],
    out: Annotated[Path | None, named("WORLD.yaml", default="nothing is written", short="-o")],
    json_: Json = False,
) -> None:
    """Replay recorded actions in a world, in free space, compare joints and tool after every action, and fit θ.

    Args:
        data: A NumPy file (.npz), a CSV file, a LeRobot dataset, or a run folder with recorded steps.
        robot: A robot, as `foretell list robots` names it, or file.py:Class.
        world: The world in which the actions are replayed.
        controller: The controllers that take the actions.
        fit: Do not fit θ. Compare with θ as it is.
        vary: What is fitted: gains, kp, kv, gripper, friction, armature, delay.
        way: How: least-squares, anneal (as in the paper of SIMPLER) or cma (needs the package cma).
        to: Compare the motion of the tool, of the joints, or of both.
        held_out: Share of the recordings that are not fitted to, and show how the fit does on other motion.
        width: Multipliers may go from 1 / TIMES to TIMES of their present value.
        evaluations: The number of values of θ to try, about.
        seed: Of the ways that draw at random.
        out: The world file to write, and a page (.html) beside it.
    """
    from foretell.identify import identify
    from foretell.study.progress import Bar

    with Bar() as bar:
        # what is wrong with the arguments is said at once, and should stand alone
        soon = Timer(SILENT, bar.say, ["replaying the recordings"])
        soon.daemon = True
        soon.start()

        def notify(tried: int, loss: float) -> None:
            soon.cancel()
            bar.say(f"{tried} values of θ tried")

        try:
            identified = identify(
                data, robot, world=world, controller=controller, fit=fit, vary=vary, way=way, to=to, held_out=held_out,
                width=width, evaluations=evaluations, seed=seed, out=out, notify=notify,
            )  # fmt: skip
        finally:
            soon.cancel()
    page = None
    if fit and out is not None:
        from foretell.report.identified import write_fit

        page = write_fit(identified, out.with_suffix(".html"))
    if json_:
        print(json.dumps(identified.to_dict() if fit else identified.to_list(), indent=2))
        return
    print(identified.text())
    if page is not None:
        print(f"\nworld: {out}, which a study can name\npage: {page}")
