"""The zoo: every model loads, is what its card says, keeps the contract, and does what it was trained for."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from foretell.catalogue import catalogue
from foretell.checks import check_policy
from foretell.errors import UsageError
from foretell.policies.make import make_policy
from foretell.policy import observed
from foretell.registry import resolve
from foretell.rollout import Job
from foretell.study.config import PolicyEntry
from foretell.study.session import Session
from foretell.train.demos import FIRST_SEED
from foretell.zoo import Card, cards
from foretell.zoo.card import MODELS

SIMPLER = ("widowx", "google")
STATE = ("bc", "bc-gaussian", "bc-gmm", "bc-transformer", "bc-transformer-gmm", "bc-vae", "dp")
TASKS = ("lift", "can", "square")
CARDS = cards()


def rate(policy: str, task: str, n: int, **options: object) -> float:
    """Share of n scenarios solved."""
    entry = PolicyEntry(use=f"zoo:{policy}", **options)
    session = Session(task=task, controller=None, world="mujoco", policies={"it": entry}, slots=n, threads=2)
    jobs = iter([Job(policy="it", scenario=session.world.task.scenario(40_000 + i)) for i in range(n)])
    outcomes = [outcome for _, outcome in session.run(lambda: next(jobs, None))]
    session.close()
    assert not [o.error for o in outcomes if o.error]
    return sum(bool(o.success) for o in outcomes) / n


def best(task: str) -> Card:
    found = [c for c in CARDS if c.task == task and c.name in STATE and c.success]
    return max(found, key=lambda c: c.success.rate)  # type: ignore[union-attr]


def test_it_is_complete() -> None:
    assert {(c.name, c.task) for c in CARDS} >= {(name, task) for name in STATE for task in TASKS}
    assert {("bc-vision", "lift"), ("bc-vision", "can"), ("dp-vision", "can")} <= {(c.name, c.task) for c in CARDS}


def test_it_is_small() -> None:
    sizes = [f.stat().st_size for f in MODELS.rglob("*") if f.is_file()]
    assert sum(sizes) < 60e6 and max(sizes) < 2e6


@pytest.mark.parametrize("card", CARDS, ids=lambda c: f"{c.task}-{c.name}")
def test_a_card_tells_of_the_file_beside_it(card: Card) -> None:
    contents = card.model.read_bytes()
    assert hashlib.sha256(contents).hexdigest() == card.sha256
    assert len(contents) == card.bytes
    assert card.command == f"python -m foretell.train {card.name} --task {card.task} --seed {card.seed}"
    assert card.success is not None
    if layouts := len(resolve("tasks", card.task)().layouts()):
        whole = card.success.scenarios == f"layouts 0 to {layouts - 1}" and card.success.n == layouts
        lost = f"without {layouts - card.success.n} in which the world failed, layouts 0 to {layouts - 1}"
        assert whole or card.success.scenarios == lost
    else:
        assert card.success.n == 200 and card.latency is not None
    assert card.success.low <= card.success.rate <= card.success.high
    assert card.success.rate == pytest.approx(card.success.successes / card.success.n, abs=1e-4)
    last = int(card.success.scenarios.split()[-1])
    assert last < FIRST_SEED, "it was judged on scenarios it was trained on"


def test_models_and_cards_come_in_pairs() -> None:
    assert set(MODELS.rglob("*.onnx")) == {card.model for card in CARDS}
    assert {card.path for card in CARDS} == set(MODELS.rglob("*.yaml"))


@pytest.mark.parametrize("task", TASKS)
def test_one_state_policy_per_task_is_good(task: str) -> None:
    assert best(task).success.rate >= 0.85  # type: ignore[union-attr]


@pytest.mark.parametrize("task", ["can", "square"])
def test_policies_are_spread_from_weak_to_strong(task: str) -> None:
    rates = [c.success.rate for c in CARDS if c.task == task and c.success]
    assert min(rates) < 0.40 and max(rates) > 0.75
    assert [r for r in rates if 0.40 <= r <= 0.75]


def test_those_that_see_do_so() -> None:
    seeing = {c.task: c for c in CARDS if c.name == "bc-vision"}
    for task, floor in (("lift", 0.70), ("can", 0.50)):
        assert seeing[task].success.rate >= floor  # type: ignore[union-attr]
        assert not [s for s in seeing[task].reads if s.startswith(("cube", "can", "nut"))]


@pytest.mark.parametrize("task", TASKS)
def test_the_best_state_policy_solves_its_task(task: str) -> None:
    assert rate(best(task).name, task, 20) >= 0.75


def test_the_fingerprint_is_that_of_the_weights() -> None:
    session = Session(
        task="can", controller=None, world="mujoco", policies={"it": PolicyEntry(use="zoo:bc")}, slots=1, threads=1
    )
    card = next(c for c in CARDS if (c.name, c.task) == ("bc", "can"))
    assert session.opened.policies["it"]["hash"] == card.sha256
    session.close()


@pytest.mark.parametrize("name", STATE)
def test_each_keeps_the_contract(name: str) -> None:
    report = check_policy(f"zoo:{name}", task="can")
    assert not [f"{f.name}: {f.detail}" for f in report.findings if not f.passed]


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("name", ["bc-vision", pytest.param("dp-vision", marks=pytest.mark.daily)])
def test_those_that_see_keep_the_contract(name: str) -> None:
    report = check_policy(f"zoo:{name}", task="can")
    assert not [f"{f.name}: {f.detail}" for f in report.findings if not f.passed]


@pytest.mark.parametrize("execute", [1, 2, 4, 8, 16])
def test_dp_runs_as_much_of_its_chunk_as_is_asked(execute: int) -> None:
    session = Session(
        task="lift",
        controller=None,
        world="mujoco",
        policies={"it": PolicyEntry(use="zoo:dp", execute=execute)},
        slots=1,
        threads=1,
    )
    spec = session.policies["it"].spec
    session.close()
    assert (spec.chunk, spec.executes) == (16, execute)


def test_an_unknown_name_is_told_with_a_near_one() -> None:
    with pytest.raises(UsageError, match=r"zoo: 'bc-gnn' is not known; .*bc-gmm"):
        make_policy("zoo:bc-gnn")


def test_a_task_it_was_not_trained_for_is_refused() -> None:
    with pytest.raises(UsageError, match=r"zoo: 'bc-vision' was trained for can, lift, not for 'square'; .*bc-vae"):
        Session(
            task="square",
            controller=None,
            world="mujoco",
            policies={"it": PolicyEntry(use="zoo:bc-vision")},
            slots=1,
            threads=1,
        )


def test_the_catalogue_lists_each() -> None:
    listed = {entry["name"]: entry for entry in catalogue("policies")}
    assert set(listed["zoo:bc"]["tasks"]) == set(TASKS)
    assert "diffusion" in listed["zoo:dp"]["about"]


@pytest.mark.parametrize("task", TASKS)
def test_the_diffusion_policy_continues_what_is_committed(task: str) -> None:
    """Real-time chunking: its chunk starts with the actions that will have begun, and the others follow from them."""
    session = Session(
        task=task, controller=None, world="mujoco", policies={"it": PolicyEntry(use="zoo:dp")}, slots=1, threads=1
    )
    policy, slots = session.policies["it"], np.zeros(1, dtype=np.int32)
    world, spec = session.world, session.policies["it"].spec
    world.reset(slots, [world.task.scenario(0)], [0])
    seen = world.observe(slots, observed(spec.reads))
    seen |= {k: np.repeat(seen[k][:, None], 2, axis=1) for k in observed(spec.reads) if seen[k].ndim == 2}

    def ask(plan: float, committed: int) -> np.ndarray:
        policy.reset(slots, [""], [0])
        told = {"plan": np.full((1, 16, 7), plan), "committed": np.full(1, committed)}
        return np.asarray(policy.act(slots, {**seen, **told}).actions)[0]

    free = ask(0.0, 0)
    assert (ask(0.3, 0) == free).all(), "a plan that is not committed to says nothing"
    bound = ask(0.3, 4)
    assert bound[:4] == pytest.approx(0.3, abs=1e-6)
    assert np.abs(bound[4:] - free[4:]).max() > 1e-3
    session.close()
