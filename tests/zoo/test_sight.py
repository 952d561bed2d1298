"""The zoo for SIMPLER's robots: each fits its task, runs an episode, and senses what its card lists and no more."""

from __future__ import annotations

import pytest

from foretell.registry import resolve
from foretell.rollout import Job
from foretell.study.config import PolicyEntry
from foretell.study.session import Session
from foretell.zoo import Card, cards

CARDS = [card for card in cards() if card.task.startswith(("widowx", "google"))]


def opened(card: Card, slots: int = 1) -> Session:
    entry = PolicyEntry(use=f"zoo:{card.name}", batch=slots)
    return Session(task=card.task, controller=None, world="mujoco", policies={"it": entry}, slots=slots, threads=1)


@pytest.mark.parametrize("card", CARDS, ids=lambda c: f"{c.task}-{c.name}")
def test_none_reads_the_pose_of_an_object(card: Card) -> None:
    things = resolve("tasks", card.task).roles
    assert not [name for name in card.reads if name.partition("/")[0] in things]
    assert card.success is None or card.success.n == len(resolve("tasks", card.task)().layouts())


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize(
    "card",
    [pytest.param(c, id=f"{c.task}-{c.name}", marks=pytest.mark.daily if c != CARDS[0] else ()) for c in CARDS],
)
def test_each_runs_an_episode_on_its_task(card: Card) -> None:
    session = opened(card)
    assert set(session.policies["it"].spec.reads) == set(card.reads) - {"instruction"} | (
        {"plan", "committed"} & set(session.policies["it"].spec.reads)
    )
    jobs = iter([Job(policy="it", scenario=session.world.task.layouts()[0])])
    ((_, outcome),) = session.run(lambda: next(jobs, None))
    session.close()
    assert outcome.error is None and outcome.steps == 60
