"""LeRobot's side: policies that LeRobot makes and writes, for foretell to run.

Run with the Python of an environment that has lerobot, never with foretell's own. It imports nothing of foretell.

    python benchmarks/lerobot_side.py random act OUT            # random weights, of a real architecture
    python benchmarks/lerobot_side.py random diffusion OUT
    python benchmarks/lerobot_side.py train DEMOS.npz OUT --seconds 240     # ACT, on what lerobot_policy.py recorded

DEMOS.npz has `states` (steps, 15): hand, gripper, cube; `actions` (steps, 7); `episode` (steps,).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lerobot.configs.types import FeatureType, NormalizationMode, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig
from lerobot.policies.factory import get_policy_class, make_pre_post_processors

OWN, CUBE, ACTION = "observation.state", "observation.environment_state", "action"
SIDE = 96
"""Pixels of the pictures of the random policies."""


def features(pictures: bool) -> dict[str, Any]:
    inputs = {
        OWN: PolicyFeature(type=FeatureType.STATE, shape=(8,)),
        CUBE: PolicyFeature(type=FeatureType.ENV, shape=(7,)),
    }
    if pictures:
        inputs["observation.images.front"] = PolicyFeature(type=FeatureType.VISUAL, shape=(3, SIDE, SIDE))
    return {
        "input_features": inputs,
        "output_features": {ACTION: PolicyFeature(type=FeatureType.ACTION, shape=(7,))},
        "device": "cpu",
        "pretrained_backbone_weights": None,
    }


def act(pictures: bool, **more: Any) -> ACTConfig:
    small = {"dim_model": 128, "n_heads": 4, "dim_feedforward": 256, "n_encoder_layers": 2, "use_vae": False}
    plain = dict.fromkeys(("VISUAL", "STATE", "ENV", "ACTION"), NormalizationMode.MEAN_STD)
    return ACTConfig(**features(pictures), **small, normalization_mapping=plain, **more)


def diffusion() -> DiffusionConfig:
    small = {"down_dims": (32, 64), "n_obs_steps": 2, "horizon": 8, "n_action_steps": 4, "num_inference_steps": 4}
    return DiffusionConfig(**features(True), **small, num_train_timesteps=10, drop_n_last_frames=3)


def figures(values: Any) -> dict[str, torch.Tensor]:
    table = {"mean": values.mean(0), "std": values.std(0) + 1e-6, "min": values.min(0), "max": values.max(0) + 1e-6}
    return {name: torch.as_tensor(value, dtype=torch.float32) for name, value in table.items()}


def random(kind: str, out: Path) -> None:
    """A policy with random weights, and statistics of made-up data."""
    torch.manual_seed(0)
    config = act(True, chunk_size=20, n_action_steps=10) if kind == "act" else diffusion()
    drawn = np.random.default_rng(0)
    data = {OWN: drawn.normal(size=(64, 8)), CUBE: drawn.normal(size=(64, 7)), ACTION: drawn.uniform(-1, 1, (64, 7))}
    stats = {name: figures(values) for name, values in data.items()}
    stats["observation.images.front"] = figures(drawn.uniform(0, 1, (64, 3, 1, 1)))
    save(get_policy_class(config.type)(config), config, stats, out)


def save(policy: Any, config: Any, stats: dict[str, Any], out: Path) -> None:
    before, after = make_pre_post_processors(config, dataset_stats=stats)
    for part in (policy, before, after):
        part.save_pretrained(out)


def train(demos: Path, out: Path, seconds: float, chunk: int, batch: int = 128) -> None:
    """ACT on states, for so many seconds of this process's CPU time."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = np.load(demos)
    states, actions, episode = (data[name] for name in ("states", "actions", "episode"))
    columns = {OWN: states[:, :8], CUBE: states[:, 8:], ACTION: actions}
    stats = {name: figures(values) for name, values in columns.items()}
    config = act(False, chunk_size=chunk, n_action_steps=chunk // 2, dropout=0.0)
    policy = get_policy_class("act")(config)
    before, _ = make_pre_post_processors(config, dataset_stats=stats)
    ends = np.searchsorted(episode, episode, side="right")
    ahead = np.arange(len(states))[:, None] + np.arange(chunk)
    pads = torch.from_numpy(ahead >= ends[:, None])
    ahead = np.minimum(ahead, ends[:, None] - 1)
    tensors = {name: torch.from_numpy(values).float() for name, values in columns.items()}
    rate, draws = 1e-3, np.random.default_rng(0)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=rate, weight_decay=1e-4)
    policy.train()
    began, steps, losses = time.process_time(), 0, []
    while (spent := time.process_time() - began) < seconds:
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, 0.02 + 1.2 * (1.0 - spent / seconds))
        rows = torch.from_numpy(draws.integers(0, len(states), batch))
        taken = {OWN: tensors[OWN][rows], CUBE: tensors[CUBE][rows], ACTION: tensors[ACTION][ahead[rows]]}
        loss, _ = policy.forward({**before(taken), "action_is_pad": pads[rows]})
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        steps += 1
    save(policy.eval(), config, stats, out)
    count = sum(p.numel() for p in policy.parameters())
    last = float(np.mean(losses[-200:]))
    print(json.dumps({"steps": steps, "cpu_s": round(spent), "loss": round(last, 4), "parameters": count}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    drawn = verbs.add_parser("random")
    drawn.add_argument("kind", choices=("act", "diffusion"))
    trained = verbs.add_parser("train")
    trained.add_argument("demos", type=Path)
    trained.add_argument("--seconds", type=float, default=240.0)
    trained.add_argument("--chunk", type=int, default=20)
    for verb in (drawn, trained):
        verb.add_argument("out", type=Path)
    given = parser.parse_args()
    if given.verb == "random":
        random(given.kind, given.out)
    else:
        train(given.demos, given.out, given.seconds, given.chunk)


if __name__ == "__main__":
    main()
