"""foretell's tasks as Gymnasium environments: `foretell/Lift-v2`, `foretell/Can-v2`, `foretell/Square-v3`, and any
task of your own as `foretell/Task-v1` with `task="file.py:Class"`.

They are registered on `import foretell`. `gymnasium.make` gives one environment, `gymnasium.make_vec` a native vector
environment: one world with a slot per environment. A step is one action under the `sync` clock, so an episode run
here and one run by a study are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from foretell.bridges.slots import Slots, Streams
from foretell.errors import UsageError
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["TaskEnv", "TaskVectorEnv"]


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
        self._slots = Slots(
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
        """Run `task.scenario(seed)`, or `options["scenario"]`, or the published layout of the number
        `options["layout"]`, or without any of them the next that np_random draws."""
        options = self._slots.options(options, "scenario", "layout")
        chosen = self._slots.check(options["scenario"], 'options["scenario"]') if "scenario" in options else None
        super().reset(seed=seed)
        scenario = chosen or self._slots.choose(0, seed, self.np_random)
        self._slots.start(self._only, [scenario])
        seen = self._look()
        return seen, {"is_success": False, "scenario": scenario.id, "instruction": self._slots.instructions[0]}

    def step(self, action: np.ndarray) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        solved, faults = self._slots.act(self._only, np.asarray(action)[None])
        done = bool(solved[0])
        seen = self._look(fresh=not faults)  # where physics diverged, what was seen before stays
        info: dict[str, Any] = {"is_success": done, "instruction": self._slots.instructions[0]}
        if faults:
            return seen, 0.0, False, True, info | {"error": faults[0]}
        reward = float(self._slots.rewards(self._only, solved)[0])
        over = self._limit is not None and int(self._slots.steps[0]) >= self._limit
        ends = (done and self.task.success_rule == "any") or bool(self._slots.over(self._only)[0])
        return seen, reward, ends, over, info

    def finish(self) -> bool:
        """Declare the task done, as a policy in a study may. True where the episode ends: reset it. False where the
        task goes on with another instruction, which the next step's `info` has."""
        return bool(self._slots.finish(self._only)[0])

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
        self._slots = Slots(
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
        """`seed` s means s, s + 1, ...; or one per environment. `options["scenario"]` is one for all, or one each,
        and so is `options["layout"]`, the number of a published layout. `options["reset_mask"]` (bool array) leaves the
        other environments as they are."""
        options, n = self._slots.options(options, "scenario", "layout", "reset_mask"), self.num_envs
        mask = (
            self._mask(options["reset_mask"], 'options["reset_mask"]')
            if "reset_mask" in options
            else np.ones(n, dtype=bool)
        )
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
        seen = self._slots.look(slots)
        for slot in slots.tolist():
            info = self._add_info(info, {"instruction": self._slots.instructions[slot]}, slot)
        return seen, info | {"is_success": np.zeros(n, dtype=bool), "_is_success": mask.copy()}

    def step(
        self, actions: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One action each; environments whose episode ended in the last step start a new one instead."""
        n = self.num_envs
        info: dict[str, Any] = {}
        going, ended = (np.flatnonzero(rows).astype(np.int32) for rows in (~self._over, self._over))
        solved, truncated, looking = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
        ends = np.zeros(n, dtype=bool)
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
            ends[sound] = self._slots.over(sound)
        if len(ended):
            info |= self._start(ended, [self._choose(i, None) for i in ended.tolist()])
        terminated = (solved & (self.task.success_rule == "any")) | ends
        self._over = terminated | truncated
        info |= {"is_success": solved.copy(), "_is_success": np.ones(n, dtype=bool)}
        seen = self._slots.look(np.flatnonzero(looking).astype(np.int32))
        for slot, instruction in enumerate(self._slots.instructions):
            info = self._add_info(info, {"instruction": instruction}, slot)
        return seen, rewards, terminated, truncated, info

    def finish(self, mask: np.ndarray) -> np.ndarray:
        """As `TaskEnv.finish`, in the environments of a mask (bool array). An episode that ends is reset by the next
        step."""
        slots = np.flatnonzero(self._mask(mask, "mask")).astype(np.int32)
        ends = np.zeros(self.num_envs, dtype=bool)
        ends[slots] = self._slots.finish(slots)
        self._over |= ends
        return ends

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

    def _mask(self, mask: Any, field: str) -> np.ndarray:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            kind = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
            raise UsageError(f"{field}: expected a bool array of shape ({self.num_envs},), got {kind}")
        if not mask.any():
            raise UsageError(f"{field}: no environment is named")
        return mask
