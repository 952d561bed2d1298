"""The side of a Gymnasium environment that runs where Gymnasium is. numpy and Gymnasium only."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium
import numpy as np

__all__ = ["GymnasiumSide"]

SUCCESS = ("success", "is_success")
"""Where `info` says whether the task is solved, unless the world file says it."""


class GymnasiumSide:
    """One environment. A tick is one of its steps."""

    def __init__(self, options: dict[str, Any]):
        """options: id, make, imports, success, keep, seed_by, tick, render."""
        self.options = options
        for module in options["imports"]:
            imported = importlib.import_module(module)
            if hasattr(gymnasium, "register_envs"):
                gymnasium.register_envs(imported)
        self.render = "rgb_array" if options["render"] else None
        self.env = self._make(0)
        space = self.env.action_space
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
            raise TypeError(f"{options['id']}: its actions are {space}, and foretell runs vectors of numbers (Box)")
        self.low, self.high = np.asarray(space.low, dtype=float), np.asarray(space.high, dtype=float)
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            raise TypeError(f"{options['id']}: its actions have no limits ({space}): put a wrapper around it that has")
        self.seen, _ = self.env.reset(seed=0)
        still = np.clip(0.0, self.low, self.high).astype(space.dtype)
        self._success(self.env.step(still)[4])  # it tells success, or is refused
        self.seen, _ = self.env.reset(seed=0)
        self.script = self._script()
        self.action, self.held, self.solved, self.over = np.zeros(len(self.low)), 0, False, False

    def describe(self) -> dict[str, Any]:
        """What this environment is like."""
        numbers = {name: list(np.shape(value)) for name, value in self._numbers().items()}
        if self.script is not None:
            numbers["env/expert"] = [len(self.low)]
        spec = self.env.spec
        return {
            "features": numbers,
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "tick": self._tick(),
            "limit": None if spec is None else spec.max_episode_steps,
            "cameras": ["view"] if self.render in self.env.metadata.get("render_modes", ()) else [],
        }

    def reset(self, seed: int, **more: Any) -> None:
        """Start an episode."""
        if self.options["seed_by"] == "make":  # its reset does not listen to a seed
            self.env.close()
            self.env = self._make(seed)
        self.seen, _ = self.env.reset(seed=seed)
        self.script = self._script()
        self.action, self.held, self.solved, self.over = np.clip(0.0, self.low, self.high), 0, False, False

    def observe(self, names: list[str]) -> dict[str, Any]:
        """Numbers by name."""
        numbers = self._numbers()
        if "env/expert" in names:
            act = np.asarray(self.script.get_action(self._flat()), dtype=float)
            numbers["env/expert"] = np.clip(act, self.low, self.high)
        return {name: np.ascontiguousarray(numbers[name], dtype=np.float64) for name in names}

    def command(self, action: Any, ticks: int) -> None:
        """The action of the coming ticks."""
        self.action, self.held = np.clip(np.asarray(action, dtype=float), self.low, self.high), int(ticks)

    def advance(self, ticks: int) -> dict[str, Any]:
        """Step the environment so often. Returns how the episode stands."""
        for _ in range(ticks):
            if self.over:
                break
            self._step()
        return {"solved": self.solved, "over": self.over}

    def picture(self, camera: str, height: int, width: int) -> Any:
        """(height, width, 3) what it renders, scaled by the nearest pixel."""
        frame = np.asarray(self.env.render())
        rows = np.arange(height) * frame.shape[0] // height
        columns = np.arange(width) * frame.shape[1] // width
        return np.ascontiguousarray(frame[rows][:, columns, :3], dtype=np.uint8)

    def close(self) -> None:
        """Give the environment back."""
        self.env.close()

    def _make(self, seed: int) -> Any:
        more: dict[str, Any] = {"seed": seed} if self.options["seed_by"] == "make" else {}
        if self.render is not None:
            more["render_mode"] = self.render
        return gymnasium.make(self.options["id"], **{**self.options["make"], **more})

    def _step(self) -> None:
        action = self.action.copy()
        if self.held <= 0:  # the policy is late
            rest = np.ones(len(action), dtype=bool)
            rest[self.options["keep"] if self.options["keep"] != "all" else slice(None)] = False
            action[rest] = np.clip(0.0, self.low, self.high)[rest]
        self.held -= 1
        self.seen, _, terminated, truncated, info = self.env.step(action.astype(self.env.action_space.dtype))
        self.solved, self.over = self._success(info), bool(terminated or truncated)

    def _success(self, info: dict[str, Any]) -> bool:
        names = [self.options["success"]] if self.options["success"] else SUCCESS
        for name in names:
            if name in info:
                return bool(np.asarray(info[name]).reshape(-1)[0] > 0.5)
        raise KeyError(
            f"info has no {' or '.join(names)}, so nothing tells success; it has {', '.join(info) or 'nothing'}: "
            "name one of these as `success` in the world file"
        )

    def _tick(self) -> float:
        rate = self.env.metadata.get("render_fps")
        tick = self.options["tick"] or getattr(self.env.unwrapped, "dt", None) or (1.0 / rate if rate else None)
        if tick is None:
            raise ValueError(
                f"{self.options['id']} does not say how long a step lasts: give `tick` (s) in the world file"
            )
        return float(tick)

    def _numbers(self) -> dict[str, Any]:
        """Name -> numbers that the environment shows."""
        seen = self.seen if isinstance(self.seen, dict) else {"obs": self.seen}
        numbers = {f"env/{name}": np.asarray(value, dtype=np.float64) for name, value in seen.items()}
        return {name: value for name, value in numbers.items() if value.ndim <= 1}

    def _flat(self) -> Any:
        return np.asarray(self.seen)

    def _script(self) -> Any:
        """Meta-World's scripted policy for this environment, or None."""
        if "metaworld" not in self.options["imports"]:
            return None
        from metaworld.policies import ENV_POLICY_MAP  # type: ignore[import-not-found, unused-ignore]

        name = self.options["make"].get("env_name")
        return ENV_POLICY_MAP[name]() if name in ENV_POLICY_MAP else None
