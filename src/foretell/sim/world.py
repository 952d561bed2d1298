"""The native world: many episodes side by side on MuJoCo's batch. Python runs once per action, not per tick."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.robots import make_controller
from foretell.robots.kinematics import Kinematics
from foretell.rotation import from_axis_angle, multiply, rotate
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.sim.layout import Layout, Rows
from foretell.sim.params import WorldFile, load_world
from foretell.sim.render import Camera, shared_renderer
from foretell.sim.scene import Scene
from foretell.sim.variants import Variant, shared_variants
from foretell.spec import ActionSpec, Stream
from foretell.tasks.task import Task
from foretell.world import Observations, Verdict

__all__ = ["MujocoWorld"]


class MujocoWorld:
    """Slots of one task. Each layout of models has its own batch; slots move between them as scenarios ask."""

    interruptible = True

    def __init__(
        self,
        task: Task,
        world: str | Path | dict[str, Any] | WorldFile = "mujoco",
        *,
        slots: int = 16,
        threads: int = 1,
        controller: str | None = None,
    ):
        self.task, self.slots, self.threads = task, slots, threads
        self.file = load_world(world)
        self.name, self.hash = self.file.name, self.file.hash
        self.scene = Scene(task, self.file)
        # what besides the scenario decides a model; a task with attributes of its own is like no other of its class
        self._kind = (type(self), object() if vars(task) else type(task), self.hash)
        self.tick = self.file.physics.timestep
        self.controller = controller or task.controller
        theta, physics = self.file.theta, self.file.physics
        most_delay = round((theta.actuation_delay + physics.delay_spread) / self.tick)
        self.controllers = {
            name: make_controller(self.controller, robot, slots, self.tick, most_delay)
            for name, robot in self.scene.robots.items()
        }
        specs = [c.action for c in self.controllers.values()]
        self.action = (
            specs[0] if len(specs) == 1 else ActionSpec(self.controller, tuple(d for s in specs for d in s.dims))
        )
        # with free play in the joints, encoders and hand disagree: the robot reports what its encoders say
        self._encoders = (
            {name: Kinematics(robot, slots) for name, robot in self.scene.robots.items()}
            if physics.backlash or theta.sensor_delay
            else {}
        )
        self._late = round(theta.sensor_delay / self.tick)
        self._layouts: dict[Any, Layout] = {}
        self._where: list[Layout | None] = [None] * slots
        self._age = np.zeros(slots, dtype=np.int64)
        self._scenario: list[Scenario | None] = [None] * slots
        self._trial = [0] * slots
        self._dressed: dict[int, Any] = {}
        # each stream draws from a generator of its own: what else a policy reads must not change its noise
        self._noise: list[dict[str, np.random.Generator]] = [{} for _ in range(slots)]
        self._stage_names = [s.name for s in task.stages]
        self._stage_tick = np.full((slots, len(task.stages)), -1, dtype=np.int64)
        self._faults: dict[int, str] = {}
        self._commanded = np.zeros((slots, self.action.size))
        self._sizes = {name: np.ones(slots) for name in task.roles}  # ratio to those of the clean scenario
        self._shaken: set[int] = set()  # slots under a factor that disturbs what is sensed or done

    @property
    def streams(self) -> dict[str, Stream]:
        """Everything that can be observed; a camera's shape here is only its default."""
        known = {}
        for name, robot in self.scene.robots.items():
            joints = len(robot.joints)
            known |= {
                f"{name}/joint_pos": Stream((joints,)),
                f"{name}/joint_vel": Stream((joints,)),
                f"{name}/ee_pos": Stream((3,)),
                f"{name}/ee_quat": Stream((4,)),
                f"{name}/gripper": Stream((1,)),
            }
        movable = self._movable()
        for name in movable:
            known |= {f"{name}/pos": Stream((3,)), f"{name}/quat": Stream((4,)), f"{name}/size": Stream((1,))}
        for camera in self.scene.cameras:
            known[f"{camera}/rgb"] = Stream((224, 224, 3))
        return known

    def _movable(self) -> list[str]:
        for scenario in self._scenario:
            if scenario is not None:
                return list(scenario.placements)
        return list(self.task.scenario(0).placements)

    # -- the seam ---------------------------------------------------------------------------------------------

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        arriving: dict[int, tuple[Layout, list[int], list[Any]]] = {}
        for slot, scenario, trial in zip(slots.tolist(), scenarios, trials, strict=True):
            variant = self._variant(scenario, trial, seen=False)
            model = variant.model
            if variant.sizes not in self._layouts:
                self._layouts[variant.sizes] = Layout(model, self.slots, self.threads, self.scene, self._late)
            layout = self._layouts[variant.sizes]
            self._where[slot], self._scenario[slot], self._trial[slot] = layout, scenario, trial
            self._dressed.pop(slot, None)
            self._noise[slot] = {}
            self._shaken.discard(slot)
            for name, role in self.task.roles.items():
                self._sizes[name][slot] = scenario.factors.get(f"{role}_Size", 1.0)
            if {"Sensor_Noise", "Action_Noise"} & set(scenario.factors):
                self._shaken.add(slot)
            self._faults.pop(slot, None)
            _, ids, models = arriving.setdefault(id(layout), (layout, [], []))
            ids.append(slot)
            models.append(model)
        self._age[slots] = 0
        self._commanded[slots] = 0.0
        self._stage_tick[slots] = -1
        for layout, ids, models in arriving.values():
            rows = np.array(ids, dtype=np.int32)
            layout.load(rows, models)
            for name, controller in self.controllers.items():
                robot = self.scene.robots[name]
                start = np.array([self._start(slot, name) for slot in ids])
                finger = np.full(len(ids), robot.gripper_opening / 2)
                layout.qpos[rows[:, None], layout.arm[name]] = start
                layout.qpos[rows[:, None], layout.finger[name]] = finger[:, None]
                layout.ctrl[rows[:, None], layout.actuators[name]] = np.column_stack([start, finger])
                delay = np.array([self._delay(slot) for slot in ids])
                controller.reset(rows, start, finger, delay)
            layout.forward(rows)

    def _variant(self, scenario: Scenario, trial: int, seen: bool) -> Variant:
        """The model of a scenario: that which is drawn (`seen`), or that which physics runs on."""
        make = self.scene.dress if seen else self.scene.compile
        slip = trial if self.file.physics.placement_noise > 0 else None  # else every trial has the same model
        return shared_variants().get((*self._kind, scenario.id, slip, seen), lambda: make(scenario, trial))

    def _start(self, slot: int, robot: str) -> tuple[float, ...]:
        scenario = self._scenario[slot]
        assert scenario is not None
        start = tuple(scenario.robot_start.get(robot, self.scene.robots[robot].home))
        moved = scenario.factors.get("Robot_Init", {}).get(robot)
        if moved is None:
            return start
        low, high = np.asarray(self.scene.robots[robot].joint_range).T
        return tuple(np.clip(np.add(start, moved), low, high).tolist())

    def _delay(self, slot: int) -> int:
        """Ticks between a target and the actuator in this episode."""
        delay, spread = self.file.theta.actuation_delay, self.file.physics.delay_spread
        if spread > 0:
            scenario = self._scenario[slot]
            assert scenario is not None
            delay = max(0.0, delay + spread * generator(scenario.base, self._trial[slot], "delay").uniform(-1, 1))
        return round(delay / self.tick)

    def observe(self, slots: np.ndarray, streams: dict[str, Stream]) -> Observations:
        values: dict[str, Any] = {}
        pictures: dict[str, Stream] = {}
        whole = self.streams if not set(streams) <= getattr(self, "_known", set()) else {}
        if whole:
            self._known = set(whole)
        for name, stream in streams.items():
            if name not in self._known:
                raise UsageError(f"stream {name!r} is not in this world; {suggest(name, self._known)}")
            if name.endswith("/rgb"):
                pictures[name] = stream
                continue
            parts = [(rows, self._read(layout, slots[rows], name)) for layout, rows in self._split(slots)]
            if len(parts) == 1:
                values[name] = parts[0][1]
            else:
                values[name] = np.empty((len(slots), *parts[0][1].shape[1:]))
                for rows, part in parts:
                    values[name][rows] = part
        for name, stream in pictures.items():
            values[name] = self._render(slots, name.removesuffix("/rgb"), stream)
        values["time"] = self._age[slots] * self.tick
        values["instruction"] = [s.instruction if (s := self._scenario[i]) else "" for i in slots.tolist()]
        return Observations(values, {name: np.maximum(self._age[slots] - self._late, 0) for name in streams})

    def _read(self, layout: Layout, slots: np.ndarray, stream: str) -> np.ndarray:
        owner, _, field = stream.rpartition("/")
        theta = self.file.theta
        if owner in self.scene.robots:
            if field == "joint_pos":
                return self._blur(slots, stream, layout.sensed("qpos", slots)[:, layout.arm[owner]], theta.joint_noise)
            if field == "joint_vel":
                return layout.sensed("qvel", slots)[:, layout.arm_speed[owner]]
            if field == "gripper":  # metres between the pads
                return layout.sensed("qpos", slots)[:, layout.finger[owner]].sum(axis=1, keepdims=True)
            pos, quat = self._hand(layout, slots, owner)
            return pos if field == "ee_pos" else quat
        if field == "size":
            return Rows(layout, slots, self._sizes).size(owner)[:, None]
        body = layout.bodies[owner]
        if self._late:
            at = layout.free[owner]
            pos, quat = np.split(layout.sensed("qpos", slots)[:, at : at + 7], [3], axis=1)
        else:
            pos, quat = layout.xpos[slots, body], layout.xquat[slots, body]
        if field == "pos":
            return self._blur(slots, stream, pos, theta.pose_noise)
        if theta.turn_noise > 0:
            turn = np.zeros((len(slots), 3))
            turn[:, 2:] = self._blur(slots, stream, turn[:, 2:], theta.turn_noise)
            quat = multiply(from_axis_angle(turn), quat)
        return quat

    def _hand(self, layout: Layout, slots: np.ndarray, robot: str) -> tuple[np.ndarray, np.ndarray]:
        """Measured pose of the end effector in the task frame."""
        if not self._encoders:
            return layout.site_xpos[slots, layout.ee[robot]], layout.xquat[slots, layout.hand[robot]]
        pos, quat = self._encoders[robot].forward(slots, layout.sensed("qpos", slots)[:, layout.arm[robot]])
        mount = self.task.robots[robot]
        base = np.broadcast_to(np.asarray(mount.quat), quat.shape)
        return np.asarray(mount.pos) + rotate(base, pos), multiply(base, quat)

    def _blur(self, slots: np.ndarray, stream: str, values: np.ndarray, spread: float) -> np.ndarray:
        """Values as a sensor with Gaussian noise would give them."""
        extra = self._extra(slots, "joint" if stream.endswith("/joint_pos") else "position")
        if extra is not None and not stream.endswith("/quat"):
            values = values + extra * self._normal(slots, f"factor/Sensor_Noise/{stream}", values.shape[1])
        if spread <= 0:
            return values
        return values + spread * self._normal(slots, f"sensor/{stream}", values.shape[1])

    def _extra(self, slots: np.ndarray, kind: str) -> np.ndarray | None:
        """(n, 1) strength of the factor Sensor_Noise, or None where no slot has it."""
        if not self._shaken:
            return None
        strengths = [
            s.factors["Sensor_Noise"][kind] if (s := self._scenario[i]) and "Sensor_Noise" in s.factors else 0.0
            for i in slots.tolist()
        ]
        return np.array(strengths)[:, None] if any(strengths) else None

    def _normal(self, slots: np.ndarray, purpose: str, width: int) -> np.ndarray:
        """(n, width) normal draws, each slot's from its episode's own stream for this purpose."""
        drawn = np.empty((len(slots), width))
        for row, slot in enumerate(slots.tolist()):
            noise = self._noise[slot].get(purpose)
            if noise is None:
                scenario = self._scenario[slot]
                assert scenario is not None
                noise = generator(scenario.base, self._trial[slot], purpose)
                self._noise[slot][purpose] = noise
            drawn[row] = noise.standard_normal(width)
        return drawn

    def _render(self, slots: np.ndarray, camera: str, stream: Stream) -> np.ndarray:
        return np.stack([self.draw(slot, camera, stream, self._sensed(slot)) for slot in slots.tolist()])

    def _sensed(self, slot: int) -> np.ndarray:
        layout = self._where[slot]
        assert layout is not None
        return layout.sensed("qpos", np.array([slot]))[0]

    def draw(self, slot: int, camera: str, stream: Stream, qpos: np.ndarray | None = None) -> np.ndarray:
        """(height, width, 3) uint8: what a camera sees now, or saw at joint positions qpos."""
        height, width, _ = stream.shape or (224, 224, 3)
        camera = camera.removesuffix("/rgb")
        image = self.picture(slot, Camera(camera, height, width), qpos)
        strength = self._extra(np.array([slot]), "image")
        if strength is None:
            return image
        # keyed by what is seen, not by when it is drawn: another process may draw it, later
        scenario, layout = self._scenario[slot], self._where[slot]
        assert scenario is not None and layout is not None
        at = zlib.crc32(np.ascontiguousarray(layout.qpos[slot] if qpos is None else qpos))
        rng = generator(scenario.base, self._trial[slot], f"factor/Sensor_Noise/{camera}/{at}")
        return np.clip(image + strength[0, 0] * rng.standard_normal(image.shape), 0, 255).astype(np.uint8)

    def snapshot(self, slot: int) -> np.ndarray:
        """Joint positions as cameras see them now, from which they can be drawn later, or by another process."""
        return self._sensed(slot).copy()

    def picture(self, slot: int, camera: Camera, qpos: np.ndarray | None = None) -> np.ndarray:
        """(height, width, 3) uint8, upright: what a camera sees now, or saw at joint positions qpos."""
        layout, scenario = self._where[slot], self._scenario[slot]
        assert layout is not None and scenario is not None, "the slot has no episode"
        if slot not in self._dressed:
            self._dressed[slot] = self._variant(scenario, self._trial[slot], seen=True).model
        return shared_renderer().render(self._dressed[slot], layout.qpos[slot] if qpos is None else qpos, camera)

    def _disturbed(self, slots: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Actions under the factor Action_Noise, kept within their range."""
        if not self._shaken:
            return actions
        strength = [s.factors.get("Action_Noise", 0.0) if (s := self._scenario[i]) else 0.0 for i in slots.tolist()]
        if not any(strength):
            return actions
        low, high = self.action.low, self.action.high
        # of half a delta's range; an absolute target in rad or m has a range as wide as the robot's reach
        unit = np.concatenate([np.full(d.size, 1.0 if d.mode == "delta" else 0.1) for d in self.action.dims])
        unit = np.where(unit == 1.0, (high - low) / 2, unit)
        arm = np.concatenate([np.full(d.size, d.meaning != "gripper") for d in self.action.dims])
        disturbed = np.array(actions, dtype=float)
        for row in np.flatnonzero(strength):
            drawn = self._normal(slots[row : row + 1], "factor/Action_Noise", self.action.size)[0]
            noisy = np.clip(actions[row] + strength[row] * unit * drawn, low, high)
            disturbed[row] = np.where(arm, noisy, actions[row])
        return disturbed

    def trace(self, slot: int) -> dict[str, float]:
        """The true state in m and the last action, for whoever films: a sensor read here would use up its noise."""
        layout, scenario = self._where[slot], self._scenario[slot]
        assert layout is not None and scenario is not None, "the slot has no episode"
        state = Rows(layout, np.array([slot]), self._sizes)
        points = {name: state.ee_pos(name)[0] for name in self.scene.robots}
        points |= {name: state.pos(name)[0] for name in scenario.placements}
        said = {f"{name}/{axis}": float(v) for name, p in points.items() for axis, v in zip("xyz", p, strict=True)}
        said |= {f"{name}/gripper": float(layout.qpos[slot, layout.finger[name]].sum()) for name in self.scene.robots}
        meanings = [d.meaning for d in self.action.dims for _ in range(d.size)]
        done = {f"action/{i} {m}": float(self._commanded[slot, i]) for i, m in enumerate(meanings)}
        return {"time": float(self._age[slot] * self.tick), **said, **done}

    def command(self, slots: np.ndarray, actions: np.ndarray, ticks: np.ndarray) -> None:
        actions = self._disturbed(slots, actions)
        self._commanded[slots] = actions
        for layout, rows in self._split(slots):
            ids, at = slots[rows], 0
            for name, controller in self.controllers.items():
                size = controller.action.size
                controller.command(
                    ids,
                    actions[rows, at : at + size],
                    layout.qpos[ids[:, None], layout.arm[name]],
                    layout.qpos[ids[:, None], layout.finger[name]].mean(axis=1),
                    ticks[rows],
                )
                at += size

    def advance(self, slots: np.ndarray, ticks: np.ndarray) -> None:
        for layout, rows in self._split(slots):
            for count in np.unique(ticks[rows]).tolist():
                ids = slots[rows][ticks[rows] == count]
                if count > 0:
                    targets = np.empty((len(ids), count, layout.model.nu))
                    for name, controller in self.controllers.items():
                        targets[:, :, layout.actuators[name]] = controller.targets(ids, count)
                    self._faults |= layout.advance(ids, targets)
        self._age[slots] += ticks

    def faults(self, slots: np.ndarray) -> dict[int, str]:
        if not self._faults:
            return {}
        return {i: f"physics diverged: {self._faults[i]}" for i in slots.tolist() if i in self._faults}

    def progress(self, slots: np.ndarray) -> np.ndarray:
        solved = np.empty(len(slots), dtype=bool)
        for layout, rows in self._split(slots):
            ids = slots[rows]
            state = Rows(layout, ids, self._sizes)
            solved[rows] = self.task.solved(state)
            now = self.task.reached(state)
            for column, name in enumerate(self._stage_names):
                first = now[name] & (self._stage_tick[ids, column] < 0)
                self._stage_tick[ids[first], column] = self._age[ids[first]]
        return solved

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        solved = self.progress(slots)
        verdicts = []
        for success, slot in zip(solved.tolist(), slots.tolist(), strict=True):
            ticks = self._stage_tick[slot]
            stages = {n: float(t * self.tick) for n, t in zip(self._stage_names, ticks, strict=True) if t >= 0}
            verdicts.append(Verdict(success, len(stages) / max(1, len(ticks)), stages))
        return verdicts

    def close(self) -> None:
        self._layouts.clear()
        self._where = [None] * self.slots

    # ---------------------------------------------------------------------------------------------------------

    def _split(self, slots: np.ndarray) -> Iterator[tuple[Layout, Any]]:
        """The layouts these slots are in, each with the positions (in `slots`) of its own."""
        if len(self._layouts) == 1:
            yield next(iter(self._layouts.values())), slice(None)
            return
        of = [id(self._where[slot]) for slot in slots.tolist()]
        for layout in self._layouts.values():
            rows = np.flatnonzero(np.array(of) == id(layout))
            if len(rows):
                yield layout, rows

    @property
    def params(self) -> dict[str, Any]:
        """θ and physics, as they stand in an episode's row; and the scenarios that they were fitted to, if any."""
        params = {"theta": self.file.theta.model_dump(), "physics": self.file.physics.model_dump()}
        return {**params, "fitted_to": list(self.file.fitted_to)} if self.file.fitted_to else params

    def ticks(self, seconds: float) -> int:
        """Whole ticks in a time."""
        return math.floor(seconds / self.tick + 1e-9)
