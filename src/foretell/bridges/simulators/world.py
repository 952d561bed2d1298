"""What worlds in another simulator have in common. One world holds one episode: run more side by side with `workers`.

The simulator judges. What it cannot do is refused before the first episode; what happens to its process is the
machine's fault, and the same command runs the episode again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foretell.bridges.simulators.environment import python_of
from foretell.bridges.simulators.file import SimulatorFile
from foretell.bridges.simulators.simulator import CallFailed, LinkLost, Simulator
from foretell.camera import Camera, Intrinsics, camera_features
from foretell.digest import digest
from foretell.errors import ForetellError, UsageError, suggest
from foretell.scenario import Scenario
from foretell.spec import ActionSpec, Feature, Stream
from foretell.tasks.task import Task
from foretell.world import EpisodeCut, Observations, Verdict
from foretell.world_file import WorldFile

__all__ = ["SimulatorWorld"]

VERSION = 1
"""Raised whenever a change here or in a worker could alter an outcome."""
SEEDS = 2**31
"""Seeds of simulators are below this."""
HEIGHT, WIDTH = 240, 320


class SimulatorWorld:
    """Base of worlds whose physics runs in another Python environment."""

    File: ClassVar[type[SimulatorFile]]
    KIND: ClassVar[str]
    real = False
    one_slot = True
    """A process of the simulator holds one episode."""
    can = frozenset({"wait", "pause", "draw", "reset"})
    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        task: Task,
        world: str | Path | Mapping[str, Any] | WorldFile,
        *,
        slots: int = 1,
        threads: int = 1,
        controller: str | None = None,
    ):
        if slots != 1:
            raise UsageError(
                f"world: {self.KIND} runs one episode in each process, and {slots} slots are asked for: use slots 1, "
                "and more workers"
            )
        self.task, self.slots, self.file = task, slots, self.File.load(world)
        self.name = self.file.name
        self.controller = controller or task.controller
        options, where = self._options(), f"world {self.name!r}"
        self._simulator = Simulator(
            self.KIND,
            options=options,
            where=where,
            python=python_of(self.file.env, where),
            packages=self.file.packages,
            patience=self.file.patience,
            opening=self.file.opening,
        )
        about = self._simulator.about
        self.versions: dict[str, str] = dict(about["versions"])
        self.tick = float(about["tick"])
        self.cameras: list[str] = list(about["cameras"])
        self.action: ActionSpec = self._action(about)
        self.features: dict[str, Feature] = self._features(about["features"])
        for camera in self.cameras:
            self.features[f"{camera}/rgb"] = camera_features(camera, HEIGHT, WIDTH)["rgb"]
        self._scenario: Scenario | None = None
        self._age, self._now = 0, dict[str, Any]()

    # -- what a kind says -------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        """What the worker is told. Raises UsageError for a task that the simulator does not have."""
        raise NotImplementedError

    def _action(self, about: Mapping[str, Any]) -> ActionSpec:
        """What actions mean."""
        raise NotImplementedError

    def _features(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, Feature]:
        """What the numbers are."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------------------------

    @property
    def params(self) -> dict[str, Any]:
        return {**self.file.params, "versions": self.versions}

    @property
    def hash(self) -> str:
        """Another version of the simulator, of MuJoCo or of numpy is another world."""
        versions = {name: version for name, version in self.versions.items() if name != "python"}
        return digest([self.file.hash, VERSION, versions, self._named()])

    def _named(self) -> list[Any]:
        """What else decides outcomes."""
        return []

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        (scenario,) = scenarios
        self._scenario, self._age, self._now = scenario, 0, {"solved": False, "over": False}
        if not self._simulator.linked:
            self._simulator.open()  # it was lost with the episode before
        placements = {name: placed.model_dump() for name, placed in scenario.placements.items()}
        self._ask(
            "reset",
            slow=True,
            seed=scenario.seed % SEEDS,
            placements=placements,
            start={name: list(joints) for name, joints in scenario.start.items()},
            factors=dict(scenario.factors),
        )

    def observe(self, slots: np.ndarray, streams: dict[str, Stream]) -> Observations:
        values: dict[str, Any] = {}
        for name in streams:
            if name not in self.features:
                raise UsageError(f"stream {name!r} is not in world {self.name!r}; {suggest(name, self.features)}")
        numbers = [name for name in streams if not self.features[name].image]
        seen = self._ask("observe", names=numbers) if numbers else {}
        for name, stream in streams.items():
            value = self.draw(0, name, stream) if self.features[name].image else np.asarray(seen[name])
            values[name] = value[None]
        values["time"] = np.array([self._age * self.tick])
        values["instruction"] = [self._of().instruction]
        return Observations(values, dict.fromkeys(streams, np.array([self._age])))

    def command(self, slots: np.ndarray, actions: np.ndarray, ticks: np.ndarray) -> None:
        self._ask("command", action=np.ascontiguousarray(actions[0], dtype=np.float64), ticks=int(ticks[0]))

    def advance(self, slots: np.ndarray, ticks: np.ndarray) -> None:
        self._now = self._ask("advance", ticks=int(ticks[0]))
        self._age += int(ticks[0])

    def faults(self, slots: np.ndarray) -> dict[int, str]:
        return {0: str(fault)} if (fault := self._now.get("fault")) else {}

    def progress(self, slots: np.ndarray) -> np.ndarray:
        return np.array([bool(self._now["solved"])])

    def over(self, slots: np.ndarray) -> np.ndarray:
        """(1,) bool: has the simulator ended the episode?"""
        return np.array([bool(self._now["over"])])

    def terminate(self, slots: np.ndarray) -> np.ndarray:
        return np.ones(len(slots), dtype=bool)

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        solved = bool(self._now["solved"])
        return [Verdict(success=solved, score=float(solved), stages={})]

    def close(self) -> None:
        self._simulator.close()

    # -- pictures -----------------------------------------------------------------------------------------------

    def draw(self, slot: int, stream: str, wanted: Stream, seen: Any = None) -> np.ndarray:
        height, width, _ = wanted.shape or self.features[stream].shape
        return self.picture(slot, stream.rpartition("/")[0], height, width)

    def picture(self, slot: int, camera: str | Camera, height: int, width: int, seen: Any = None) -> np.ndarray:
        """A task's own camera for films is not there: the first one of the simulator films."""
        name = camera if isinstance(camera, str) and camera in self.cameras else self.cameras[0]
        return np.asarray(self._ask("picture", slow=True, camera=name, height=height, width=width))

    def intrinsics(self, camera: str, height: int, width: int, slot: int | None = None) -> Intrinsics:
        raise ForetellError(f"world {self.name!r}: the simulator does not tell the lens of camera {camera!r}")

    def snapshot(self, slot: int) -> np.ndarray:
        raise ForetellError(f"world {self.name!r} cannot hand out its state")

    def require_drawing(self) -> None:
        if not self.cameras:
            raise UsageError(f"world {self.name!r} has no camera: record no video")

    # ---------------------------------------------------------------------------------------------------------

    def _of(self) -> Scenario:
        assert self._scenario is not None, "the slot has no episode"
        return self._scenario

    def _ask(self, name: str, *, slow: bool = False, **arguments: Any) -> Any:
        """Call the simulator. What goes wrong ends the episode, and nothing else."""
        try:
            return self._simulator.call(name, slow=slow, **arguments)
        except LinkLost as error:
            raise EpisodeCut("error", "machine", f"the simulator's process was lost: {error}") from None
        except CallFailed as error:
            raise EpisodeCut("error", "world", f"the simulator raised in {error}") from None
