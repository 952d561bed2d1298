"""A policy that says what a test gives it, and helpers to ask it without a world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.policy import Chunk, Policy, PolicySpec
from foretell.robots.simpler import FingerProfile, FingerStep, PoseProfile, PoseStep
from foretell.spec import ActionSpec, Stream

WIDOWX = ActionSpec("ee_step+gripper:grip_step", (*PoseStep.dims, *FingerStep.dims))
GOOGLE = ActionSpec("ee_profile+gripper:grip_profile", (*PoseProfile.dims, *FingerProfile.dims))
RATE = 5.0


class Spoken(Policy):
    """Returns script[call] (chunk, dim) in every slot."""

    def __init__(self, script: Any, reads: Mapping[str, Stream] | None = None):
        self.script = [np.atleast_2d(np.asarray(entry, dtype=float)) for entry in script]
        self.reads = dict(reads or {})
        self.seen: list[Mapping[str, Any]] = []

    def bind(self, task: Any, action: ActionSpec) -> None:
        self.action = action
        self.spec = PolicySpec(
            reads=self.reads, action=action, action_rate=RATE, chunk=len(self.script[0]), execute=1, batch=None
        )

    def reset(self, slots: np.ndarray, instructions: Any, seeds: Any) -> None:
        self.calls = getattr(self, "calls", {}) | dict.fromkeys(slots.tolist(), 0)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        self.seen.append(observations)
        rows = [self.script[self.calls[s]] for s in slots.tolist()]
        self.calls |= {s: self.calls[s] + 1 for s in set(slots.tolist())}
        return Chunk(np.stack(rows))


def ready(policy: Any, action: ActionSpec, slots: int = 1) -> Any:
    """Bound and reset."""
    policy.bind(None, action)
    policy.reset(np.arange(slots), [""] * slots, [0] * slots)
    return policy


def ask(policy: Any, step: int, slots: Any = (0,), **observations: Any) -> np.ndarray:
    """(n, chunk, dim) at the given action of an episode."""
    slots = np.asarray(slots)
    seen = {"time": np.full(len(slots), step / RATE), "instruction": [""] * len(slots), **observations}
    return np.asarray(policy.act(slots, seen).actions)
