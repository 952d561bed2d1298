"""What a task of one's own is known by: its source, the assets and robots it names, and the files these load.

Tasks that come with foretell are known by their `version`, which is raised by hand. Nobody raises it while writing a
task of their own, so there an edited file is another task, as an edited policy is another policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from foretell.digest import digest
from foretell.fingerprint.fingerprint import Fingerprint, fingerprint_of
from foretell.fingerprint.loaded import loading, remember
from foretell.fingerprint.source import own_classes
from foretell.objects import ASSETS, ObjectPhysics
from foretell.registry import resolve
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task

__all__ = ["task_fingerprint", "task_hash"]


def task_hash(task: Task, controllers: Iterable[object] = ()) -> str:
    """16 hex digits that name the source of a task of one's own, and a time limit that is not the task's; empty for
    those that come with foretell, as they are. `controllers` run it; those of one's own count too, and those of ours
    that have changed."""
    moving: list[Any] = []
    for thing in controllers:
        if mine := own_classes(type(thing)):
            source = fingerprint_of(thing, mine)
            moving.append([source.sources, source.more])
        version = getattr(thing, "version", 1)
        if isinstance(version, int) and version > 1:
            moving.append([type(thing).__name__, version])
    if moving:
        return digest([task_hash(task), moving])
    fingerprint = task_fingerprint(task)
    limit = task.time_limit if task.time_limit != type(task).time_limit else None
    if fingerprint is None:
        return digest(["time_limit", limit]) if limit is not None else ""
    # a class of foretell's that it inherits from may change too; it is then another version
    bases = [[c.__qualname__, vars(c)["version"]] for c in type(task).__mro__ if "version" in vars(c)]
    robots = (resolve("robots", mount.robot) for mount in task.robots.values())
    bases += [[robot.name, robot.version] for robot in robots if robot.version > 1]
    return digest([bases, fingerprint.sources, fingerprint.more, *([limit] if limit is not None else [])])


def task_fingerprint(task: Task) -> Fingerprint | None:
    """What a task's hash covers; None for one that comes with foretell."""
    classes = own_classes(type(task))
    if not classes:
        return None
    files: set[Path] = set()
    with loading() as opened:
        if isinstance(task, TabletopTask):
            spec = mujoco.MjSpec()
            task.build(spec)
            files |= _named(spec)
        for number, placed in enumerate(task.scenario(0).placements.values()):
            part = ASSETS.get(placed.asset)
            if part is not None and (mine := own_classes(_as_class(part.add))):
                classes += mine
                thing = mujoco.MjSpec()
                body = thing.worldbody.add_body(name=f"thing{number}")
                body.add_freejoint()
                part.add(thing, body, np.array(placed.scale), ObjectPhysics())
                files |= _named(thing)
        for mount in task.robots.values():
            robot = resolve("robots", mount.robot)
            if mine := own_classes(robot if isinstance(robot, type) else type(robot)):
                classes += mine
                files |= _named((robot() if isinstance(robot, type) else robot).spec())
    remember(task, opened)
    return fingerprint_of(task, list(dict.fromkeys(classes)), files)


def _as_class(add: Any) -> type:
    """What adds an asset, as a class: one has a source, and a function is given one of its name, module and file."""
    while hasattr(add, "func"):  # functools.partial
        add = add.func
    named = {"__module__": add.__module__, "__qualname__": add.__qualname__, "made_of": "function"}
    return add if isinstance(add, type) else type(add.__name__, (), named)


def _named(spec: mujoco.MjSpec) -> set[Path]:
    """Files that a model names: meshes, height fields, textures, skins."""
    home = Path(spec.modelfiledir or ".")
    files = set()
    for folder, things in (
        (spec.meshdir, [*spec.meshes, *spec.hfields, *spec.skins]),
        (spec.texturedir, list(spec.textures)),
    ):
        for thing in things:
            names = [thing.file, *getattr(thing, "cubefiles", [])]
            files |= {(home / (folder or "") / name).absolute() for name in names if name}
    return {path for path in files if path.is_file()}
