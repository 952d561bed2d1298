"""The world of a rehearsal, in real time. One thread owns it and draws for its cameras; others ask that thread."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.hardware.rehearsal.arm import RehearsedArm
from foretell.hardware.rehearsal.base import RehearsedBase
from foretell.scenario import Scenario
from foretell.spec import Stream
from foretell.world import Recordable, World

__all__ = ["RehearsalTable"]

SLOT = np.zeros(1, dtype=np.int32)
ROUND_S = 0.01
"""Wall seconds from one round to the next: read, drive, let time pass."""
BEHIND_S = 0.25
"""Wall seconds that a busy machine may be behind; beyond that the world loses time, and says how much."""
SETTLES_S = 0.2
"""Simulated seconds after which what was put on top of something has moved."""
SLIPPED = 0.02
"""m by which an object may lie beside its place once the table is set: more, and something stood there."""


class RehearsalTable:
    """A world with one robot on it, which is as far as its clock on the wall says."""

    def __init__(
        self, world: World, robot: RehearsedArm | RehearsedBase, cameras: dict[str, tuple[int, int, int]], rate: float
    ):
        """`cameras`: camera -> shape of its pictures, so many a second."""
        self.world, self.robot, self._cameras, self._every = world, robot, cameras, 1.0 / rate
        self.latest: dict[str, Any] = {}
        """The newest observation; never changed, only replaced."""
        self.lost = 0.0
        """Wall seconds by which the world fell behind, in all."""
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._frames: dict[str, Any] = {}
        self._drawn = self._judged = -np.inf
        self._scenario = world.task.scenario(0)
        self._lay(self._scenario, 0)

    # -- from any thread --------------------------------------------------------------------------------------

    def ask(self, job: Callable[[], Any]) -> Any:
        """Have the world's thread do something, and return what it returns."""
        promise: Future[Any] = Future()
        self._jobs.put((job, promise))
        return promise.result()

    def send(self, action: dict[str, Any]) -> dict[str, float]:
        """Targets for the robot; returns them as it takes them."""
        sent = self.robot.clipped(action)
        self._jobs.put((lambda: self.robot.drive(self.world, sent), Future()))
        return sent

    # -- in the world's thread --------------------------------------------------------------------------------

    def run(self, ended: Callable[[], bool]) -> None:
        """Let time pass."""
        self._look()
        origin, done = time.monotonic(), 0
        while not ended():
            self._work()
            now = time.monotonic()
            due = int((now - origin) / self.world.tick) - done
            if due * self.world.tick > BEHIND_S:
                self.lost += due * self.world.tick - BEHIND_S
                due = int(BEHIND_S / self.world.tick)
                origin, done = now - due * self.world.tick, 0
            if due > 0:
                self.robot.go_on(self.world)
                self.world.advance(SLOT, np.array([due]))
                done += due
            self._look()
            time.sleep(max(0.0, ROUND_S - (time.monotonic() - now)))

    def set(self, scenario: Scenario, trial: int, moved: str) -> None:
        """Put everything where a scenario has it; an arm stays where it stands (`stay`) or is moved `home`."""
        if scenario.task != self.world.task.name:
            raise UsageError(f"set: the scenario is of task {scenario.task!r}; this is {self.world.task.name!r}")
        if moved not in ("stay", "home"):
            raise UsageError(f"set: moved is {moved!r:.50}; it should be stay or home")
        self._scenario = scenario
        self._lay(self.robot.start(self.world, scenario, moved), trial)
        self.world.advance(SLOT, np.array([round(SETTLES_S / self.world.tick)]))
        assert isinstance(self.world, Recordable)
        lies = self.world.trace(0)
        for name, place in scenario.placements.items():
            if f"{name}/x" not in lies:
                continue
            at = np.array([lies[f"{name}/{axis}"] for axis in "xyz"])
            if (slip := float(np.linalg.norm(at - place.pos))) > SLIPPED:
                raise UsageError(f"set: the arm is in the way of {name}, which lies {slip:.2f} m off: move it home")

    def truth(self) -> dict[str, Any]:
        """How the world's own task judges what happened since the table was set."""
        (verdict,) = self.world.verdict(SLOT)
        seconds = float(self.world.observe(SLOT, {})["time"][0])
        whole = {name: getattr(verdict, name) for name in ("success", "score", "stages", "events", "metrics")}
        return {**whole, "seconds": seconds, "scenario": self._scenario.id, "lost": self.lost}

    def _lay(self, scenario: Scenario, trial: int) -> None:
        self.world.reset(SLOT, [scenario], [trial])
        self._drawn = self._judged = -np.inf
        self._look()

    def _work(self) -> None:
        while True:
            try:
                job, promise = self._jobs.get_nowait()
            except queue.Empty:
                return
            try:
                promise.set_result(job())
            except BaseException as error:
                promise.set_exception(error)

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._judged >= 1.0 / self.world.task.action_rate:
            self.world.progress(SLOT)
            self._judged = now
        if self._cameras and now - self._drawn >= self._every:
            seen = self.world.observe(SLOT, {f"{name}/rgb": Stream(shape) for name, shape in self._cameras.items()})
            self._frames = {name: seen[f"{name}/rgb"][0] for name in self._cameras}
            self._drawn = now
        self.latest = {**self.robot.read(self.world), **self._frames}
