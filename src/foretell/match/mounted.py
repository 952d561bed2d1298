"""Cameras on robots: a world file says where such a camera is on the body that carries it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from foretell.errors import UsageError, suggest
from foretell.match.sight import require_shape
from foretell.registry import resolve
from foretell.rotation import conjugate, multiply, rotate
from foretell.sim.bench import Bench
from foretell.sim.params import load_world
from foretell.study.scenario_file import read_scenario_file

__all__ = ["bench_of", "on_its_body"]


def bench_of(task: str, world: Any, layout: int | None = None, scenario: str | Path | None = None) -> Bench:
    """A task's published layout, the scenario of a file, or the task's first scenario, in a world, ready to be looked
    at."""
    built = resolve("tasks", task)()
    if scenario is not None:
        if layout is not None:
            raise UsageError("layout: give either `layout` or `scenario`, not both")
        known = [listed for listed in read_scenario_file(Path(scenario)).scenarios if listed.task == built.name]
        if len(known) != 1:
            raise UsageError(f"scenario: {scenario} has {len(known)} scenarios of task {task!r}; it should have one")
        return Bench(built, scenario=known[0], world=world)
    if layout is None:
        return Bench(built, world=world)
    known = built.layouts()
    if not 0 <= layout < len(known):
        raise UsageError(f"layout: {layout}; task {task!r} has {len(known)} layouts, counted from 0")
    return Bench(built, scenario=known[layout], world=world)


def on_its_body(transform: dict[str, Any], world: Path, task: str | None) -> tuple[dict[str, Any], str | None]:
    """The transform of a camera whose pose is in the task frame, as a world file needs it, and what to know where the
    task's camera takes pictures of another shape. Raises UsageError where the task has no such camera."""
    (name,) = transform["cameras"]
    if task is None:
        if "/" in name:
            raise UsageError(f"camera: {name!r:.100} is on a robot: give the task that has this robot")
        return transform, None
    bench = bench_of(task, load_world(world) if world.exists() else "mujoco")
    if name not in bench.world.cameras:
        raise UsageError(f"camera: {name!r:.100} is not in task {task!r}; {suggest(name, bench.world.cameras)}")
    model = bench.drawn
    data = mujoco.MjData(model)
    data.qpos[:] = bench.world.snapshot(0)
    mujoco.mj_kinematics(model, data)
    body = int(model.camera(name).bodyid[0])
    back = conjugate(data.xquat[body])
    pos = rotate(back, np.asarray(transform["pos"]) - data.xpos[body])
    quat = multiply(back, np.asarray(transform["quat"]))
    note = None
    try:
        require_shape(bench, name, (transform["height"], transform["width"]), "the picture")
    except UsageError as error:
        note = str(error)
    return {**transform, "pos": [round(v, 6) for v in pos.tolist()], "quat": [round(v, 8) for v in quat.tolist()]}, note
