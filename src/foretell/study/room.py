"""Whether imported objects have room where a task puts them.

An object that starts inside the robot or the furniture is thrown out by the first steps of physics, and may count as
lifted then: one that is 10 mm deep in the table rises by 12 to 33 mm.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from foretell.errors import UsageError
from foretell.factors.factor import targets
from foretell.objects.imported import describe, require_unchanged
from foretell.scenario import Scenario
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task

__all__ = ["require_room"]

DEEP = 0.005
"""Metres by which an object may start inside something: its convex parts stray a little from its shape. From there a
ball rises by 5 mm."""


def require_room(scenarios: Sequence[Scenario], task: Task) -> None:
    """Raises UsageError for an object that is larger than the task's area, or that starts inside something; and for one
    whose files were changed after it was imported."""
    if not isinstance(task, TabletopTask):
        return
    from foretell.sim.bench import SLOT, Bench

    (part,) = targets(task, "MO")
    for name in dict.fromkeys(scenario.placements[part].asset for scenario in scenarios):
        require_unchanged(name)
    for scenario in scenarios:
        _require_area(scenario, task, part)
    bench = Bench(task, scenario=scenarios[0])
    for number, scenario in enumerate(scenarios):
        if number:
            bench.world.reset(SLOT, [scenario], [0])
        model, data = bench.model, mujoco.MjData(bench.model)
        data.qpos[:] = bench.layout.qpos[0]
        mujoco.mj_forward(model, data)
        for contact in data.contact:
            pair = [model.body(int(model.geom_bodyid[geom])).name for geom in contact.geom]
            if part in pair and contact.dist < -DEEP:
                other = pair[1 - pair.index(part)]
                raise UsageError(
                    f"scenarios: objects: {describe(scenario.placements[part].asset).name!r} has no room in task "
                    f"{task.name!r}: it starts {-1000 * contact.dist:.0f} mm inside {other!r} at seed {scenario.seed}; "
                    "leave the object out, or choose another seed"
                )


def _require_area(scenario: Scenario, task: Task, part: str) -> None:
    """Raises UsageError for an object that is wider than the surface on which the task puts things."""
    if task.clutter is None:
        return
    about = describe(scenario.placements[part].asset)
    room = sorted(float(np.ptp(side)) for side in (task.clutter.x, task.clutter.y))
    if any(side > most for side, most in zip(sorted(about.size[:2]), room, strict=True)):
        x, y = (f"{side:.3g}" for side in about.size[:2])
        raise UsageError(
            f"scenarios: objects: {about.name!r} is {x} x {y} m wide, and the area of task {task.name!r} is "
            f"{room[0]:.2g} x {room[1]:.2g} m: was the mesh in another unit (foretell import-object --scale)?"
        )
