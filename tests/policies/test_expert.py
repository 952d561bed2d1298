"""Scripted experts as policies."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.policies.expert import NoisyExpert
from foretell.policy import Policy, PolicySpec
from foretell.spec import joint_positions
from foretell.tasks import Task

JOINTS = joint_positions((-2.0, 0.5), (2.0, 3.0))


class Still(Policy):
    """Holds two joints where their values are above 1 rad."""

    spec = PolicySpec(reads={}, action=JOINTS, batch=None)

    def act(self, slots: np.ndarray, observations: Any) -> np.ndarray:
        return np.tile([1.5, 2.5, 0.0], (len(slots), 1))


class Held(Task):
    """A task whose expert commands joint positions."""

    name = "held"

    def expert(self) -> Policy:
        return Still()


def actions(noise: float) -> np.ndarray:
    policy = NoisyExpert(noise)
    policy.bind(Held(), JOINTS)
    slots = np.arange(1000)
    policy.reset(slots, [""] * 1000, list(range(1000)))
    return policy.act(slots, {})


def test_noise_is_clipped_to_the_range_of_the_action() -> None:
    """Joint positions go beyond 1 rad: to clip them there would move the arm elsewhere."""
    assert np.array_equal(actions(0.0), np.tile([1.5, 2.5, 0.0], (1000, 1)))
    noisy = actions(1.0)
    assert (noisy >= JOINTS.low).all()
    assert noisy.max(axis=0).tolist() == JOINTS.high.tolist()
