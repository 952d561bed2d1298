"""The true state of some slots of a layout: what tasks look at (`tasks.State`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.rotation import from_matrix
from foretell.sim.layout import Layout
from foretell.tasks.state import Volume, within

__all__ = ["Rows"]


class Rows:
    """Some slots of a layout, as a task's `State`."""

    def __init__(
        self, layout: Layout, slots: np.ndarray, sizes: Mapping[str, np.ndarray], subtask: np.ndarray | None = None
    ):
        self._layout, self._slots, self._sizes = layout, slots, sizes
        self._subtask = subtask

    @property
    def subtask(self) -> np.ndarray:
        return np.zeros(len(self._slots), dtype=int) if self._subtask is None else self._subtask[self._slots]

    def pos(self, name: str) -> np.ndarray:
        layout = self._layout
        if name in layout.bodies:
            return layout.xpos[self._slots, layout.bodies[name]]
        return layout.site_xpos[self._slots, self._site(name)]

    def quat(self, name: str) -> np.ndarray:
        layout = self._layout
        if name in layout.bodies:
            return layout.xquat[self._slots, layout.bodies[name]]
        return from_matrix(layout.site_xmat[self._slots, self._site(name)].reshape(-1, 3, 3))

    def _site(self, name: str) -> int:
        try:
            return self._layout.sites[name]
        except KeyError:
            known = [*self._layout.bodies, *self._layout.sites]
            raise UsageError(f"the scene has no part {name!r}; {suggest(name, known)}") from None

    def joint(self, name: str) -> np.ndarray:
        try:
            return self._layout.qpos[self._slots, self._layout.address[name]]
        except KeyError:
            raise UsageError(f"the scene has no joint {name!r}; {suggest(name, self._layout.address)}") from None

    def speed(self, name: str) -> np.ndarray:
        at = self._layout.speed.get(f"{name}/free")
        if at is None:
            raise UsageError(f"{name!r} does not move freely: it has no speed")
        return np.linalg.norm(self._layout.qvel[self._slots, at : at + 3], axis=1)

    def touching(self, a: str, b: str) -> np.ndarray:
        touch = self._layout.touch
        at = touch.get(f"{a}/{b}", touch.get(f"{b}/{a}"))
        if at is None:
            raise UsageError(f"nothing senses whether {a!r} touches {b!r}: add the pair to the task's `touch`")
        return self._layout.sensordata[self._slots, at] > 0

    def inside(self, name: str, volume: Volume) -> np.ndarray:
        return within(self, name, volume)

    def ee_pos(self, robot: str) -> np.ndarray:
        return self._layout.site_xpos[self._slots, self._layout.tools[robot]]

    def holding(self, robot: str, name: str) -> np.ndarray:
        touch = self._layout.touch
        made = self._layout.scene.robots[robot]
        pads = [touch[f"{robot}/{pad}/{name}"] for group in made.groups.values() for pad in group.pads]
        return (self._layout.sensordata[self._slots[:, None], np.array(pads)] > 0).all(axis=1)

    @property
    def objects(self) -> tuple[str, ...]:
        return self._layout.objects

    def object_pos(self) -> np.ndarray:
        return self._layout.xpos[self._slots[:, None], self._layout.object_bodies]

    def object_quat(self) -> np.ndarray:
        return self._layout.xquat[self._slots[:, None], self._layout.object_bodies]

    def pads(self, robot: str) -> np.ndarray:
        return self._layout.sensordata[self._slots[:, None, None], self._layout.pads[robot]] > 0

    def opening(self, robot: str) -> np.ndarray:
        at, weight, shut = self._layout.grips[robot]
        opened: np.ndarray = self._layout.qpos[self._slots[:, None], at] @ weight - shut
        return opened

    def hits(self, robot: str) -> np.ndarray:
        return (self._layout.sensordata[self._slots[:, None], self._layout.hits[robot]] > 0).any(axis=1)

    def clashes(self, robot: str) -> np.ndarray:
        return (self._layout.sensordata[self._slots[:, None], self._layout.clashes[robot]] > 0).any(axis=1)

    def size(self, name: str) -> np.ndarray:
        known = self._sizes.get(name)  # of objects that have a role, and so may be resized
        return np.ones(len(self._slots)) if known is None else known[self._slots]
