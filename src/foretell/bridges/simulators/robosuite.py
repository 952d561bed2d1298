"""The world `robosuite`: foretell's lift, can and square as robosuite has them, and robosuite's own tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.bridges.simulators.file import RobosuiteFile
from foretell.bridges.simulators.judged import SeenState
from foretell.bridges.simulators.own import OwnTask
from foretell.bridges.simulators.world import SimulatorWorld
from foretell.errors import UsageError
from foretell.robots.panda import Panda
from foretell.scenario import Scenario
from foretell.sim.stages import Stages
from foretell.spec import EE_DELTA, ActionSpec, DimSpec, Feature
from foretell.tasks.task import Task
from foretell.world import Verdict

__all__ = ["RobosuiteWorld"]

SAME: dict[str, dict[str, Any]] = {
    "lift": {"env": "Lift", "object": ("cube", "cube_main", "cube_joint0"), "height": 0.8},
    "can": {"env": "PickPlaceCan", "object": ("can", "Can_main", "Can_joint0"), "height": 0.8},
    "square": {"env": "NutAssemblySquare", "object": ("nut", "SquareNut_main", "SquareNut_joint0"), "height": 0.82},
}
"""Task -> robosuite's environment, the object's names (ours, its body, its joint), and how high the task frame is."""
FACTORS = ("Object_Mass", "Object_Friction", "MO_Color", "Light_Color", "Camera_Pose")
"""Factors that are applied to robosuite's models."""
WHY_NOT = {
    "MO_Size": "robosuite judges by the usual size",
    "RO_Size": "robosuite's pegs and bins have one size",
    "MO_Texture": "foretell's pictures are not among robosuite's materials",
    "Distractor": "robosuite's models have no objects to put beside",
}
UNSET = "nothing of robosuite's models is changed for it yet"


class RobosuiteWorld(SimulatorWorld):
    """robosuite 1.5, in a Python environment of its own."""

    File = RobosuiteFile
    KIND = "robosuite"
    file: RobosuiteFile

    def __init__(self, task: Task, world: Any = "robosuite", **more: Any):
        self._same = SAME.get(task.name)
        super().__init__(task, world, **more)
        if self.controller not in ("ee_delta", "own"):
            self.close()
            raise UsageError(
                f"world {self.name!r}: controller: {self.controller!r:.100} does not run here; robosuite takes ee_delta"
            )
        if isinstance(task, OwnTask):
            limit = self._simulator.about["limit"]
            task.follow(task.action_rate, None if limit is None else limit * self.tick)
        self._stages = Stages(task.stages, 1)
        self._first: dict[str, Any] = {}
        self._ruled = False

    @classmethod
    def unfit(cls, factor: str) -> str | None:
        """Why a factor cannot be applied, or None."""
        return None if factor in FACTORS else WHY_NOT.get(factor, UNSET)

    def _options(self) -> dict[str, Any]:
        rate = {"action_rate": self.task.action_rate}
        if isinstance(self.task, OwnTask):
            if not self.task.asked:
                raise UsageError(f"world {self.name!r}: tasks: name robosuite's own task, as in own:ToolHang")
            return {"env": self.task.asked, "robots": list(self.file.robots), **rate}
        if self._same is None:
            raise UsageError(
                f"world {self.name!r}: task {self.task.name!r} is not among those that robosuite has too: "
                f"{', '.join(SAME)}, or own:NAME for its own"
            )
        name, body, joint = self._same["object"]
        return {
            "env": self._same["env"],
            "object": {"name": name, "body": body, "joint": joint},
            "origin": [0.0, 0.0, self._same["height"]],
            **rate,
        }

    def _named(self) -> list[Any]:
        return [self._same["env"]] if self._same else []

    def _action(self, about: Mapping[str, Any]) -> ActionSpec:
        if self._same or len(about["low"]) == EE_DELTA.size:
            return EE_DELTA
        dim = DimSpec(
            meaning="action", unit="1", size=len(about["low"]), low=tuple(about["low"]), high=tuple(about["high"])
        )
        return ActionSpec("own", (dim,))

    def _features(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, Feature]:
        own = {f"panda/{name}": feature for name, feature in Panda().features.items()}
        features = {}
        for name, shape in shapes.items():
            kind: Any = "position" if name.endswith("/pos") else "orientation" if name.endswith("/quat") else "scalar"
            made = Feature(kind=kind, shape=tuple(shape), frame="task" if kind != "scalar" else None)
            features[name] = own.get(name, made)
        return features

    # -- the seam ---------------------------------------------------------------------------------------------

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        if bad := next((f"{f}: {why}" for f in scenarios[0].factors if (why := self.unfit(f))), None):
            raise UsageError(f"world {self.name!r} cannot apply {bad}")
        super().reset(slots, scenarios, trials)
        self._stages.start(slots)
        self._first, self._ruled = {}, False

    def progress(self, slots: np.ndarray) -> np.ndarray:
        if self._same and "pos" in self._now:
            self._first = self._first or self._now
            seen: Any = SeenState(self._now, self._first, self._of())
            ages = np.array([self._age])
            self._stages.latch(slots, ages, np.ones(1, dtype=bool), self.task.reached(seen))
            self._ruled = self._ruled or bool(self.task.solved(seen)[0])
        return super().progress(slots)

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        """robosuite tells success. foretell's own rule, looked at after the same actions, is in `metrics`."""
        if not self._same:
            return super().verdict(slots)
        stages = self._stages.times(0, self.tick)
        share = len(stages) / len(self.task.stages)
        solved = bool(self._now["solved"])
        ruled = {"solved_by_own_rule": float(self._ruled)}
        return [Verdict(success=solved, score=1.0 if solved else share, stages=stages, metrics=ruled)]
