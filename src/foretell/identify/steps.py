"""Recorded motion from the steps of a run folder: episodes of a native world in which one robot acts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.episodes.parts import DamagedError, read_parquet
from foretell.episodes.read import read
from foretell.errors import UsageError
from foretell.files import inside
from foretell.identify.recording import Recording
from foretell.robots import Robot
from foretell.sim.params import load_world
from foretell.sim.scene import Scene
from foretell.study.config import load_study
from foretell.study.films import steps as steps_of
from foretell.study.plan import make_task
from foretell.tasks.tabletop import TabletopTask

__all__ = ["read_steps"]


def read_steps(run: Path, kind: type[Robot], size: int, controller: str) -> list[Recording]:
    """The episodes under the clock `sync` that have steps. Objects are not replayed, so motion in free space fits
    best."""
    study, rows = load_study(run / "study.yaml"), read(run).to_pylist()
    scenes = {}
    for entry in study.tasks:
        task = make_task(entry.use)
        used = entry.controller or task.controller
        if isinstance(task, TabletopTask) and used == controller and task.action_rate == kind.action_rate:
            scenes[task.name, used] = Scene(task, load_world(study.world))
    recordings = []
    for row in rows:
        scene = scenes.get((row["task"], row["controller"]))
        if scene is None or row["blame"] is not None or json.loads(row["clock"]).get("kind", "sync") != "sync":
            continue
        if (recording := _recording(run, row, scene, kind, size)) is not None:
            recordings.append(recording)
    if not recordings:
        raise UsageError(
            f"identify: {run} has no episode with recorded steps (record: {{steps: all}}) under the clock sync, in "
            f"which {kind.name} acts alone through {controller!r} at {kind.action_rate:g} actions a second"
        )
    return recordings


def _recording(run: Path, row: dict[str, Any], scene: Scene, kind: type[Robot], size: int) -> Recording | None:
    robots = {name: robot for name, robot in scene.robots.items() if isinstance(robot, kind)}
    path = inside(run, steps_of(row["episode"]))
    if path is None or len(scene.robots) != 1 or not robots:
        return None
    try:
        table = read_parquet(path, ["action", "state"])
        states = np.array(table["state"].to_pylist(), dtype=float)
        actions = np.array(table["action"].to_pylist(), dtype=float)
    except (DamagedError, OSError, KeyError, ValueError, pa.ArrowException):
        return None
    (name,) = robots
    # robots come before objects, so their joints are where they are in any scenario of the task
    model = scene.compile(scene.task.scenario(0), 0)
    joints = [joint for group in kind.groups.values() for joint in group.joints]
    address = [int(model.joint(f"{name}/{joint}").qposadr[0]) for joint in joints]
    if states.ndim != 2 or len(states) < 2 or actions.shape != (len(states), size):
        return None
    scenario = row["parent"] or row["scenario"]
    called = f"{row['task']}/{row['scenario']}/{row['policy']}/{row['trial']}"
    return Recording(name=called, actions=actions[1:], q=states[:, address], source=scenario)
