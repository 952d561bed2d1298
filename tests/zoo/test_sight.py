"""The zoo for SIMPLER's robots: each fits its tasks and no other, senses what its card lists and no more, gives the
same answer at any fill of its batch, and the best does what its card says."""

from __future__ import annotations

import pytest

from foretell.checks import check_policy
from foretell.errors import UsageError
from foretell.registry import resolve
from foretell.rollout import Job
from foretell.study.config import PolicyEntry
from foretell.study.session import Session
from foretell.tasks.suites import SIMPLER_WIDOWX
from foretell.zoo import Card, cards

COKE = "google_robot_pick_coke_can"
TASKS = (*SIMPLER_WIDOWX.tasks, COKE)
CARDS = [card for card in cards() if card.task in TASKS]
NAMES = sorted({card.name for card in CARDS})
SEEING = {"sight", "sight-gmm", "sight-vae", "sight-dp", "sight-rnn"}
"""For every task; `sight-language` is for the WidowX alone."""


def opened(card: Card, slots: int = 1) -> Session:
    entry = PolicyEntry(use=f"zoo:{card.name}", batch=slots)
    return Session(task=card.task, controller=None, world="mujoco", policies={"it": entry}, slots=slots, threads=1)


def test_every_task_has_strong_weak_and_blind_ones() -> None:
    for task in TASKS:
        rates = {card.name: card.success.rate for card in CARDS if card.task == task and card.success}
        assert set(rates) >= SEEING | {"sight-few", "sight-part", "sight-blind"}
        assert ("sight-language" in rates) == (task != COKE)
        assert rates["sight-blind"] < 0.2 < 0.5 < max(rates.values())


@pytest.mark.parametrize("card", CARDS, ids=lambda c: f"{c.task}-{c.name}")
def test_none_reads_the_pose_of_an_object(card: Card) -> None:
    things = resolve("tasks", card.task).roles
    assert not [name for name in card.reads if name.partition("/")[0] in things]


@pytest.mark.parametrize("card", CARDS, ids=lambda c: f"{c.task}-{c.name}")
def test_each_fits_its_task_and_reads_what_its_card_lists(card: Card) -> None:
    session = opened(card)
    reads = set(session.policies["it"].spec.reads)
    assert session.opened.policies["it"]["hash"] == card.sha256
    session.close()
    assert reads - {"plan", "committed"} == set(card.reads) - {"instruction"}


@pytest.mark.parametrize("name", NAMES)
def test_each_refuses_a_task_that_it_was_not_trained_for(name: str) -> None:
    with pytest.raises(UsageError, match=rf"zoo: '{name}' was trained for .*, not for 'lift'"):
        Session(
            task="lift",
            controller=None,
            world="mujoco",
            policies={"it": PolicyEntry(use=f"zoo:{name}")},
            slots=1,
            threads=1,
        )


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_keeps_the_contract(name: str) -> None:
    """Among others: an answer depends neither on the place in the batch, nor on its fill, nor on neighbours."""
    report = check_policy(f"zoo:{name}", task="widowx_stack_cube")
    assert not [f"{f.name}: {f.detail}" for f in report.findings if not f.passed]


@pytest.mark.gl
@pytest.mark.daily
@pytest.mark.parametrize("task", TASKS)
def test_the_best_one_does_what_its_card_says(task: str) -> None:
    best = max((c for c in CARDS if c.task == task and c.success), key=lambda c: c.success.rate)  # type: ignore[union-attr]
    assert best.success is not None
    session = opened(best, slots=8)
    layouts = session.world.task.layouts()
    jobs = iter([Job(policy="it", scenario=scenario) for scenario in layouts[:: len(layouts) // 8][:8]])
    outcomes = [outcome for _, outcome in session.run(lambda: next(jobs, None))]
    session.close()
    assert not [o.error for o in outcomes if o.error]
    assert sum(bool(o.success) for o in outcomes) >= 8 * best.success.rate - 3  # other bits, other near misses
