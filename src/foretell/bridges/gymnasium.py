"""foretell's tasks as Gymnasium environments: `foretell/Lift-v2`, `foretell/Can-v2`, `foretell/Square-v3`, and any
task of your own as `foretell/Task-v1` with `task="file.py:Class"`.

They are registered on `import foretell`. `gymnasium.make` gives one environment, `gymnasium.make_vec` a native vector
environment: one world with a slot per environment. A step is one action under the `sync` clock, so an episode run
here and one run by a study are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from foretell.arrays import Bytes, Floats
from foretell.errors import UsageError, suggest
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.spec import Feature, Stream
from foretell.tasks.task import Task
from foretell.world import World, whole_ticks
from foretell.world_file import make_world

__all__ = ["TaskEnv", "TaskVectorEnv"]

Streams = Sequence[str] | Mapping[str, Sequence[int] | None]
"""Names of streams, or names with their shapes; only a camera's shape, (height, width, 3), can be chosen."""

FRAME = (480, 640, 3)
REWARDS = ("success", "stages")
"""`success`: 1 for a step that solves the task. `stages`: what a step adds to the share of the task's stages reached,
so that the rewards of an episode add up to its score in a study."""


class _Slots:
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
        self.streams = _streams(streams, known)
        boxes = {name: _box(known[name], stream) for name, stream in self.streams.items()}
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
        self.seen = {
            name: np.zeros((count, *boxes[name].shape), boxes[name].dtype) for name in self.observation_space.spaces
        }
        if scenarios is not None and not scenarios:
            raise UsageError("scenarios: the list is empty; leave it out to draw scenarios by seed")
        self.scenarios = [self.check(s, "scenarios") for s in scenarios or ()]
        self.turn = np.arange(count) - count  # place in the list of the scenario each slot ran last

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


class TaskEnv(gymnasium.Env[dict[str, Any], np.ndarray]):
    """One task in one world. Its time limit is the `TimeLimit` wrapper that `gymnasium.make` puts around it, or with
    `time_limit` its own."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": Task.action_rate}

    def __init__(
        self,
        task: str | Task,
        *,
        world: str | Path | dict[str, Any] = "mujoco",
        controller: str | None = None,
        streams: Streams | None = None,
        threads: int = 1,
        scenarios: Sequence[Scenario] | None = None,
        render_mode: str | None = None,
        reward: str = "success",
        time_limit: bool = False,
    ):
        self._slots = _Slots(
            1,
            task=task,
            world=world,
            controller=controller,
            streams=streams,
            threads=threads,
            scenarios=scenarios,
            render_mode=render_mode,
            reward=reward,
        )
        self._limit = self._slots.limit if time_limit else None
        self.task, self.world, self.render_mode = self._slots.task, self._slots.world, render_mode
        self.observation_space, self.action_space = self._slots.observation_space, self._slots.action_space
        self.metadata = self._slots.metadata
        self._only = np.zeros(1, dtype=np.int32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Run `task.scenario(seed)`, or `options["scenario"]`, or without either the next that np_random draws."""
        options = _options(options, "scenario")
        chosen = self._slots.check(options["scenario"], 'options["scenario"]') if "scenario" in options else None
        super().reset(seed=seed)
        scenario = chosen or self._slots.choose(0, seed, self.np_random)
        self._slots.start(self._only, [scenario])
        return self._look(), {"is_success": False, "scenario": scenario.id}

    def step(self, action: np.ndarray) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        solved, faults = self._slots.act(self._only, np.asarray(action)[None])
        done = bool(solved[0])
        info: dict[str, Any] = {"is_success": done}
        if faults:
            info["error"] = faults[0]
            # the state means nothing any more: what was seen before stays
            return self._look(fresh=False), 0.0, False, True, info
        reward = float(self._slots.rewards(self._only, solved)[0])
        over = self._limit is not None and int(self._slots.steps[0]) >= self._limit
        return self._look(), reward, done and self.task.success_rule == "any", over, info

    def render(self) -> np.ndarray | None:
        frames = self._slots.frames(self.render_mode)
        return None if frames is None else frames[0]

    def close(self) -> None:
        self._slots.close()

    def _look(self, fresh: bool = True) -> dict[str, np.ndarray]:
        return {name: seen[0] for name, seen in self._slots.look(self._only if fresh else self._only[:0]).items()}


