"""The body of a mobile base: actions become speeds for a time, and localisation says how far it got."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.hardware.body import Body, embodiment, solved_now
from foretell.hardware.file import RobotFile
from foretell.hardware.mapping import BaseMap
from foretell.hardware.reading import Reading
from foretell.planar.events import TravelEvents
from foretell.planar.geometry import room_of
from foretell.planar.sensors import as_polar, in_frame
from foretell.planar.ways import Ways
from foretell.robots.base import BaseController
from foretell.robots.controller import controllers
from foretell.scenario import Scenario
from foretell.sim.stages import Stages
from foretell.spec import Feature
from foretell.tasks.journey import Journey
from foretell.tasks.pointnav import PointNav
from foretell.tasks.task import Task
from foretell.world import Verdict

__all__ = ["BaseBody"]

SLOT = np.zeros(1, dtype=np.int32)


class BaseBody(Body):
    """A base in one trial. The task judges it by where localisation says that it is."""

    judges = True

    def __init__(self, file: RobotFile, task: Task, controller: str, tick: float):
        if not isinstance(task, PointNav):
            raise UsageError(
                f"world: task {task.name!r} does not navigate, and the base of {file.name!r} runs `pointnav`"
            )
        self.name, self.robot = embodiment(file, task)
        self.map, self._task, self._tick = BaseMap(file, self.robot), task, tick
        self.controllers, self.action = controllers(controller, {self.name: self.robot}, 1, tick)
        base = next(iter(self.controllers.values()), None)
        if not isinstance(base, BaseController):
            raise UsageError(f"controller: {controller!r:.100} does not drive a base; use steps, steps_10 or velocity")
        self._base = base
        entry, own = self.map.entry, self.robot.features
        there = ["gps", "compass", "pose", *(name for name in ("bump", "lidar") if getattr(entry, name) is not None)]
        self.features: dict[str, Feature] = {f"{self.name}/{name}": own[name] for name in there}
        self.features["goal/polar"] = Feature(
            kind="position", shape=(2,), unit="m, rad", frame="base", noise="position"
        )
        self.features["route/ahead"] = Feature(
            kind="position", shape=(3,), unit="rad, m, m", frame="base", optional=True
        )
        self._from_start = entry.frame == "start"
        self._ways, self._stages, self._events = Ways(1), Stages(task.stages, 1), TravelEvents(1, tick)
        self._start, self._goal, self._home = np.zeros(3), np.zeros(2), np.zeros(3)
        self._origin, self._pose, self._turn = np.zeros(3), np.zeros(3), np.zeros(3)
        self._bump, self._lidar = 0.0, np.zeros(0)
        self._shortest, self._before, self._collisions = 1.0, 0.0, 0
        self._stopped, self._judged = False, 0
        self._left, self._speeds = 0, np.zeros(2)

    def begin(self, scenario: Scenario) -> None:
        self._task.check(scenario)
        room, home = room_of(scenario.placements["room"].asset), scenario.placements["room"].pos
        self._home = np.array([home[0], home[1], 0.0])
        self._start = np.subtract(scenario.start[self.name], self._home)
        self._goal = np.subtract(scenario.placements["goal"].pos[:2], home[:2])
        self._ways.start(0, room, self._goal)
        given = scenario.facts.get("shortest")
        self._shortest = self._ways.remaining(0, self._start) if given is None else given
        self._stages.start(SLOT)
        self._pose = self._turn = self._start.copy()
        self._events.start(SLOT, self._start[None])
        self._before, self._collisions, self._stopped, self._judged = 0.0, 0, False, 0
        self._left, self._speeds, self._bump = 0, np.zeros(2), 0.0

    def start(self, reading: Reading) -> None:
        self._origin = reading.channels
        self._bump = reading.bump
        self.measure(reading)
        self._turn, self._before, self._collisions = self._pose.copy(), 0.0, 0

    def off_start(self, reading: Reading) -> tuple[float, float]:
        """m and rad by which the robot is not where the scenario starts; 0 where poses count from there."""
        if self._from_start:
            return 0.0, 0.0
        away = in_frame((reading.channels - self._home)[None], self._start[None])[0]
        return float(np.hypot(away[0], away[1])), abs(float(away[2]))

    def measure(self, reading: Reading) -> None:
        if self._from_start:  # from the first reading, which is where the scenario starts
            x, y, turn = in_frame(reading.channels[None], self._origin[None])[0]
            cos, sin = np.cos(self._start[2]), np.sin(self._start[2])
            self._pose = self._start + np.array([cos * x - sin * y, sin * x + cos * y, turn])
        else:
            self._pose = reading.channels - self._home
        self._collisions += int(reading.bump > 0 >= self._bump)
        self._bump, self._lidar = reading.bump, reading.lidar

    def read(self, name: str) -> Floats:
        kind = name.rpartition("/")[2]
        if kind == "pose":
            return self._pose.copy()
        if kind == "bump":
            return np.array([self._bump > 0], dtype=float)
        if kind == "lidar":
            return self._lidar
        if kind == "polar":
            return np.asarray(as_polar(self._pose[None], self._goal[None])[0])
        if kind == "ahead":
            return np.asarray(self._ways.ahead(SLOT, self._pose[None])[0])
        place = in_frame(self._pose[None], self._start[None])[0]
        return np.asarray(place[:2] if kind == "gps" else place[2:])

    def command(self, action: Floats, ticks: int) -> None:
        motion = self._base.motion(action[None], np.array([ticks * self._tick]))
        self._before, self._turn = self._travelled(), self._pose.copy()
        self._stopped = bool(motion.stops[0])
        self._events.command(SLOT, self._base.moves(action[None], self._pose[None]), np.array([self._bump > 0]))
        seconds = float(motion.seconds[0])
        self._left = int(np.ceil(seconds / self._tick - 1e-9)) if seconds > 0 else 0
        self._speeds = np.array([motion.ahead[0], motion.turn[0]]) / max(seconds, self._tick)

    def targets(self, ticks: int) -> Floats:
        moving = self._left >= ticks and not self._stopped
        self._left -= ticks
        return self._speeds.copy() if moving else np.zeros(2)

    def _travelled(self) -> float:
        """m: the sum of straight lines between the beginnings of actions, up to now. Noise of a localisation that is
        looked at more often would make the way longer."""
        return self._before + float(np.hypot(*(self._pose - self._turn)[:2]))

    def _journey(self) -> Journey:
        return Journey(
            remaining=np.array([self._ways.remaining(0, self._pose)]),
            shortest=np.array([self._shortest]),
            travelled=np.array([self._travelled()]),
            collisions=np.array([self._collisions]),
            stopped=np.array([self._stopped]),
            subtask=np.zeros(1, dtype=np.int64),
        )

    def progress(self, tick: int) -> bool:
        state: Any = self._journey()
        fresh = np.array([tick > self._judged])
        self._stages.latch(SLOT, np.array([tick]), fresh, self._task.reached(state))
        if fresh[0]:
            self._events.look(SLOT, self._pose[None], np.array([tick]))
        self._judged = tick
        return solved_now(self._task.solved(state))

    def over(self) -> bool:
        state: Any = self._journey()
        return solved_now(self._task.over(state))

    def quit(self) -> None:
        self._stopped = True

    def verdict(self) -> Verdict:
        state: Any = self._journey()
        spent = self._collisions > self._task.COLLISIONS
        return Verdict(
            success=solved_now(self._task.solved(state)),
            score=float(self._task.score(state)[0]),
            stages=self._stages.times(0, self._tick),
            metrics={name: float(values[0]) for name, values in self._task.metrics(state).items()},
            events=self._events.counts(0, self._collisions) | ({"ended_early": 0.0} if spent else {}),
            reason=f"more than {self._task.COLLISIONS} collisions" if spent else None,
        )

    def state(self) -> Floats:
        return np.array([*self._pose, self._travelled(), self._collisions, self._stopped], dtype=float)

    def restore(self, state: Floats) -> None:
        self._pose = self._turn = np.asarray(state[:3], dtype=float)
        self._before, self._collisions, self._stopped = float(state[3]), round(float(state[4])), bool(state[5])

    def trace(self) -> dict[str, float]:
        x, y, yaw = self._pose.tolist()
        goal = {"goal_x": float(self._goal[0]), "goal_y": float(self._goal[1])}
        return {"x": x, "y": y, "yaw": yaw, **goal, "collisions": float(self._collisions)}
