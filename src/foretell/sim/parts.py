"""Parts of a scene by number: what a segmentation shows. The ids are the same in every scenario of a task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from weakref import WeakKeyDictionary

import mujoco
import numpy as np

__all__ = ["BACKGROUND", "OTHER", "Parts"]

BACKGROUND = -1
"""Id of what belongs to no part: the sky."""
OTHER = "other"
"""What is not in every scenario of a task: things that a factor adds."""
WORLD = "room"
"""What stands still and has no name."""


class Parts:
    """Ids of robots, objects and furniture, in this order, and then of all else."""

    def __init__(self, robots: Iterable[str], placed: Iterable[str], still: mujoco.MjSpec, bolted: Mapping[str, str]):
        """`placed`: objects and fixtures; `still`: the scene without them; `bolted`: geoms of the world that belong to
        a robot -> the robot."""
        self.robots, self.objects, self._bolted = tuple(robots), tuple(placed), dict(bolted)
        names = [body.name for body in still.worldbody.bodies if self._robot(body.name) is None]
        names += [geom.name or WORLD for geom in still.worldbody.geoms if geom.name not in bolted]
        known = {*self.robots, *self.objects}
        self.furniture = tuple(name for name in dict.fromkeys(names) if name and name not in known)
        self.names = (*self.robots, *self.objects, *self.furniture, OTHER)
        self.ids = {name: number for number, name in enumerate(self.names)}
        self._of: WeakKeyDictionary[mujoco.MjModel, dict[int, np.ndarray]] = WeakKeyDictionary()
        self._still: WeakKeyDictionary[mujoco.MjModel, np.ndarray] = WeakKeyDictionary()

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Words for several parts at once."""
        return {"robots": self.robots, "objects": (*self.objects, OTHER), "furniture": self.furniture}

    def named(self, words: Iterable[str]) -> frozenset[str]:
        """The parts that some names, or words for several parts, stand for."""
        groups = self.groups()
        return frozenset(part for word in words for part in groups.get(word, (word,)))

    @cached_property
    def foreground(self) -> frozenset[str]:
        """Robots and objects: all that is not furniture."""
        return self.named(("robots", "objects"))

    def of(self, model: mujoco.MjModel, things: np.ndarray) -> np.ndarray:
        """(n,) int32 ids of the parts that things (n, 2), MuJoCo's object ids and types, belong to."""
        table = self._of.get(model)
        if table is None:
            table = self._of[model] = self._table(model)
        ids = np.full(len(things), BACKGROUND, dtype=np.int32)
        for kind, parts in table.items():
            seen = things[..., 1] == kind
            ids[seen] = parts[things[..., 0][seen]]
        return ids

    def still(self, model: mujoco.MjModel) -> np.ndarray:
        """(ngeom,) bool: the geoms of a model that belong to furniture."""
        still = self._still.get(model)
        if still is None:
            geoms = self._table(model)[int(mujoco.mjtObj.mjOBJ_GEOM)]
            still = self._still[model] = np.isin(geoms, [self.ids[name] for name in self.furniture])
        return still

    def _robot(self, name: str) -> str | None:
        """The robot that a body was attached with."""
        owners = [robot for robot in self.robots if name.startswith(f"{robot}/")]
        return max(owners, key=len) if owners else None

    def _table(self, model: mujoco.MjModel) -> dict[int, np.ndarray]:
        """MuJoCo's object type -> part of each object of that type."""
        bodies = np.full(model.nbody, self.ids[OTHER], dtype=np.int32)
        for i in range(1, model.nbody):  # parents come before their children
            name, parent = model.body(i).name, int(model.body_parentid[i])
            robot = self._robot(name)
            if robot is not None:
                bodies[i] = self.ids[robot]
            elif parent == 0:
                bodies[i] = self.ids.get(name, self.ids[OTHER])
            else:
                bodies[i] = bodies[parent]

        def world(name: str) -> int:
            return self.ids.get(self._bolted.get(name, name or WORLD), self.ids[OTHER])

        def parts(owners: np.ndarray, names: list[str]) -> np.ndarray:
            still = np.array([world(name) for name in names], dtype=np.int32)
            return np.where(owners == 0, still, bodies[owners])

        first = model.flex_vertbodyid[model.flex_vertadr] if model.nflex else np.zeros(0, dtype=np.int32)
        bone = model.skin_bonebodyid[model.skin_boneadr] if model.nskin else np.zeros(0, dtype=np.int32)
        kinds = mujoco.mjtObj
        return {
            int(kinds.mjOBJ_GEOM): parts(model.geom_bodyid, [model.geom(i).name for i in range(model.ngeom)]),
            int(kinds.mjOBJ_SITE): parts(model.site_bodyid, [model.site(i).name for i in range(model.nsite)]),
            int(kinds.mjOBJ_FLEX): bodies[first],
            int(kinds.mjOBJ_SKIN): bodies[bone],
        }
