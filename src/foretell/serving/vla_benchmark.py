"""foretell's tasks as a benchmark of vla-eval, in an environment that has both.

    benchmark: "foretell.serving.vla_benchmark:ForetellBenchmark"      # in vla-eval's configuration

Each task of the configuration is a task of foretell, and each of its episodes one of the task's scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.bridges.gymnasium import TaskEnv
from foretell.bridges.sources import Picture, read_sources
from foretell.errors import UsageError
from foretell.spec import DimSpec

try:
    from vla_eval import specs
    from vla_eval.benchmarks.base import StepBenchmark, StepResult
except ImportError:
    StepBenchmark, StepResult, specs = object, None, None

__all__ = ["ForetellBenchmark"]

SIZE = (256, 256)


class ForetellBenchmark(StepBenchmark):  # type: ignore[misc, unused-ignore] # vla-eval's, where it is installed
    """Tasks of foretell. `observation` maps vla-eval's keys to streams, as for a policy `vla-eval://`; without it the
    server gets the first camera and the instruction."""

    render_backends = frozenset({"cpu", "gpu"})

    def __init__(
        self,
        tasks: Sequence[str] = ("lift",),
        *,
        world: str = "mujoco",
        controller: str | None = None,
        observation: Mapping[str, Any] | None = None,
        seed: int = 0,
    ):
        if specs is None:
            raise UsageError("this benchmark runs inside vla-eval: pip install vla-eval in the same environment")
        super().__init__()
        self.tasks, self.world, self.controller, self.seed = list(tasks), world, controller, seed
        self._given = observation
        self._name = ""
        self._env: TaskEnv | None = None

    @classmethod
    def configure_render(cls, mode: str) -> dict[str, str]:
        """foretell finds a way to draw by itself."""
        return {}

    def get_tasks(self) -> list[dict[str, Any]]:
        return [{"name": task, "suite": "foretell"} for task in self.tasks]

    def reset(self, task: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Episode i of a task is the scenario with seed `seed` + i."""
        self._open(str(task["name"]))
        assert self._env is not None
        seen, info = self._env.reset(options={"scenario": self._env.task.scenario(self.seed + task["episode_idx"])})
        self._text, self._scenario = str(info["instruction"]), str(info["scenario"])
        return seen

    def step(self, action: Mapping[str, Any]) -> Any:
        assert self._env is not None
        given = np.asarray(action["actions"], dtype=np.float64)
        size = self._env.action_space.shape
        if given.shape != size:
            raise ValueError(f"the action has shape {given.shape}, task {self._name!r} takes {size}: one action a step")
        low, high = self._env.world.action.low, self._env.world.action.high
        seen, reward, ends, over, info = self._env.step(np.clip(given, low, high))
        self._text = str(info["instruction"])
        return StepResult(obs=seen, reward=reward, done=ends or over, info=info)

    def make_obs(self, raw_obs: Mapping[str, np.ndarray], task: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        batch = {name: value[None] for name, value in raw_obs.items()} | {"instruction": [self._text]}
        for key, source in self._sources.items():
            place, _, name = key.partition("/")
            value = source.value(batch, 0)
            if name:
                made.setdefault(place, {})[name] = value
            else:
                made[key] = value
        return made

    def get_step_result(self, step_result: Any) -> dict[str, Any]:
        return {"success": bool(step_result.info.get("is_success", False)), "scenario": self._scenario}

    def get_metadata(self) -> dict[str, Any]:
        self._open(self.tasks[0])
        assert self._env is not None
        task = self._env.task
        return {"max_steps": round(task.time_limit * task.action_rate)}

    def get_action_spec(self) -> dict[str, Any]:
        self._open(self.tasks[0])
        assert self._env is not None
        return dict(_stated(dim) for dim in self._env.world.action.dims)

    def get_observation_spec(self) -> dict[str, Any]:
        self._open(self.tasks[0])
        stated = {"language": specs.LANGUAGE}
        if any(isinstance(source, Picture) for source in self._sources.values()):
            stated["image"] = specs.IMAGE_RGB
        return stated

    def cleanup(self) -> None:
        if self._env is not None:
            self._env.close()
        self._env, self._name = None, ""

    def _open(self, name: str) -> None:
        """The environment of a task."""
        if name == self._name:
            return
        self.cleanup()
        probe = TaskEnv(name, world=self.world, controller=self.controller)
        camera = next(iter(probe.task.cameras), "overview")
        probe.close()
        given = self._given or {
            f"images/{camera}": {"stream": f"{camera}/rgb", "size": list(SIZE), "fit": "stretch"},
            "task_description": "instruction",
        }
        self._sources = read_sources(given)
        reads: dict[str, tuple[int, ...] | None] = {}
        for source in self._sources.values():
            reads |= {name: stream.shape for name, stream in source.reads().items()}
        self._env, self._name = TaskEnv(name, world=self.world, controller=self.controller, streams=reads), name


def _stated(dim: DimSpec) -> tuple[str, Any]:
    """A part of the action, as vla-eval states it."""
    if dim.grips is not None:
        form = "binary_close_positive" if dim.grips == "closing" else "binary_close_negative"
        return "gripper", specs.DimSpec("gripper", dim.size, form)
    if dim.rotation is not None:
        return "rotation", specs.DimSpec("rotation", dim.size, dim.rotation)
    if dim.unit == "m" and dim.size == 3:
        return "position", specs.DimSpec("position", 3, "delta_xyz" if dim.mode == "delta" else "absolute_xyz")
    return dim.meaning, specs.DimSpec(dim.meaning, dim.size, "raw")
