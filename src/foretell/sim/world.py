"""The native world: many episodes side by side on MuJoCo's batch. Python runs once per action, not per tick."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell import factors
from foretell.arrays import Floats
from foretell.camera import Camera, Intrinsics
from foretell.errors import UsageError, suggest
from foretell.robots.controller import controllers, counted
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.sim.images import Images
from foretell.sim.layout import Layout, forget
from foretell.sim.noise import Noise
from foretell.sim.params import MujocoFile, load_world
from foretell.sim.render import shared_renderer
from foretell.sim.scene import Scene, lens_of
from foretell.sim.sensors import Sensors
from foretell.sim.shapes import DrawnShape, poses, shapes
from foretell.sim.stages import Stages
from foretell.sim.state import Rows
from foretell.sim.trace import traced
from foretell.sim.variants import Variant, shared_variants
from foretell.sim.viewer import Viewer
from foretell.spec import Feature, Stream
from foretell.tasks.events import EventCounter
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task
from foretell.world import ABILITIES, Observations, Verdict
from foretell.world_file import WorldFile

__all__ = ["MujocoWorld"]

STAND_IN = "standin"
"""Kind of the world files that play reality."""


class MujocoWorld:
    """Slots of one task. Each layout of models has its own batch; slots move between them as scenarios ask."""

    File = MujocoFile
    real = False
    can = frozenset(ABILITIES)
    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        task: Task,
        world: str | Path | Mapping[str, Any] | WorldFile = "mujoco",
        *,
        slots: int = 16,
        threads: int = 1,
        controller: str | None = None,
    ):
        if not isinstance(task, TabletopTask):
            raise UsageError(f"world: task {task.name!r} is no TabletopTask, so MuJoCo cannot simulate it")
        self.task, self.slots, self.threads = task, slots, threads
        self.file = load_world(world)
        self.name, self.hash = self.file.name, self.file.hash
        self.stands_in = self.file.kind == STAND_IN
        self.scene = Scene(task, self.file)
        # what besides the scenario decides a model; a task with attributes of its own is like no other of its class
        self._kind = (type(self), object() if vars(task) else type(task), self.hash)
        self.tick = self.scene.steps.tick
        self.require_looks = self.scene.require_looks
        self.controller = controller or task.controller
        theta, physics = self.file.theta, self.file.physics
        most_delay = round((theta.actuation_delay + physics.delay_spread) / self.tick)
        self.controllers, self.action = controllers(self.controller, self.scene.robots, slots, self.tick, most_delay)
        self._noise = Noise(slots)
        self._sensors = Sensors(self.scene, self._noise, slots)
        self._late, self._images = round(theta.sensor_delay / self.tick), Images(self.scene, self._noise)
        self._layouts: dict[Any, Layout] = {}
        self._events: dict[int, EventCounter] = {}  # by id of the layout
        self._looked = np.zeros(slots, dtype=np.int64)  # tick at which events were last looked for
        self._where: list[Layout | None] = [None] * slots
        self._age, self._subtask = np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)
        self._memory = np.zeros((slots, task.memory))
        self._scenario: list[Scenario | None] = [None] * slots
        self._trial = [0] * slots
        self._dressed: dict[int, Any] = {}
        self._stages = Stages(task.stages, slots)
        self._faults: dict[int, str] = {}
        self._commanded = np.zeros((slots, self.action.size))
        self._sizes = {name: np.ones(slots) for name in task.roles}  # ratio to those of the clean scenario
        self._assets: dict[str, list[str]] = {}

    @property
    def features(self) -> dict[str, Feature]:
        return self.scene.features

    @property
    def params(self) -> dict[str, Any]:
        return self.scene.params

    @property
    def notes(self) -> list[str]:
        return self.file.without_effect([type(robot) for robot in self.scene.robots.values()])

    @property
    def cameras(self) -> list[str]:
        return self.scene.cameras

    @property
    def legend(self) -> dict[str, int]:
        """Part -> its id in every segmentation of this task; -1 is the background."""
        return dict(self.scene.segments.ids)

    # -- the seam ---------------------------------------------------------------------------------------------

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        arriving: dict[int, tuple[Layout, list[int], list[Any]]] = {}
        for slot, scenario, trial in zip(slots.tolist(), scenarios, trials, strict=True):
            variant = self._variant(scenario, trial, seen=False)
            model = variant.model
            if variant.sizes not in self._layouts:
                self._layouts[variant.sizes] = made = Layout(
                    model, slots=self.slots, threads=self.threads, scene=self.scene, delay=self._late
                )
                self._events[id(made)] = made.counter()
            layout = self._layouts[variant.sizes]
            self._where[slot], self._scenario[slot], self._trial[slot] = layout, scenario, trial
            self._dressed.pop(slot, None)
            self._noise.start(slot, scenario, trial)
            resized = factors.sizes(scenario, self.task)
            for name, sizes in self._sizes.items():
                sizes[slot] = resized.get(name, 1.0)
            for name, placement in scenario.placements.items():
                self._assets.setdefault(name, [""] * self.slots)[slot] = placement.asset
            self._faults.pop(slot, None)
            _, ids, models = arriving.setdefault(id(layout), (layout, [], []))
            ids.append(slot)
            models.append(model)
        self._age[slots] = self._looked[slots] = 0
        self._subtask[slots] = 0
        self._memory[slots] = 0.0
        self._commanded[slots] = 0.0
        self._stages.start(slots)
        for layout, ids, models in arriving.values():
            rows = np.array(ids, dtype=np.int32)
            layout.load(rows, models)
            begins = [self.scene.start(self._of(slot)) for slot in ids]
            for name, has in self.scene.startable.items():
                layout.start(rows, list(has.joints), np.array([begin[name] for begin in begins]))
            layout.settle(rows)
            delay = np.array([self._delay(slot) for slot in ids])
            for key, controller in self.controllers.items():
                controller.reset(rows, layout.hold[rows[:, None], layout.motors[key]], delay)
            layout.begin(rows)
            self._events[id(layout)].start(rows, self._rows(layout, rows))
        forget(self._layouts, self._events, self._where)

    def _variant(self, scenario: Scenario, trial: int, seen: bool) -> Variant:
        """The model of a scenario: that which is drawn (`seen`), or that which physics runs on."""
        make = self.scene.dress if seen else self.scene.compile
        slip = trial if self.file.physics.placement_noise > 0 else None  # else every trial has the same model
        return shared_variants().get((*self._kind, scenario.id, slip, seen), lambda: make(scenario, trial))

    def _delay(self, slot: int) -> int:
        """Ticks between a target and the actuator in this episode."""
        delay, spread = self.file.theta.actuation_delay, self.file.physics.delay_spread
        if spread > 0:
            base = self._of(slot).base
            delay = max(0.0, delay + spread * generator(base, self._trial[slot], "delay").uniform(-1, 1))
        return round(delay / self.tick)

    def observe(self, slots: np.ndarray, streams: dict[str, Stream]) -> Observations:
        values: dict[str, Any] = {}
        for name, stream in streams.items():
            feature = self._sensors.feature(name)
            if feature.image:
                pictures = [self.draw(slot, name, stream, self.snapshot(slot)) for slot in slots.tolist()]
                values[name] = np.stack(pictures)
                continue
            parts = [
                (rows, self._sensors.read(layout, slots[rows], name, self._sizes))
                for layout, rows in self._split(slots)
            ]
            if len(parts) == 1:
                values[name] = parts[0][1]
            else:
                values[name] = np.empty((len(slots), *parts[0][1].shape[1:]), parts[0][1].dtype)
                for rows, part in parts:
                    values[name][rows] = part
        values["time"] = self._age[slots] * self.tick
        values["instruction"] = self._instructions(slots)
        return Observations(values, {name: np.maximum(self._age[slots] - self._late, 0) for name in streams})

    def _instructions(self, slots: np.ndarray) -> list[str]:
        instructions = [s.instruction if (s := self._scenario[i]) else "" for i in slots.tolist()]
        if type(self.task).instructions is Task.instructions:
            return instructions
        for layout, rows in self._split(slots):
            texts = self.task.instructions(self._rows(layout, slots[rows]))
            for at, text in zip(np.arange(len(slots))[rows].tolist(), texts or (), strict=texts is not None):
                instructions[at] = text
        return instructions

    def command(self, slots: np.ndarray, actions: np.ndarray, ticks: np.ndarray) -> None:
        actions = self._noise.disturb(slots, actions, self.action)
        self._commanded[slots] = actions
        for layout, rows in self._split(slots):
            ids, at = slots[rows], 0
            for key, controller in self.controllers.items():
                q, v = layout.measured(ids, key)
                controller.command(ids, actions[rows, at : at + controller.size], q, v, ticks[rows])
                at += controller.size
            layout.plan(ids, self.controllers, ticks[rows])

    def advance(self, slots: np.ndarray, ticks: np.ndarray) -> None:
        for layout, rows in self._split(slots):
            for count in np.unique(ticks[rows]).tolist():
                ids = slots[rows][ticks[rows] == count]
                if count > 0:
                    targets = np.repeat(layout.hold[ids][:, None], count, axis=1)
                    for key, controller in self.controllers.items():
                        targets[:, :, layout.motors[key]] = controller.targets(ids, count)
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
            fresh = self._age[ids] > self._looked[ids]
            if self.task.memory and fresh.any():
                self._memory[ids[fresh]] = self.task.remember(self._rows(layout, ids[fresh]))
            state = self._rows(layout, ids)
            solved[rows] = self.task.solved(state)
            now = self.task.reached(state)
            gained = solved[rows] | self._stages.latch(ids, self._age[ids], fresh, now)
            self._look(layout, ids, state, gained)
        return solved

    def _look(self, layout: Layout, slots: np.ndarray, state: Rows, gained: np.ndarray) -> None:
        """Count events, once for each action: whoever judges again at the same tick sees nothing new."""
        fresh = self._age[slots] > self._looked[slots]
        if not fresh.all():
            slots, gained = slots[fresh], gained[fresh]
            state = self._rows(layout, slots)
        if len(slots):
            commanded = {name: self._asked(layout, slots, name) for name in self._events[id(layout)].arms}
            self._events[id(layout)].look(slots, state, self._age[slots], gained, commanded)
            self._looked[slots] = self._age[slots]

    def _asked(self, layout: Layout, slots: np.ndarray, robot: str) -> np.ndarray:
        """(n,) whether the last action tells a robot's arm to move; see the event `stuck`."""
        moves, at = np.zeros(len(slots), dtype=bool), 0
        for (name, key), controller in self.controllers.items():
            if name == robot and controller.group.tool is not None:
                q, _ = layout.measured(slots, (name, key))
                moves |= controller.moves(self._commanded[slots, at : at + controller.size], q)
            at += controller.size
        return moves

    def terminate(self, slots: np.ndarray) -> np.ndarray:
        ends = np.ones(len(slots), dtype=bool)
        for layout, rows in self._split(slots):
            goes_on = np.asarray(self.task.on_terminate(self._rows(layout, slots[rows])), dtype=bool)
            ends[rows] = ~goes_on
        self._subtask[slots[~ends]] += 1
        return ends

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        solved = self.progress(slots)
        verdicts = []
        for row, slot in enumerate(slots.tolist()):
            stages = self._stages.times(slot, self.tick)
            (events,) = self._events[id(self._layout(slot))].counts(slots[row : row + 1], solved[row : row + 1])
            score = len(stages) / max(1, len(self.task.stages))
            judged: dict[str, Any] = {"success": bool(solved[row]), "score": score, "stages": stages, "events": events}
            metrics = counted(self.controllers.values(), slots[row : row + 1])
            measured = self.task.metrics(self._rows(self._layout(slot), slots[row : row + 1]))
            metrics |= {name: float(values[0]) for name, values in measured.items()}
            verdicts.append(Verdict(metrics=metrics, **judged))
        return verdicts

    def close(self) -> None:
        self._layouts.clear()
        self._events.clear()
        self._where = [None] * self.slots

    # -- pictures and states ----------------------------------------------------------------------------------

    def draw(self, slot: int, stream: str, wanted: Stream, seen: np.ndarray | None = None) -> np.ndarray:
        """What a camera's stream shows now, or showed at joint positions `seen`: (height, width, channels)."""
        feature = self._sensors.feature(stream)
        qpos = self._layout(slot).qpos[slot] if seen is None else seen
        return self._images.see(slot, self._model(slot), qpos, stream, feature, wanted)

    def picture(
        self, slot: int, camera: str | Camera, height: int, width: int, seen: np.ndarray | None = None
    ) -> np.ndarray:
        """(height, width, 3) uint8 for a film: with shadows whatever θ says."""
        qpos = self._layout(slot).qpos[slot] if seen is None else seen
        return self._images.film(self._model(slot), qpos, camera, height, width)

    def intrinsics(self, camera: str, height: int, width: int, slot: int | None = None) -> Intrinsics:
        """The lens of a camera for pictures of a size: its nominal one, or that of the episode in a slot, which a
        factor may have changed."""
        if camera not in self.cameras:
            raise UsageError(f"camera: {camera!r} is not in this world; {suggest(camera, self.cameras)}")
        if slot is None:
            model = self._variant(self.task.scenario(0), 0, seen=True).model
        else:
            model = self._model(slot)
        return lens_of(model, camera, height, width)

    def snapshot(self, slot: int) -> Floats:
        """Joint positions as cameras see them now."""
        qpos: Floats = self._layout(slot).sensed("qpos", np.array([slot]))[0].copy()
        return qpos

    def require_drawing(self) -> None:
        shared_renderer()

    def shapes(self, slot: int) -> list[DrawnShape]:
        """The shapes that are seen in a slot, for tools that draw them themselves."""
        return shapes(self._model(slot))

    def poses(self, slot: int) -> tuple[Floats, Floats]:
        """Positions (n, 3) and axes (n, 3, 3) of all geoms of a slot, by `DrawnShape.index`."""
        return poses(self._model(slot), self._layout(slot).qpos[slot])

    def viewer(self) -> Viewer:
        return Viewer(self._model)

    def _model(self, slot: int) -> Any:
        """The model to draw."""
        if slot not in self._dressed:
            self._dressed[slot] = self._variant(self._of(slot), self._trial[slot], seen=True).model
        return self._dressed[slot]

    def state(self, slot: int) -> np.ndarray:
        """(nq + nv + action + 1,) joint positions, velocities, the last action as it reached the robot, subtask."""
        layout = self._layout(slot)
        parts = (layout.qpos[slot], layout.qvel[slot], self._commanded[slot], self._subtask[slot : slot + 1])
        return np.concatenate(parts)

    def restore(self, slot: int, state: np.ndarray, tick: int) -> None:
        layout = self._layout(slot)
        sizes = (layout.model.nq, layout.model.nv, self.action.size, 1)
        if np.shape(state) != (sum(sizes),):
            raise UsageError(
                f"task {self.task.name!r}: the state has {np.size(state)} numbers, and its scene {sum(sizes)}: it was "
                "recorded in another scene"
            )
        layout.qpos[slot], layout.qvel[slot], self._commanded[slot], subtask = np.split(state, np.cumsum(sizes)[:-1])
        self._subtask[slot] = round(float(subtask[0]))
        self._age[slot] = tick
        layout.forward(np.array([slot], dtype=np.int32))

    def trace(self, slot: int) -> dict[str, float]:
        """The true state in m and the last action: a sensor read here would use up its noise."""
        layout = self._layout(slot)
        values = traced(layout, slot, self._rows(layout, np.array([slot])), self._of(slot).placements)
        meanings = [d.meaning for d in self.action.dims for _ in range(d.size)]
        done = {f"action/{i} {m}": float(self._commanded[slot, i]) for i, m in enumerate(meanings)}
        return {"time": float(self._age[slot] * self.tick), **values, **done}

    # ---------------------------------------------------------------------------------------------------------

    def _of(self, slot: int) -> Scenario:
        scenario = self._scenario[slot]
        assert scenario is not None, "the slot has no episode"
        return scenario

    def _layout(self, slot: int) -> Layout:
        layout = self._where[slot]
        assert layout is not None, "the slot has no episode"
        return layout

    def _rows(self, layout: Layout, slots: np.ndarray) -> Rows:
        return Rows(
            layout=layout,
            slots=slots,
            sizes=self._sizes,
            subtask=self._subtask,
            memory=self._memory,
            assets=self._assets,
            scenarios=self._scenario,
        )

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

    def ticks(self, seconds: float) -> int:
        """Whole ticks in a time."""
        return math.floor(seconds / self.tick + 1e-9)
