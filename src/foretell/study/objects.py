"""Imported objects in the place of the one that a task handles: `scenarios: {objects: FOLDER}`.

The object is then the unit of evaluation. All its scenarios have its name as their `parent`, so that answers average
them first, and pair simulated with real trials by the name of the object.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import mujoco
import numpy as np

from foretell.errors import UsageError
from foretell.factors.factor import targets
from foretell.objects import ObjectPhysics, asset
from foretell.objects.imported import FILE, describe, imported
from foretell.objects.stl import shape
from foretell.rotation import from_yaw, rotate
from foretell.scenario import Placement, Scenario
from foretell.tasks.task import Task

__all__ = ["objects_in", "with_object"]

MOST = 100_000
"""Objects of a folder."""


def objects_in(folder: Path) -> list[str]:
    """The asset's names of the objects of a folder, by name; of one object, if the folder is one."""
    if not folder.is_dir():
        raise UsageError(f"scenarios: objects: there is no folder {str(folder)[:300]}")
    if (folder / FILE).is_file():
        return [imported(folder)]
    inner = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and (path / FILE).is_file())
    if not inner:
        raise UsageError(
            f"scenarios: objects: {str(folder)[:300]} has no imported objects; `foretell import-object MESH -o "
            f"{folder.name}` makes one"
        )
    if len(inner) > MOST:
        raise UsageError(f"scenarios: objects: {folder} has {len(inner):,} objects; at most {MOST:,} are run")
    made = [imported(path) for path in inner]
    owner: dict[str, str] = {}
    for name in made:
        title = describe(name).name
        if (other := owner.setdefault(title, name)) != name:
            raise UsageError(
                f"scenarios: objects: {Path(other).parent} has two objects called {title!r}, "
                f"{_folder(other)} and {_folder(name)}: their trials could not be told apart"
            )
    return made


def _folder(name: str) -> str:
    return Path(name.rpartition("@")[0]).name


def with_object(scenario: Scenario, task: Task, name: str) -> Scenario:
    """The scenario with an imported object in the place of the one that is handled: upright, and turned as that one."""
    handled = targets(task, "MO")
    if len(handled) != 1:
        raise UsageError(
            f"scenarios: objects: task {task.name!r} handles {len(handled)} objects ({', '.join(handled) or 'none'}); "
            "an imported object takes the place of one"
        )
    (part,) = handled
    old, about = scenario.placements[part], describe(name)
    if not asset(old.asset).free:
        raise UsageError(f"scenarios: objects: {part!r} of task {task.name!r} does not move freely")
    w, i, j, k = from_yaw(np.asarray(old.yaw)).tolist()
    x, y, z = old.pos
    surface = z + _lowest(old.asset, old.quat, old.scale)
    placed = Placement(asset=name, pos=(x, y, surface + about.size[2] / 2), quat=(w, i, j, k))
    called = re.sub(rf"\b{re.escape(part)}\b", lambda _: about.words, scenario.instruction)
    changes = {"placements": {**scenario.placements, part: placed}, "instruction": called, "parent": about.name}
    return scenario.model_copy(update=changes)


@lru_cache(maxsize=1024)
def _lowest(name: str, quat: tuple[float, ...], scale: tuple[float, ...]) -> float:
    """Height of the lowest point of an asset above its origin, m; below is negative."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="object")
    body.add_freejoint()
    asset(name).add(spec, body, np.array(scale), ObjectPhysics())
    model = spec.compile()
    heights = []
    for geom in np.flatnonzero(model.geom_contype | model.geom_conaffinity).tolist():
        corners = rotate(model.geom_quat[geom], shape(model, geom)) + model.geom_pos[geom]
        heights.append(float(rotate(np.array(quat), corners)[..., 2].min()))
    return min(heights)
