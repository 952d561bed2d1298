"""A bench: put parts of a task somewhere by hand, and ask its judge. For tests of tasks, and for looking around.

bench = Bench("lift")
bench.put("cube", (0, 0, 0.1))
assert bench.solved()
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from foretell.errors import UsageError, suggest
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.sim.layout import Layout
from foretell.sim.parts import Parts
from foretell.sim.state import Rows
from foretell.sim.transforms import Transform
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.tasks.task import Task

__all__ = ["Bench"]

SLOT = np.zeros(1, dtype=np.int32)


class Bench:
    """One scenario of a task in a native world, under your hands. Physics runs only when you say so."""

    def __init__(
        self,
        task: str | Task,
        *,
        scenario: Scenario | int = 0,
        world: str | Path | dict[str, Any] = "mujoco",
        controller: str | None = None,
        factors: dict[str, Any] | None = None,
        trial: int = 0,
    ):
        self.task: Any = resolve("tasks", task)() if isinstance(task, str) else task
        self.world = MujocoWorld(self.task, world, slots=1, controller=controller)
        self.scenario = scenario if isinstance(scenario, Scenario) else self.task.scenario(scenario)
        if factors:
            self.scenario = self.scenario.model_copy(update={"factors": factors})
        self.slot, self._rows = 0, SLOT
        self.world.reset(SLOT, [self.scenario], [trial])

    @classmethod
    def on(cls, world: MujocoWorld, slot: int = 0) -> Bench:
        """A bench on the episode that runs in a slot of a world. It serves until the slot is reset."""
        bench = cls.__new__(cls)
        bench.task, bench.world, bench.scenario = world.task, world, world._of(slot)
        bench.slot, bench._rows = slot, np.array([slot], dtype=np.int32)
        return bench

    @property
    def layout(self) -> Layout:
        """The arrays of physics, with a row for each slot of the world."""
        return self.world._layout(self.slot)

    @property
    def model(self) -> mujoco.MjModel:
        """The model that physics runs on; not to be changed."""
        return self.layout.models[self.slot]

    @property
    def drawn(self) -> mujoco.MjModel:
        """The model that pictures are drawn from; not to be changed."""
        model: mujoco.MjModel = self.world._model(self.slot)
        return model

    @property
    def parts(self) -> Parts:
        """The parts of the scene, as a segmentation numbers them."""
        return self.world.scene.segments

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """Of the world file."""
        return self.world.scene.world.transforms

    @property
    def state(self) -> Rows:
        """The true state of the slot, as one row."""
        return self.world._rows(self.layout, self._rows)

    def put(self, name: str, pos: Sequence[float], quat: Sequence[float] = (1, 0, 0, 0)) -> None:
        """Put a free object down, at rest."""
        if name not in self.layout.free:
            raise UsageError(f"{name!r} does not move freely; {suggest(name, self.layout.free)}")
        at, speed = self.layout.free[name], self.layout.free_speed[name]
        self.layout.qpos[self.slot, at : at + 7] = [*pos, *quat]
        self.layout.qvel[self.slot, speed : speed + 6] = 0.0
        self.layout.forward(self._rows)

    def set(self, **joints: float | Sequence[float]) -> None:
        """Set joints of parts, by the names of `Scenario.start`: `set(panda=(0, ...), drawer=0.1)`. They are at rest,
        and actuators hold them. A name that is no word, such as `panda/gripper`, goes in as
        `set(**{"panda/gripper": (0.02, 0.02)})`."""
        for name, values in joints.items():
            known = self.world.scene.startable
            if name not in known:
                raise UsageError(f"{name!r} has no joints; {suggest(name, known)}")
            has = list(known[name].joints)
            self.layout.start(self._rows, has, np.broadcast_to(np.asarray(values, dtype=float), (1, len(has))))
        self.layout.settle(self._rows)
        for key, controller in self.world.controllers.items():
            held = self.layout.hold[self._rows[:, None], self.layout.motors[key]]
            controller.reset(self._rows, held, np.zeros(1, dtype=int))
        self.layout.forward(self._rows)

    def reached(self) -> AbstractSet[str]:
        """The stages that are reached at this moment."""
        self.layout.forward(self._rows)
        return {name for name, now in self.task.reached(self.state).items() if now[0]}

    def solved(self) -> bool:
        """Whether the task is solved at this moment."""
        self.layout.forward(self._rows)
        return bool(self.task.solved(self.state)[0])

    def see(self, *streams: str) -> dict[str, np.ndarray]:
        """What sensors show now of some streams; of none named, all but images."""
        known = self.world.features
        wanted = streams or [name for name, feature in known.items() if not feature.image]
        seen = self.world.observe(self._rows, {n: Stream(known[n].shape if n in known else None) for n in wanted})
        return {name: np.asarray(seen[name][0]) for name in wanted}

    def contacts(self) -> AbstractSet[tuple[str, str]]:
        """Pairs of bodies that touch now, each pair in alphabetical order; `world` is what stands still."""
        data = mujoco.MjData(self.model)
        data.qpos[:] = self.layout.qpos[self.slot]
        mujoco.mj_forward(self.model, data)
        bodies = self.model.geom_bodyid[np.array(data.contact.geom).reshape(-1, 2)]
        named = {tuple(sorted(self.model.body(int(b)).name for b in pair)) for pair in bodies}
        return {(a, b) for a, b in named}

    def run(self, seconds: float, action: Sequence[float] | None = None) -> None:
        """Let physics run, under one action if there is one."""
        ticks = np.array([self.world.ticks(seconds)])
        if action is not None:
            self.world.command(self._rows, np.asarray(action, dtype=float)[None], ticks)
        self.world.advance(self._rows, ticks)
