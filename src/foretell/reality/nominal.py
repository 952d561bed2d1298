"""The scenario a sheet starts from: what a line of real trials leaves open is as it usually is."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.registry import resolve
from foretell.rotation import turned
from foretell.scenario import Scenario
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task

__all__ = ["nominal"]


def nominal(task: Task) -> Scenario:
    """The scenario a sheet starts from: every object in the middle of where the task puts it, of middle size and not
    turned, and the robot at home."""
    if not isinstance(task, TabletopTask):
        raise UsageError(f"task {task.name!r} is not a TabletopTask: where it puts its objects is not known")
    placements = {}
    for name, placement in task.place(_Middle()).items():
        placements[name] = placement.model_copy(update={"quat": turned(placement.quat, -placement.yaw)})
    kinds = {name: resolve("robots", mount.robot) for name, mount in task.robots.items()}
    home = {name: tuple(map(float, kind.groups[kind.first()].home)) for name, kind in kinds.items()}
    return Scenario(task=task.name, seed=0, placements=placements, start=home, instruction=task.instruction)


class _Middle(np.random.Generator):
    """Draws the middle of every range."""

    PATIENCE = 1000
    """Draws after which it draws like any other: a task may ask again until something fits."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))
        self._drawn = 0

    def _fixed(self) -> bool:
        self._drawn += 1
        return self._drawn <= self.PATIENCE

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if not self._fixed():
            return super().uniform(low, high, size)
        middle = (np.asarray(low, dtype=float) + np.asarray(high, dtype=float)) / 2
        return np.broadcast_to(middle, size).copy() if size is not None else middle[()]

    def random(self, size: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return self.uniform(size=size) if self._drawn < self.PATIENCE else super().random(size, **options)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self.uniform(loc, loc, size) if self._drawn < self.PATIENCE else super().normal(loc, scale, size)

    def standard_normal(self, size: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return self.normal(size=size) if self._drawn < self.PATIENCE else super().standard_normal(size, **options)
