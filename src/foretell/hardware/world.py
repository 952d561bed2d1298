"""The world `robot`: a study runs on hardware. Task, controllers, metrics and rows are those of simulation.

Nothing is connected before `attend`; a world that nobody attends judges recorded trials again. Time is real, so the
clock must be `realtime`. There is one robot, and one trial at a time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bytes
from foretell.camera import camera_features
from foretell.errors import UsageError
from foretell.hardware.arm import ArmBody
from foretell.hardware.base import BaseBody
from foretell.hardware.cameras import scaled, size_of
from foretell.hardware.driver import RobotDriver, features_of, make_driver
from foretell.hardware.file import RobotFile, WatchdogEntry
from foretell.hardware.limits import REASONS, SendLimits, make_limits
from foretell.hardware.link import Sends
from foretell.hardware.live import LiveRobot
from foretell.hardware.reading import Reading
from foretell.scenario import Scenario
from foretell.sim.noise import Noise
from foretell.spec import Feature, Stream
from foretell.tasks.task import Task
from foretell.world import EpisodeCut, Observations, Verdict
from foretell.world_file import WorldFile

__all__ = ["RobotWorld"]

KIND = "robot"


class RobotWorld:
    """A robot, by its world file."""

    File = RobotFile
    real = films = True
    can: frozenset[str] = frozenset()
    needs = frozenset({"terminal"})

    def __init__(
        self,
        task: Task,
        world: str | Path | Mapping[str, Any] | WorldFile = KIND,
        *,
        slots: int = 1,
        threads: int = 1,
        controller: str | None = None,
    ):
        if world == KIND:
            raise UsageError(
                "world: `robot` needs a world file that says which robot: write one with `kind: robot`, and name it "
                "(docs/worlds.md)"
            )
        self.task, self.slots = task, slots
        self.file = RobotFile.load(world)
        self.name, self.hash, self.params = self.file.name, self.file.hash, self.file.params
        self.stands_in = self.file.rehearsal
        self.tick = 1.0 / self.file.rate
        self.controller = controller or task.controller
        self._bodies: dict[int, ArmBody | BaseBody] = {}
        body = self._body(0)
        self.controllers, self.action = body.controllers, body.action
        self.judge = self.file.judge or ("task" if body.judges else "person")  # or a detector, by its name
        if self.judge == "task" and not body.judges:
            raise UsageError(f"{self.name}: judge: a task cannot see what an arm does to objects; use person")
        self.limits: SendLimits = make_limits(self.file, body.robot, body.map)
        self._noise = Noise(slots)
        self._live: LiveRobot | None = None
        self._scenario: list[Scenario | None] = [None] * slots
        self._trial, self._episode = [0] * slots, [""] * slots
        self._age = np.zeros(slots, dtype=np.int64)
        self._end: list[str | None] = [None] * slots
        self._commanded = np.zeros((slots, self.action.size))
        self._pictures: dict[tuple[str, tuple[int, ...]], tuple[float, Bytes]] = {}

    @cached_property
    def driver(self) -> RobotDriver:
        """The driver, which is not connected."""
        return make_driver(self.file)

    @property
    def cameras(self) -> tuple[str, ...]:
        return tuple(self.file.cameras)

    @property
    def watchdog(self) -> WatchdogEntry:
        """Seconds of silence after which the robot is stopped."""
        return self.file.watchdog

    def measure(self) -> Reading:
        """Read the robot, which must be connected and not attended. Raises WorldError where it gives nonsense."""
        return self._bodies[0].map.read(self.driver.get_observation())

    @cached_property
    def features(self) -> dict[str, Feature]:
        self._bodies[0].map.check(self.driver)
        gives = features_of(self.driver, "observation_features")
        features = dict(self._bodies[0].features)
        for name, camera in self.file.cameras.items():
            features[f"{name}/rgb"] = camera_features(name, *size_of(camera, gives))["rgb"]
        return features

    @property
    def notes(self) -> list[str]:
        w = self.file.watchdog
        silence = f"policy {w.policy:g} s, link {w.link:g} s, terminal {w.terminal:g} s"
        return [f"robot {self.name!r} runs in real time; it is stopped after silence ({silence}); {self.limits.text()}"]

    # -- the seam ---------------------------------------------------------------------------------------------

    def attend(self, run: Path) -> None:
        """From now on the robot is driven, and a person attends to it."""
        if self._live is None and self.features:  # which checks the driver's keys
            self._live = LiveRobot(
                run,
                file=self.file,
                task=self.task,
                driver=self.driver,
                body=self._bodies[0],
                limits=self.limits,
            )

    def announce(self, slots: np.ndarray, episodes: Sequence[str]) -> None:
        """Keys of the trials that `reset` begins next."""
        for slot, episode in zip(slots.tolist(), episodes, strict=True):
            self._episode[slot] = episode

    def filmed(self, slot: int) -> str | None:
        """The film of the first camera, within the run folder. It is asked for at every end of a trial, also where
        there is no verdict: the robot is held by then."""
        if self._live is None:
            return None
        film = self._live.film
        self._live.finish()
        self._live.ended()
        return film

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        for slot, scenario, trial in zip(slots.tolist(), scenarios, trials, strict=True):
            self._scenario[slot], self._trial[slot], self._end[slot] = scenario, trial, None
            self._noise.start(slot, scenario, trial)
            self._body(slot).begin(scenario)
        self._age[slots], self._commanded[slots] = 0, 0.0
        if self._live is not None:
            self._live.prepare(self._of(0), self._trial[0], self._episode[0])

    def observe(self, slots: np.ndarray, streams: dict[str, Stream]) -> Observations:
        seen, values = self._seen(), dict[str, Any]()
        for name, stream in streams.items():
            if name not in self.features:
                raise UsageError(f"stream: {name!r} is not in world {self.name!r}; it has {', '.join(self.features)}")
            feature = self.features[name]
            if feature.image:
                values[name] = self._picture(name, feature, stream)[None]
                continue
            sample = np.stack([self._body(slot).read(name) for slot in slots.tolist()])
            values[name] = self._noise.blur(slots, name, feature, sample, 0.0) if feature.noise else sample
        values["time"] = self._age[slots] * self.tick
        values["instruction"] = [self._of(slot).instruction for slot in slots.tolist()]
        ago = 0 if seen is None else round((time.monotonic() - seen) / self.tick)
        return Observations(values, dict.fromkeys(streams, np.maximum(self._age[slots] - ago, 0)))

    def _seen(self) -> float | None:
        """Take in the newest reading. Returns when it came."""
        if self._live is None:
            return None
        reading = self._live.reading
        self._bodies[0].measure(reading)
        return reading.at

    def _picture(self, name: str, feature: Feature, stream: Stream) -> Bytes:
        """A camera's newest frame in the size that is asked for."""
        assert self._live is not None, "recorded trials have no frames here"
        reading, (height, width, _) = self._live.reading, stream.shape or feature.shape
        key, camera = (name, (height, width)), name.rpartition("/")[0]
        fresh = 0.5 / self.file.cameras[camera].rate  # a camera has nothing new within half its period
        if key not in self._pictures or reading.at - self._pictures[key][0] > fresh:
            image = scaled(reading.frames[camera], height, width)
            image = self._noise.blur_image(0, camera, feature, image, int(self._age[0]))
            self._pictures[key] = (reading.at, image)
        return self._pictures[key][1]

    def command(self, slots: np.ndarray, actions: np.ndarray, ticks: np.ndarray) -> None:
        self._seen()
        actions = self._noise.disturb(slots, actions, self.action)
        self._commanded[slots] = actions
        for slot, action, lasts in zip(slots.tolist(), actions, ticks.tolist(), strict=True):
            self._body(slot).command(action, lasts)
            if self._live is not None:
                self._live.acted(lasts * self.tick)

    def advance(self, slots: np.ndarray, ticks: np.ndarray) -> None:
        self._age[slots] += ticks
        if self._live is None:
            return
        self._seen()
        try:
            self._live.tick(self._bodies[0].targets(int(ticks[0])))
        except EpisodeCut as cut:
            self._end[0] = "success" if self._live.signalled_success else cut.end
            self._live.finish(str(cut))
            raise

    def faults(self, slots: np.ndarray) -> dict[int, str]:
        return {}

    def progress(self, slots: np.ndarray) -> np.ndarray | None:
        if not self._bodies[0].judges:
            return None
        return np.array([self._body(slot).progress(int(self._age[slot])) for slot in slots.tolist()], dtype=bool)

    def over(self, slots: np.ndarray) -> np.ndarray:
        """(n,) bool: does the task end the episode here, solved or not?"""
        return np.array([self._body(slot).over() for slot in slots.tolist()], dtype=bool)

    def terminate(self, slots: np.ndarray) -> np.ndarray:
        for slot in slots.tolist():
            self._body(slot).quit()
            self._end[slot] = "terminated"
        return np.ones(len(slots), dtype=bool)

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        if self._live is None:
            return [self._body(slot).verdict() for slot in slots.tolist()]
        self._live.finish()
        self.progress(slots)
        own, seconds = self._bodies[0].verdict(), float(self._age[0] * self.tick)
        metrics = {**own.metrics, **self._live.metrics()}
        if self.judge != "task":
            end = self._end[0] or ("time_limit" if seconds >= self.task.time_limit - self.tick else "stopped")
            judgement, judge = self._live.judge(self._of(0), self._trial[0], seconds, end)
            self._live.judged()
            verdict = judgement.verdict(self.task, seconds, metrics)
            return [verdict if judge == "person" else replace(verdict, judge=judge, score=None)]
        self._live.judged()
        return [
            Verdict(
                success=own.success,
                score=own.score,
                stages=own.stages,
                metrics=metrics,
                events=own.events,
                reason=own.reason,
            )
        ]

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None
        if "driver" in self.__dict__ and callable(end := getattr(self.driver, "close", None)):
            end()  # of a driver in another process

    # -- recorded steps ---------------------------------------------------------------------------------------

    def state(self, slot: int) -> np.ndarray:
        """(n + action,) what the body measures, and the last action."""
        return np.concatenate([self._body(slot).state(), self._commanded[slot]])

    def restore(self, slot: int, state: np.ndarray, tick: int) -> None:
        size = len(self._body(slot).state())
        if np.shape(state) != (size + self.action.size,):
            raise UsageError(
                f"task {self.task.name!r}: the state has {np.size(state)} numbers, and this world has "
                f"{size + self.action.size}"
            )
        self._body(slot).restore(state[:size])
        self._commanded[slot], self._age[slot] = state[size:], tick

    def trace(self, slot: int) -> dict[str, float]:
        """What was measured, wanted and sent, and how many sends were clipped so far, by reason."""
        body = self._body(slot)
        values = {"time": float(self._age[slot] * self.tick), **body.trace()}
        sends = self._live.link.sends if self._live is not None else Sends()
        for name, numbers in (("wanted", sends.wanted), ("sent", sends.sent)):
            known = numbers if len(numbers) else np.full(len(body.map.channels), np.nan)  # nothing was sent yet
            values |= {f"{name}/{c}": float(v) for c, v in zip(body.map.channels, known, strict=True)}
        return values | {f"clipped/{reason}": float(sends.clipped[reason]) for reason in REASONS}

    # ---------------------------------------------------------------------------------------------------------

    def _body(self, slot: int) -> ArmBody | BaseBody:
        if slot not in self._bodies:
            kind = ArmBody if self.file.base is None else BaseBody
            self._bodies[slot] = kind(self.file, self.task, self.controller, self.tick)
        return self._bodies[slot]

    def _of(self, slot: int) -> Scenario:
        scenario = self._scenario[slot]
        assert scenario is not None, "the slot has no episode"
        return scenario
