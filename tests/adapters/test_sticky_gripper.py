"""The rule of SIMPLER's adapter for Octo, written down again as a loop."""

from __future__ import annotations

import numpy as np
import pytest
from spoken import GOOGLE, WIDOWX, Spoken, ask, ready

from foretell.adapters import adapt
from foretell.errors import UsageError


def by_hand(openings: list[float], repeats: int) -> list[float]:
    before, sticky, held, count, changes = None, False, 0.0, 0, []
    for opening in openings:
        change = 0.0 if before is None else before - opening
        before = opening
        if abs(change) > 0.5 and not sticky:
            sticky, held = True, change
        if sticky:
            count, change = count + 1, held
        if count == repeats:
            sticky, count, held = False, 0, 0.0
        changes.append(change)
    return changes


def script(openings: list[float]) -> list[list[float]]:
    return [[0.0] * 6 + [opening] for opening in openings]


@pytest.mark.parametrize("steps", [1, 3, 15])
def test_it_equals_the_rule_step_by_step(steps: int) -> None:
    openings = np.random.default_rng(steps).choice([0.0, 0.2, 0.9, 1.0], 60).tolist()
    policy = ready(adapt(Spoken(script(openings)), {"sticky_gripper": steps}), GOOGLE)
    assert [ask(policy, step)[0, 0, 6] for step in range(60)] == by_hand(openings, steps)


def test_a_change_lasts_fifteen_actions() -> None:
    policy = ready(adapt(Spoken(script([1.0] + [0.0] * 20)), "sticky_gripper"), GOOGLE)
    assert [ask(policy, step)[0, 0, 6] for step in range(21)] == [0.0] + [1.0] * 15 + [0.0] * 5


def test_chunks_and_single_actions_give_the_same() -> None:
    openings = np.random.default_rng(1).choice([0.0, 1.0], 24).tolist()
    chunks = [script(openings[at : at + 8]) for at in range(0, 24, 3) if at + 8 <= 24]
    policy = ready(adapt(Spoken(chunks), {"sticky_gripper": 4}), GOOGLE)
    ran = [ask(policy, 3 * call)[0, :3, 6].tolist() for call in range(len(chunks))]  # three of eight are run
    assert [change for part in ran for change in part] == by_hand(openings, 4)[: 3 * len(chunks)]


def test_slots_do_not_depend_on_neighbours_padding_or_what_ran_before() -> None:
    openings = [1.0, 0.0, 0.0, 1.0, 1.0]
    policy = ready(adapt(Spoken(script(openings)), {"sticky_gripper": 2}), GOOGLE, slots=3)
    first = [ask(policy, step, (0, 2, 2))[:, 0, 6].tolist() for step in range(5)]  # the last slot fills the batch
    policy.reset(np.array([0, 1]), [""] * 2, [0] * 2)
    second = [ask(policy, step, (1, 0))[:, 0, 6].tolist() for step in range(5)]
    assert [row[:2] for row in first] == second == [[c, c] for c in by_hand(openings, 2)]


def test_a_gripper_that_takes_its_opening_is_refused() -> None:
    with pytest.raises(UsageError, match=r"needs one gripper that takes changes.*needs the adapter 'gripper'"):
        adapt(Spoken(script([0.0])), "sticky_gripper").bind(None, WIDOWX)
