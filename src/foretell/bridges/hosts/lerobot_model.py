"""A policy that LeRobot trained: a folder with config.json, safetensors, and its own pre- and postprocessors.

LeRobot's policies keep history and planned actions inside, for one episode: each slot has a policy of its own, and all
share the weights. Random numbers are drawn for each slot apart, so that a row does not depend on its neighbours.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["LeRobotModel", "make"]

FORGETFUL = ("act", "pi0", "pi0_fast", "pi05", "smolvla", "groot", "xvla")
"""Types that look at the newest sample only, so that a whole chunk can be asked for."""


class LeRobotModel:
    """Policies of all slots."""

    def __init__(self, use: str, options: dict[str, Any], load: Callable[..., Any]):
        import lerobot
        import torch
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors

        torch.set_num_threads(int(options.get("threads", 1)))
        self.device = str(options.get("device", "cpu"))
        config = PreTrainedConfig.from_pretrained(use)
        config.device = self.device
        self.policy = get_policy_class(config.type).from_pretrained(use, config=config)
        self.policy.to(self.device).eval()
        self.before, self.after = make_pre_post_processors(
            config,
            pretrained_path=use,
            preprocessor_overrides={"device_processor": {"device": self.device}},
        )
        self.inputs = {
            name: (str(getattr(f.type, "value", f.type)), tuple(f.shape)) for name, f in config.input_features.items()
        }
        self.chunk = 1
        self.slots: dict[int, Any] = {}
        self.draws: dict[int, Any] = {}
        steps = int(getattr(config, "n_action_steps", 1) or 1)
        alone = int(getattr(config, "n_obs_steps", 1) or 1) == 1 and config.type in FORGETFUL
        averages = getattr(config, "temporal_ensemble_coeff", None) is not None
        size, seeded = self._tried()
        self.chunk = int(options.get("chunk") or (steps if alone and not averages else 1))
        if self.chunk > 1 and (averages or not alone):
            raise ValueError(
                f"chunk is {self.chunk}, and a {config.type} policy remembers what it saw at each action: leave it out"
            )
        longest = int(getattr(config, "chunk_size", self.chunk) or self.chunk)
        if self.chunk > longest:
            raise ValueError(f"chunk is {self.chunk}, and the policy plans {longest} actions")
        self.about = {
            "type": str(config.type),
            "inputs": {name: [kind, list(shape)] for name, (kind, shape) in self.inputs.items()},
            "action": size,
            "chunk": self.chunk,
            "seeded": seeded,
            "versions": {"lerobot": lerobot.__version__, "torch": torch.__version__},
        }

    def _tried(self) -> tuple[int, bool]:
        """Numbers of an action, and whether random ones were drawn, of one call with an empty scene."""
        import torch

        empty: dict[str, Any] = {
            name: np.zeros((shape[1], shape[2], shape[0]), np.uint8)
            if kind == "VISUAL"
            else np.zeros(shape, np.float32)
            for name, (kind, shape) in self.inputs.items()
        }
        torch.manual_seed(0)
        state = torch.get_rng_state()
        action = self._actions(self._fresh(), {**empty, "task": "do nothing"})
        return int(action.shape[-1]), not torch.equal(state, torch.get_rng_state())

    def _fresh(self) -> Any:
        """A policy with the weights of the others and a memory of its own."""
        tensors = [*self.policy.parameters(), *self.policy.buffers()]
        policy = copy.deepcopy(self.policy, {id(tensor): tensor for tensor in tensors})
        policy.reset()
        return policy

    def reset(self, slots: Sequence[int], instructions: Sequence[str], seeds: Sequence[int]) -> None:
        import torch

        for slot, seed in zip(slots, seeds):  # noqa: B905 - for Python 3.8
            if slot in self.slots:
                self.slots[slot].reset()
            else:
                self.slots[slot] = self._fresh()
            self.draws[slot] = torch.Generator().manual_seed(int(seed) % (1 << 63)).get_state()

    def act(self, slots: Sequence[int], observations: dict[str, Any]) -> Any:
        import torch

        rows = []
        for row, slot in enumerate(slots):
            if slot not in self.slots:
                self.reset([slot], [""], [0])
            torch.set_rng_state(self.draws[slot])
            rows.append(self._actions(self.slots[slot], {name: value[row] for name, value in observations.items()}))
            self.draws[slot] = torch.get_rng_state()
        return {"actions": np.stack(rows)}

    def _actions(self, policy: Any, seen: Mapping[str, Any]) -> Any:
        """(chunk, size) for one slot."""
        import torch

        batch: dict[str, Any] = {"task": [str(seen.get("task", ""))]}
        for name, (kind, _) in self.inputs.items():
            value = torch.from_numpy(np.array(seen[name], copy=True))
            if kind == "VISUAL":
                value = value.permute(2, 0, 1).to(torch.float32) / 255.0
            batch[name] = value.to(torch.float32)[None]
        with torch.inference_mode():
            ready = self.before(batch)
            if self.chunk > 1:
                plan = policy.predict_action_chunk(ready)
                actions = [self.after(plan[:, step]) for step in range(self.chunk)]
            else:
                actions = [self.after(policy.select_action(ready))]
        return np.stack([np.asarray(action.to("cpu", torch.float64).numpy())[0] for action in actions])


make = LeRobotModel
