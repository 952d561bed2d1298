"""The temporal ensemble of ACT and SIMPLER, against a plain loop."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from spoken import WIDOWX, Spoken, ask, ready

from foretell.adapters import adapt
from foretell.errors import UsageError


def by_hand(chunks: np.ndarray, temperature: float) -> list[list[float]]:
    kept: deque[np.ndarray] = deque(maxlen=chunks.shape[1])
    means = []
    for chunk in chunks:
        kept.append(chunk)
        now = np.stack([old[age] for age, old in zip(range(len(kept) - 1, -1, -1), kept, strict=True)])
        weights = np.exp(-temperature * np.arange(len(kept)))
        means.append(np.sum((weights / weights.sum())[:, None] * now, axis=0).tolist())
    return means


@pytest.mark.parametrize("temperature", [0.0, 0.01, -0.8])
def test_it_equals_the_rule_step_by_step(temperature: float) -> None:
    chunks = np.random.default_rng(0).normal(size=(12, 4, 7))
    policy = ready(adapt(Spoken(chunks), {"ensemble": temperature}), WIDOWX)
    assert policy.spec.chunk == policy.spec.executes == 1
    assert [ask(policy, step)[0, 0].tolist() for step in range(12)] == by_hand(chunks, temperature)


def test_new_episodes_remember_nothing_and_padding_counts_once() -> None:
    chunks = np.random.default_rng(1).normal(size=(6, 3, 7))
    policy = ready(adapt(Spoken(chunks), "ensemble"), WIDOWX, slots=2)
    first = [ask(policy, step, (0, 1, 1, 1))[1].tolist() for step in range(6)]
    policy.reset(np.array([1]), [""], [0])
    assert [ask(policy, step, (1,))[0].tolist() for step in range(6)] == first


def test_a_policy_of_single_actions_is_refused() -> None:
    with pytest.raises(UsageError, match="Spoken returns one action per call, so there is nothing to average"):
        adapt(Spoken([[0.0] * 7]), "ensemble").bind(None, WIDOWX)
