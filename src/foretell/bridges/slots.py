"""The slots of one world as Gymnasium sees them: spaces, rewards and pictures, one action at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from foretell.arrays import Bytes, Floats
from foretell.errors import UsageError, suggest
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.spec import Feature, Stream
from foretell.tasks.task import Task
from foretell.world import World, whole_ticks
from foretell.world_file import make_world

__all__ = ["Slots", "Streams"]

Streams = Sequence[str] | Mapping[str, Sequence[int] | None]
"""Names of streams, or names with their shapes; only a camera's shape, (height, width, 3), can be chosen."""

FRAME = (480, 640, 3)
REWARDS = ("success", "stages")
"""`success`: 1 for a step that solves the task. `stages`: what a step adds to the share of the task's stages reached,
so that the rewards of an episode add up to its score in a study."""


class Slots:
    """The slots of one world, driven one action at a time. All that the two environments have in common."""

    def __init__(
        self,
        count: int,
        *,
        task: str | Task,
        world: str | Path | dict[str, Any],
        controller: str | None,
        streams: Streams | None,
        threads: int,
        scenarios: Sequence[Scenario] | None,
        render_mode: str | None,
        reward: str,
    ):
        if reward not in REWARDS:
            raise UsageError(f"reward: {reward!r} is not known; {suggest(str(reward), REWARDS)}")
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"render_mode: {render_mode!r} is not known; it is None or 'rgb_array'")
        self.task: Task = resolve("tasks", task)() if isinstance(task, str) else task
        self.world: World = make_world(world, self.task, slots=count, threads=threads, controller=controller)
        if "wait" not in self.world.can:
            raise UsageError(f"world: {self.world.name!r} cannot wait between two actions: Gymnasium needs that")
        if "reset" not in self.world.can:
            raise UsageError(f"world: {self.world.name!r} cannot set the table by itself: Gymnasium needs that")
        if "terminal" in self.world.needs:
            raise UsageError(
                f"world: {self.world.name!r} asks a person at the terminal, and Gymnasium judges each step without "
                "one: use `foretell run`"
            )
        known = self.world.features
        self.streams = streams_of(streams, known)
        boxes = {name: box_of(known[name], stream) for name, stream in self.streams.items()}
        self.observation_space = spaces.Dict({**boxes})
        # float64, because it takes float32 actions as well, and joint limits do not survive rounding
        self.action_space = spaces.Box(self.world.action.low, self.world.action.high, dtype=np.float64)
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": self.task.action_rate}
        self.limit = round(self.task.time_limit * self.task.action_rate)
        self.reward = reward
        if reward == "stages" and not self.task.stages:
            raise UsageError(f"reward: 'stages' needs a task with stages, and {self.task.name!r} has none")
        self.paid = np.zeros(count)  # score of each episode that was given as reward so far
        self.steps = np.full(count, -1, dtype=np.int64)  # actions since reset; -1: no episode yet
        self.instructions = [""] * count
        self.seen = {
            name: np.zeros((count, *boxes[name].shape), boxes[name].dtype) for name in self.observation_space.spaces
        }
        if scenarios is not None and not scenarios:
            raise UsageError("scenarios: the list is empty; leave it out to draw scenarios by seed")
        self.scenarios = [self.check(s, "scenarios") for s in scenarios or ()]
        self.turn = np.arange(count) - count  # place in the list of the scenario each slot ran last

    def options(self, options: dict[str, Any] | None, *known: str) -> dict[str, Any]:
        """Options of `reset`, with the scenarios of published layouts in place of their numbers."""
        for key in options or {}:
            if key not in known:
                raise UsageError(f"options: {key!r} is not an option of reset; {suggest(key, known)}")
        given = dict(options or {})
        if "layout" in given:
            if "scenario" in given:
                raise UsageError("options: a layout is a scenario; give `layout` or `scenario`, not both")
            asked = given.pop("layout")
            several = isinstance(asked, list | tuple)
            given["scenario"] = [self._layout(number) for number in asked] if several else self._layout(asked)
        return given

    def _layout(self, number: Any) -> Scenario:
        """The published layout of a number."""
        layouts = self.task.layouts()
        if not layouts:
            raise UsageError(f'options["layout"]: task {self.task.name!r} publishes no layouts; give a seed')
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(layouts):
            raise UsageError(
                f'options["layout"]: task {self.task.name!r} has no layout {number!r:.80}; its layouts are 0 to '
                f"{len(layouts) - 1}"
            )
        return layouts[int(number)]

    def check(self, scenario: Any, field: str) -> Scenario:
        """The scenario, if it is one and of this task."""
        if not isinstance(scenario, Scenario):
            raise UsageError(f"{field}: expected a foretell.scenario.Scenario, got {type(scenario).__name__}")
        if scenario.task != self.task.name:
            raise UsageError(f"{field}: the scenario is of task {scenario.task!r}, this is {self.task.name!r}")
        return scenario

    def choose(self, slot: int, seed: int | None, rng: np.random.Generator) -> Scenario:
        """What a slot runs next. A seed names the scenario; without one the slot's generator draws the seed."""
        if self.scenarios:  # slots take every count-th of the list, so that together they miss none
            self.turn[slot] = (self.turn[slot] + len(self.turn) if seed is None else seed) % len(self.scenarios)
            return self.scenarios[int(self.turn[slot])]
        return self.task.scenario(int(rng.integers(2**31)) if seed is None else seed)

    def start(self, slots: np.ndarray, scenarios: Sequence[Scenario]) -> None:
        """New episodes."""
        self.world.reset(slots, scenarios, [0] * len(slots))
        self.steps[slots] = 0
        self.paid[slots] = 0.0

    def act(self, slots: np.ndarray, actions: Any) -> tuple[np.ndarray, dict[int, str]]:
        """One action (n, dim) in each slot. Returns (n,) solved, and slot -> what went wrong in the world."""
        if (self.steps[slots] < 0).any():
            raise ResetNeeded("call reset before step")
        box, rate = self.action_space, self.task.action_rate
        actions = np.asarray(actions, dtype=np.float64)
        if actions.shape != (len(slots), *box.shape):
            raise ValueError(f"an action has shape {box.shape}, got {actions.shape[1:]} in {len(actions)} environments")
        if not np.isfinite(actions).all():
            row, dim = np.argwhere(~np.isfinite(actions))[0]
            raise ValueError(f"action of environment {slots[row]}: dimension {dim} is {actions[row, dim]}, not finite")
        now, until = (whole_ticks(self.steps[slots] + k, 1.0 / self.world.tick, rate) for k in (0, 1))
        self.world.command(slots, np.clip(actions, box.low, box.high), until - now)
        self.world.advance(slots, until - now)
        self.steps[slots] += 1
        faults = self.world.faults(slots)
        seen = self.world.progress(slots)
        solved = np.zeros(len(slots), dtype=bool) if seen is None else np.asarray(seen, dtype=bool)
        return solved & ~np.isin(slots, list(faults)), faults

    def over(self, slots: np.ndarray) -> np.ndarray:
        """(n,) bool: whether the world ends episodes here, solved or not. After `act`."""
        ended = getattr(self.world, "over", None)
        return np.zeros(len(slots), dtype=bool) if ended is None else np.asarray(ended(slots), dtype=bool)

    def finish(self, slots: np.ndarray) -> np.ndarray:
        """(n,) bool: whether episodes end, now that the policy declares itself done."""
        if (self.steps[slots] < 0).any():
            raise ResetNeeded("call reset before finish")
        return self.world.terminate(slots)

    def rewards(self, slots: np.ndarray, solved: np.ndarray) -> Floats:
        """(n,) rewards of the last action in slots without faults."""
        if self.reward == "success" or not len(slots):
            return solved.astype(np.float64)
        scores = np.array([verdict.score or 0.0 for verdict in self.world.verdict(slots)])
        if self.task.success_rule == "any":
            scores[solved] = 1.0  # a solved episode has full marks, whatever stage it skipped
        gained: Floats = scores - self.paid[slots]
        self.paid[slots] = scores
        return gained

    def look(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """What all slots see, (count, ...) each, freshly seen in `slots`; the others' last sight is kept, because a
        noisy sensor that is read again gives something else."""
        if len(slots):
            fresh = self.world.observe(slots, self.streams)
            for name, seen in self.seen.items():
                seen[slots] = fresh[name]
            for slot, instruction in zip(slots.tolist(), fresh["instruction"], strict=True):
                self.instructions[slot] = str(instruction)
        return {name: seen.copy() for name, seen in self.seen.items()}

    def frames(self, mode: str | None) -> Bytes | None:
        """(count, height, width, 3) pictures of the task's first camera."""
        if mode is None:
            gymnasium.logger.warn('render() was called, but the environment was made without render_mode="rgb_array"')
            return None
        if (self.steps < 0).any():
            raise ResetNeeded("call reset before render")
        camera = next((name for name, feature in self.world.features.items() if feature.kind == "rgb"), None)
        if camera is None:
            raise UsageError(f"render_mode: world {self.world.name!r} has no camera to draw")
        slots = np.arange(len(self.steps), dtype=np.int32)
        pictures: Bytes = self.world.observe(slots, {camera: Stream(FRAME)})[camera]
        return pictures

    def close(self) -> None:
        self.world.close()
        self.steps[:] = -1


def streams_of(given: Streams | None, known: Mapping[str, Feature]) -> dict[str, Stream]:
    """What to observe. By default all but text, the cameras, which need OpenGL and cost far more than the physics, and
    sizes, which are 1 unless a factor changes them."""
    if given is None:
        return {name: Stream(f.shape) for name, f in known.items() if not f.optional and f.kind != "text"}
    if isinstance(given, str) or not given:
        raise UsageError(f"streams: expected a list of names, or names with shapes, got {given!r}")
    shapes = given if isinstance(given, Mapping) else dict.fromkeys(given)
    chosen = {}
    for name, shape in shapes.items():
        if name not in known:
            raise UsageError(f"streams: {name!r} is not in this world; {suggest(name, known)}")
        feature = known[name]
        if feature.kind == "text":
            raise UsageError(f"streams: {name!r} is text, and environments give numbers and pictures: leave it out")
        wanted = feature.shape if shape is None else tuple(map(int, shape))
        if not feature.accepts(wanted):
            raise UsageError(f"streams: {name}: shape is {wanted}, it must be {feature.expected}")
        chosen[name] = Stream(wanted)
    return chosen


def box_of(feature: Feature, stream: Stream) -> spaces.Box:
    if feature.kind == "rgb":
        return spaces.Box(0, 255, stream.shape, np.uint8)
    if feature.kind == "segmentation":
        most = len(feature.legend) - 1 if feature.legend else np.iinfo(np.int32).max
        return spaces.Box(-1, most, stream.shape, np.int32)
    if feature.kind in ("depth", "rays"):
        return spaces.Box(0, np.inf, stream.shape, np.dtype(feature.dtype).type)
    dtype = np.dtype(feature.dtype)
    if dtype.kind in "iub":
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return spaces.Box(low, high, stream.shape, dtype.type)
    # a unit quaternion may exceed 1 by rounding; nothing bounds where an object may roll or how fast a joint is hit
    rounding = 1e-9 if dtype == np.float64 else 8 * float(np.finfo(dtype).eps)
    bound = 1 + rounding if feature.kind == "orientation" else np.inf
    return spaces.Box(-bound, bound, stream.shape, dtype.type)