class TaskVectorEnv(VectorEnv[dict[str, np.ndarray], np.ndarray, np.ndarray]):
    """Many episodes of one task side by side in one world.

    Environment i behaves as a `TaskEnv` that is seeded as it is: same scenarios, same bits.
    """

    metadata = TaskEnv.metadata | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        task: str | Task,
        *,
        num_envs: int = 1,
        world: str | Path | dict[str, Any] = "mujoco",
        controller: str | None = None,
        streams: Streams | None = None,
        threads: int = 1,
        scenarios: Sequence[Scenario] | None = None,
        render_mode: str | None = None,
        reward: str = "success",
        time_limit: bool = True,
        max_episode_steps: int | None = None,
    ):
        """`max_episode_steps`: None for the task's time limit (unless `time_limit` is False), -1 for no limit."""
        if num_envs < 1:
            raise UsageError(f"num_envs is {num_envs}, it must be at least 1")
        self._slots = _Slots(
            num_envs,
            task=task,
            world=world,
            controller=controller,
            streams=streams,
            threads=threads,
            scenarios=scenarios,
            render_mode=render_mode,
            reward=reward,
        )
        self.task, self.world, self.render_mode = self._slots.task, self._slots.world, render_mode
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = (
            self._slots.observation_space,
            self._slots.action_space,
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = self.metadata | self._slots.metadata
        if max_episode_steps is None:
            max_episode_steps = self._slots.limit if time_limit else -1
        if max_episode_steps < 1 and max_episode_steps != -1:
            raise UsageError(f"max_episode_steps is {max_episode_steps}, it must be at least 1, or -1 for no limit")
        self._limit = max_episode_steps if max_episode_steps > 0 else np.iinfo(np.int64).max
        self._random = [seeding.np_random() for _ in range(num_envs)]  # one each: none depends on its neighbours
        self._over = np.zeros(num_envs, dtype=bool)

    @property  # type: ignore[misc]  # Gymnasium lets one generator be set; here each environment has its own
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        return tuple(rng for rng, _ in self._random)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(seed for _, seed in self._random)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """`seed` s means s, s + 1, ...; or one per environment. `options["scenario"]` is one for all, or one each;
        `options["reset_mask"]` (bool array) leaves the other environments as they are."""
        options, n = _options(options, "scenario", "reset_mask"), self.num_envs
        mask = self._mask(options["reset_mask"]) if "reset_mask" in options else np.ones(n, dtype=bool)
        if (self._slots.steps[~mask] < 0).any():
            raise ResetNeeded("reset every environment once before resetting some")
        if isinstance(seed, int | np.integer):
            seeds: list[Any] = [seed + i for i in range(n)]
        else:
            seeds = [None] * n if seed is None else list(seed)
        if len(seeds) != n:
            raise ValueError(f"seed: got {len(seeds)} seeds for {n} environments")
        wanted = options.get("scenario")
        each = list(wanted) if isinstance(wanted, list | tuple) else [wanted] * n
        if len(each) != n:
            raise UsageError(f'options["scenario"]: got {len(each)} scenarios for {n} environments')
        if "scenario" in options:
            each = [self._slots.check(s, 'options["scenario"]') for s in each]
        slots = np.flatnonzero(mask).astype(np.int32)
        for slot in slots.tolist():
            if seeds[slot] is not None:
                self._random[slot] = seeding.np_random(seeds[slot])
        info = self._start(slots, [each[i] or self._choose(i, seeds[i]) for i in slots.tolist()])
        self._over[slots] = False
        return self._slots.look(slots), info | {"is_success": np.zeros(n, dtype=bool), "_is_success": mask.copy()}

    def step(
        self, actions: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One action each; environments whose episode ended in the last step start a new one instead."""
        n = self.num_envs
        info: dict[str, Any] = {}
        going, ended = (np.flatnonzero(rows).astype(np.int32) for rows in (~self._over, self._over))
        solved, truncated, looking = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
        rewards = np.zeros(n)
        if np.shape(actions) != self.action_space.shape:
            raise ValueError(f"actions have shape {self.action_space.shape}, got {np.shape(actions)}")
        if len(going):
            solved[going], faults = self._slots.act(going, np.asarray(actions)[going])
            truncated[going] = self._slots.steps[going] >= self._limit
            for slot, message in faults.items():
                truncated[slot], looking[slot] = True, False
                info = self._add_info(info, {"error": message}, slot)
            sound = going[looking[going]]
            rewards[sound] = self._slots.rewards(sound, solved[sound])
        if len(ended):
            info |= self._start(ended, [self._choose(i, None) for i in ended.tolist()])
        terminated = solved & (self.task.success_rule == "any")
        self._over = terminated | truncated
        info |= {"is_success": solved.copy(), "_is_success": np.ones(n, dtype=bool)}
        seen = self._slots.look(np.flatnonzero(looking).astype(np.int32))
        return seen, rewards, terminated, truncated, info

    def render(self) -> tuple[np.ndarray, ...] | None:
        frames = self._slots.frames(self.render_mode)
        return None if frames is None else tuple(frames)

    def close_extras(self, **kwargs: Any) -> None:
        self._slots.close()

    def _choose(self, slot: int, seed: int | None) -> Scenario:
        return self._slots.choose(slot, seed, self._random[slot][0])

    def _start(self, slots: np.ndarray, scenarios: list[Scenario]) -> dict[str, Any]:
        self._slots.start(slots, scenarios)
        info: dict[str, Any] = {}
        for slot, scenario in zip(slots.tolist(), scenarios, strict=True):
            info = self._add_info(info, {"scenario": scenario.id}, slot)
        return info

    def _mask(self, mask: Any) -> np.ndarray:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            kind = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
            raise UsageError(f'options["reset_mask"]: expected a bool array of shape ({self.num_envs},), got {kind}')
        if not mask.any():
            raise UsageError('options["reset_mask"]: no environment is to be reset')
        return mask


def _options(options: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    for key in options or {}:
        if key not in known:
            raise UsageError(f"options: {key!r} is not an option of reset; {suggest(key, known)}")
    return options or {}


def _streams(given: Streams | None, known: Mapping[str, Feature]) -> dict[str, Stream]:
    """What to observe. By default all but the cameras, which need OpenGL and cost far more than the physics, and sizes,
    which are 1 unless a factor changes them."""
    if given is None:
        return {name: Stream(f.shape) for name, f in known.items() if not f.optional}
    if isinstance(given, str) or not given:
        raise UsageError(f"streams: expected a list of names, or names with shapes, got {given!r}")
    shapes = given if isinstance(given, Mapping) else dict.fromkeys(given)
    chosen = {}
    for name, shape in shapes.items():
        if name not in known:
            raise UsageError(f"streams: {name!r} is not in this world; {suggest(name, known)}")
        feature = known[name]
        wanted = feature.shape if shape is None else tuple(map(int, shape))
        if not feature.accepts(wanted):
            raise UsageError(f"streams: {name}: shape is {wanted}, it must be {feature.expected}")
        chosen[name] = Stream(wanted)
    return chosen


def _box(feature: Feature, stream: Stream) -> spaces.Box:
    if feature.kind == "rgb":
        return spaces.Box(0, 255, stream.shape, np.uint8)
    if feature.kind == "segmentation":
        most = len(feature.legend) - 1 if feature.legend else np.iinfo(np.int32).max
        return spaces.Box(-1, most, stream.shape, np.int32)
    if feature.kind in ("depth", "rays"):
        return spaces.Box(0, np.inf, stream.shape, np.dtype(feature.dtype).type)
    # a unit quaternion may exceed 1 by rounding; nothing bounds where an object may roll or how fast a joint is hit
    bound = 1 + 1e-9 if feature.kind == "orientation" else np.inf
    return spaces.Box(-bound, bound, stream.shape, np.float64)
