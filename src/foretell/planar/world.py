"""The planar world: many mobile robots among walls side by side, in numpy. MuJoCo only draws pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera, Intrinsics, camera_features
from foretell.errors import UsageError
from foretell.planar.actuators import Actuators
from foretell.planar.bases import Bases
from foretell.planar.events import TravelEvents
from foretell.planar.geometry import Geometry, room_of
from foretell.planar.localisation import Localisation
from foretell.planar.motion import collides, travel
from foretell.planar.params import PlanarFile
from foretell.planar.picture import CAMERAS, Pictures
from foretell.planar.sensors import Rays, as_polar, in_frame
from foretell.planar.ways import Ways
from foretell.registry import resolve
from foretell.robots.base import BaseController
from foretell.robots.controller import controllers
from foretell.robots.locobot import LoCoBot
from foretell.scenario import Scenario
from foretell.sim.stages import Stages
from foretell.spec import Feature, Stream
from foretell.tasks.journey import Journey
from foretell.tasks.pointnav import PointNav
from foretell.tasks.task import Task
from foretell.world import Observations, Verdict
from foretell.world_file import WorldFile

__all__ = ["PlanarWorld"]

STAND_IN = "planar_standin"
"""Kind of the world files that play reality."""
ROBOT = "locobot"


class PlanarWorld:
    """Slots of one navigation task, each with its own room."""

    File = PlanarFile
    real = False
    can = frozenset({"wait", "pause", "draw", "snapshot", "reset"})
    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        task: Task,
        world: str | Path | Mapping[str, Any] | WorldFile = "planar",
        *,
        slots: int = 16,
        threads: int = 1,
        controller: str | None = None,
    ):
        if not isinstance(task, PointNav):
            raise UsageError(f"world: task {task.name!r} does not navigate, and a planar world runs `pointnav` only")
        self.task, self.slots = task, slots
        self.file = PlanarFile.load(world)
        self.name, self.hash, self.params = self.file.name, self.file.hash, self.file.params
        self.stands_in = self.file.kind == STAND_IN
        robot = resolve("robots", task.robots[ROBOT].robot)()
        self.tick = robot.steps.tick
        self.controller = controller or task.controller
        moving, self.action = controllers(self.controller, {ROBOT: robot}, slots, self.tick)
        self._base = next(iter(moving.values()), None)
        if not isinstance(self._base, BaseController):
            raise UsageError(
                f"controller: {self.controller!r:.100} does not drive a base; use steps, steps_10 or velocity"
            )
        self.features = _features(robot)
        theta = self.file.theta
        self._geometry, self._bases = Geometry(slots, self.file), Bases(slots)
        self._actuators = Actuators(slots, theta, self.file.physics)
        self._localisation, self._rays = Localisation(slots, theta.localisation), Rays(self._geometry, theta)
        self._ways, self._pictures = Ways(slots), Pictures(self.file)
        self._events = TravelEvents(slots, self.tick)
        self._stages = Stages(task.stages, slots)
        self._scenario: list[Scenario | None] = [None] * slots
        self._key: list[tuple[str, int]] = [("", 0)] * slots
        self._start, self._goal = np.zeros((slots, 3)), np.zeros((slots, 2))
        self._shortest, self._remaining = np.ones(slots), np.ones(slots)
        self._age, self._step, self._judged = (np.zeros(slots, dtype=np.int64) for _ in range(3))
        self._stopped, self._commanded = np.zeros(slots, dtype=bool), np.zeros((slots, self.action.size))

    @property
    def cameras(self) -> list[str]:
        return list(CAMERAS)

    # -- the seam ---------------------------------------------------------------------------------------------

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        for slot, scenario, trial in zip(slots.tolist(), scenarios, trials, strict=True):
            length = self.task.length(scenario)
            room, home = room_of(scenario.placements["room"].asset), scenario.placements["room"].pos
            self._scenario[slot], self._key[slot] = scenario, (scenario.base, trial)
            self._start[slot] = np.subtract(scenario.start[ROBOT], (home[0], home[1], 0.0))
            self._goal[slot] = np.subtract(scenario.placements["goal"].pos[:2], home[:2])
            self._geometry.start(slot, room)
            self._ways.start(slot, room, self._goal[slot])
            for part in (self._actuators, self._localisation):
                part.start(slot, scenario.base, trial)
            self._shortest[slot] = scenario.facts.get("shortest", length)
        for counter in (self._age, self._step, self._judged, self._stopped, self._commanded):
            counter[slots] = 0
        self._bases.start(slots, self._start[slots])
        self._stages.start(slots)
        self._events.start(slots, self._start[slots])

    def observe(self, slots: np.ndarray, streams: dict[str, Stream]) -> Observations:
        values: dict[str, Any] = {}
        pose = self._bases.pose(slots)
        for name, stream in streams.items():
            if name not in self.features:
                raise UsageError(f"stream: {name!r} is not in world {self.name!r}; it has {', '.join(self.features)}")
            if self.features[name].image:
                values[name] = np.stack([self.draw(slot, name, stream) for slot in slots.tolist()])
            else:
                values[name] = self._read(name, slots, pose)
        values["time"] = self._age[slots] * self.tick
        values["instruction"] = [self._of(slot).instruction for slot in slots.tolist()]
        return Observations(values, dict.fromkeys(streams, self._age[slots]))

    def _read(self, name: str, slots: np.ndarray, pose: Floats) -> Floats:
        ticks, keys = self._age[slots], [self._key[slot] for slot in slots.tolist()]
        if name == f"{ROBOT}/lidar":
            return self._rays.lidar(slots, pose, ticks, keys)
        if name == f"{ROBOT}/depth_rays":
            return self._rays.depth(slots, pose, ticks, keys)
        if name == f"{ROBOT}/bump":
            return np.asarray(self._bases.touched[slots], dtype=np.float64)[:, None]
        if name == f"{ROBOT}/pose":
            return pose
        if name == "route/ahead":
            return self._ways.ahead(slots, pose)
        believed = self._localisation.believed(slots, pose)
        if name == "goal/polar":
            return as_polar(believed, self._goal[slots])
        place = in_frame(believed, self._start[slots])
        return place[:, :2] if name == f"{ROBOT}/gps" else place[:, 2:]

    def command(self, slots: np.ndarray, actions: np.ndarray, ticks: np.ndarray) -> None:
        assert isinstance(self._base, BaseController)
        motion = self._base.motion(actions, ticks * self.tick)
        steps, pose = self._step[slots], self._bases.pose(slots)
        body, turn = self._actuators.disturbed(slots, motion, steps)
        cos, sin = np.cos(pose[:, 2]), np.sin(pose[:, 2])
        move = np.stack([cos * body[:, 0] - sin * body[:, 1], sin * body[:, 0] + cos * body[:, 1]], axis=1)
        walls, _ = self._geometry.of(slots)
        points, times = travel(pose[:, :2], move, walls, LoCoBot.RADIUS, self.file.theta.sliding)
        hits = collides(pose[:, :2], pose[:, :2] + move, points[:, -1]) & (motion.ahead > 0)
        lasts = np.ceil(motion.seconds / self.tick - 1e-9).astype(np.int64)
        self._bases.begin(
            slots, pose, points=points, times=times, turn=turn, ticks=lasts, touches=np.where(hits, times[:, 1], np.inf)
        )
        self._localisation.step(slots, steps)
        self._events.command(slots, self._base.moves(actions, pose), hits)
        self._stopped[slots], self._commanded[slots] = motion.stops, actions
        self._step[slots] += 1

    def advance(self, slots: np.ndarray, ticks: np.ndarray) -> None:
        self._bases.advance(slots, ticks)
        self._age[slots] += ticks

    def faults(self, slots: np.ndarray) -> dict[int, str]:
        return {}

    def progress(self, slots: np.ndarray) -> np.ndarray:
        state: Any = self._journey(slots)
        solved = self.task.solved(state)
        fresh = self._age[slots] > self._judged[slots]
        self._stages.latch(slots, self._age[slots], fresh, self.task.reached(state))
        if fresh.any():
            self._events.look(slots[fresh], self._bases.pose(slots[fresh]), self._age[slots[fresh]])
        self._judged[slots] = self._age[slots]
        return solved

    def over(self, slots: np.ndarray) -> np.ndarray:
        """(n,) bool: does the task end the episode here, solved or not? After `progress`, which measures the way."""
        state: Any = self._as_journey(slots, self._remaining[slots], self._bases.travelled(slots))
        return self.task.over(state)

    def terminate(self, slots: np.ndarray) -> np.ndarray:
        self._stopped[slots] = True
        return np.ones(len(slots), dtype=bool)

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        self.progress(slots)
        verdicts = []
        for slot in slots.tolist():
            state: Any = self._journey(np.array([slot]), exact=True)
            (solved,), (score,) = self.task.solved(state), self.task.score(state)
            events = self._events.counts(slot, int(self._bases.collisions[slot]))
            spent = bool(self._bases.collisions[slot] > self.task.COLLISIONS)
            verdicts.append(
                Verdict(
                    success=bool(solved),
                    score=float(score),
                    stages=self._stages.times(slot, self.tick),
                    metrics={name: float(values[0]) for name, values in self.task.metrics(state).items()},
                    events=events | ({"ended_early": 0.0} if spent else {}),
                    reason=f"more than {self.task.COLLISIONS} collisions" if spent else None,
                )
            )
        return verdicts

    def close(self) -> None:
        self._scenario = [None] * self.slots

    # -- pictures and states ----------------------------------------------------------------------------------

    def draw(self, slot: int, stream: str, wanted: Stream, seen: np.ndarray | None = None) -> np.ndarray:
        """What a camera's stream shows now, or showed at a snapshot: (height, width, channels)."""
        feature, qpos = self.features[stream], self.snapshot(slot) if seen is None else seen
        tick, (base, trial) = int(self._age[slot]), self._key[slot]
        shape = wanted.shape or feature.shape
        return self._pictures.see(
            self._room(slot),
            qpos,
            camera=stream.rpartition("/")[0],
            kind=feature.kind,
            shape=shape,
            key=(base, trial, tick),
        )

    def picture(
        self, slot: int, camera: str | Camera, height: int, width: int, seen: np.ndarray | None = None
    ) -> np.ndarray:
        """(height, width, 3) uint8 for a film."""
        qpos = self.snapshot(slot) if seen is None else seen
        return self._pictures.film(self._room(slot), qpos, camera, height, width)

    def intrinsics(self, camera: str, height: int, width: int, slot: int | None = None) -> Intrinsics:
        room = self._room(slot) if slot is not None else self.task.layouts()[0].placements["room"].asset
        return self._pictures.lens(room, camera, height, width)

    def snapshot(self, slot: int) -> Floats:
        """(5,) x, y and heading of the robot, and the goal's x and y."""
        return np.concatenate([self._bases.pose(np.array([slot]))[0], self._goal[slot]])

    def require_drawing(self) -> None:
        self._pictures.require()

    def state(self, slot: int) -> Floats:
        """(7 + action,) pose, m travelled, collisions, whether it collides and whether it stopped, the last action."""
        at = np.array([slot])
        bases = self._bases
        numbers = [bases.travelled(at)[0], bases.collisions[slot], bases.touched[slot], self._stopped[slot]]
        return np.concatenate([bases.pose(at)[0], np.array(numbers, dtype=float), self._commanded[slot]])

    def restore(self, slot: int, state: np.ndarray, tick: int) -> None:
        if np.shape(state) != (7 + self.action.size,):
            raise UsageError(
                f"task {self.task.name!r}: the state has {np.size(state)} numbers, and this world has "
                f"{7 + self.action.size}"
            )
        travelled, collisions, touched, stopped = state[3:7].tolist()
        self._bases.put(
            slot, np.asarray(state[:3]), collisions=round(collisions), travelled=travelled, touched=touched > 0
        )
        self._stopped[slot], self._commanded[slot], self._age[slot] = stopped > 0, state[7:], tick

    def trace(self, slot: int) -> dict[str, float]:
        x, y, yaw, *_ = self.snapshot(slot).tolist()
        believed = (self._bases.pose(np.array([slot])) + self._localisation.error[slot])[0].tolist()
        named = {"x": x, "y": y, "yaw": yaw} | dict(
            zip(("believed_x", "believed_y", "believed_yaw"), believed, strict=True)
        )
        named |= {"goal_x": float(self._goal[slot, 0]), "goal_y": float(self._goal[slot, 1])}
        return {"time": float(self._age[slot] * self.tick), **named, "collisions": float(self._bases.collisions[slot])}

    # ---------------------------------------------------------------------------------------------------------

    def _of(self, slot: int) -> Scenario:
        scenario = self._scenario[slot]
        assert scenario is not None, "the slot has no episode"
        return scenario

    def _room(self, slot: int) -> str:
        return self._of(slot).placements["room"].asset

    def _journey(self, slots: np.ndarray, exact: bool = False) -> Journey:
        """The state that the task judges. Far from the goal the straight line stands for the way along the floor, which
        is longer still, unless `exact`."""
        pose = self._bases.pose(slots)
        gap = pose[:, :2] - self._goal[slots]
        remaining = np.sqrt(gap[:, 0] ** 2 + gap[:, 1] ** 2)
        near: Bools = np.ones(len(slots), dtype=bool) if exact else remaining < self.task.horizon(self._shortest[slots])
        for row in np.flatnonzero(near).tolist():
            remaining[row] = self._ways.remaining(int(slots[row]), pose[row])
        self._remaining[slots] = remaining
        return self._as_journey(slots, remaining, self._bases.travelled(slots, pose))

    def _as_journey(self, slots: np.ndarray, remaining: Floats, travelled: Floats) -> Journey:
        return Journey(
            remaining=remaining,
            shortest=self._shortest[slots],
            travelled=travelled,
            collisions=self._bases.collisions[slots],
            stopped=self._stopped[slots],
            subtask=np.zeros(len(slots), dtype=np.int64),
        )


def _features(robot: LoCoBot) -> dict[str, Feature]:
    features = {f"{ROBOT}/{name}": feature for name, feature in robot.features.items()}
    features["goal/polar"] = Feature(kind="position", shape=(2,), unit="m, rad", frame="base", noise="position")
    features["route/ahead"] = Feature(kind="position", shape=(3,), unit="rad, m, m", frame="base", optional=True)
    size = LoCoBot.PIXELS
    for camera in CAMERAS:
        seen = camera_features(camera, size, size)
        features |= {f"{camera}/{name}": feature for name, feature in seen.items() if name != "segmentation"}
    return features
