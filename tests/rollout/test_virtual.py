"""The virtual clock: no latency is sync, latency costs what it should, and rows do not depend on how they were run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rollouts import reproducible

from foretell.clock import Virtual, parse
from foretell.errors import UsageError
from foretell.latency.latency import Latency, parse_latency
from foretell.policies.expert import Expert, NoisyExpert
from foretell.policies.make import bind
from foretell.policy import Policy, PolicySpec
from foretell.rollout import Job, Outcome, run_sync, run_virtual
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task

TASK = make_task("lift")
ONLY_VIRTUAL = {
    "inferences",
    "latency_per_inference_s",
    "latency_per_action_s",
    "observation_age_s",
    "action_age_s",
    "starvation_s",
    "seam_mean",
    "seam_max",
}


class Chunked(Policy):
    """Small pushes that depend on what is seen and when, several at a time, and remembers when it was called."""

    def __init__(self, chunk: int = 4, rate: float = 20.0, reads: Any = None):
        reads = reads or {"panda/ee_pos": Stream((3,), history=2)}
        self.spec = PolicySpec(reads=reads, action_rate=rate, chunk=chunk, batch=None)
        self.called: list[float] = []

    def act(self, slots, observations):
        self.called.append(float(observations["time"][0]))
        seen = np.stack([np.asarray(observations[name]).reshape(len(slots), -1)[:, 0] for name in self.spec.reads])
        actions = np.zeros((len(slots), self.spec.chunk, 7))
        actions[:, :, 0] = 0.3 * np.sin(40 * seen.sum(axis=0) + observations["time"])[:, None]
        actions[:, :, 2] = -0.1 * np.arange(self.spec.chunk)
        return actions


def play(policy: Any, clock: Virtual | None, n: int = 6, slots: int = 4, limit: float = 3.0) -> list[Outcome]:
    task = make_task("lift")
    task.time_limit = limit
    world = MujocoWorld(task, slots=slots)
    bound = {"p": bind(policy, world, "p")}
    jobs = iter([Job(policy="p", scenario=task.scenario(i), trial=0, key=str(i)) for i in range(n)])
    source = lambda: next(jobs, None)  # noqa: E731
    done = run_sync(world, bound, source) if clock is None else run_virtual(world, bound, source, clock=clock)
    found = {job.key: outcome for job, outcome in done}
    return [found[str(i)] for i in range(n)]


def without_timing(outcome: Outcome) -> dict[str, Any]:
    row = reproducible(outcome)
    row["metrics"] = {k: v for k, v in row["metrics"].items() if k not in ONLY_VIRTUAL}
    return row


@pytest.mark.parametrize(
    "policy",
    [
        Expert,
        lambda: NoisyExpert(0.3),
        Chunked,
        lambda: Chunked(chunk=3, rate=8.0),  # 62.5 ticks an action
        lambda: Chunked(reads={"panda/joint_vel": Stream((7,), rate=30.0, history=3)}),
    ],
)
def test_no_latency_is_sync_bit_for_bit(policy: Any) -> None:
    reference = [reproducible(o) for o in play(policy(), None)]
    assert [without_timing(o) for o in play(policy(), Virtual())] == reference


@pytest.mark.parametrize("latency", [0.03, {"lognormal": [0.05, 0.5]}, {"trace": [0.02, 0.07, 0.011]}])
@pytest.mark.parametrize("chunks", ["execute", "replace"])
def test_rows_do_not_depend_on_slots(latency: Any, chunks: str) -> None:
    clock = Virtual(parse_latency(latency), chunks=chunks)
    reference = [reproducible(o) for o in play(Chunked(), clock, slots=1, limit=1.5)]
    for slots in (3, 6):
        assert [reproducible(o) for o in play(Chunked(), clock, slots=slots, limit=1.5)] == reference


def test_think_then_move_takes_latency_and_action_in_turn() -> None:
    """50 ms of thinking and four actions of 50 ms: a call every 250 ms, and the robot waits a fifth of the time."""
    policy = Chunked(chunk=4)
    (outcome,) = play(policy, Virtual(parse_latency(0.05)), n=1, slots=1, limit=2.0)
    assert policy.called == pytest.approx(np.arange(8) * 0.25)
    assert outcome.steps == 32 and outcome.metrics["inferences"] == 8
    assert outcome.metrics["starvation_s"] == pytest.approx(0.4)
    assert outcome.metrics["latency_per_inference_s"] == pytest.approx(0.05)
    assert outcome.metrics["latency_per_action_s"] == pytest.approx(0.0125)
    # the four actions of a chunk begin 50, 100, 150 and 200 ms after the look that they answer
    assert outcome.metrics["observation_age_s"] == pytest.approx(0.125)


def test_speed_stretches_latency() -> None:
    slow, fast = Virtual(parse_latency(0.1)), Virtual(parse_latency(0.05), speed=2.0)
    assert [without_timing(o) for o in play(Chunked(), slow)] == [without_timing(o) for o in play(Chunked(), fast)]


def test_replacing_never_starves_while_chunks_outlast_thinking() -> None:
    policy = Chunked(chunk=8)
    (outcome,) = play(policy, Virtual(parse_latency(0.12), chunks="replace"), n=1, slots=1, limit=2.0)
    assert outcome.metrics["starvation_s"] == pytest.approx(0.12), "only the first answer is waited for"
    assert outcome.metrics["observation_age_s"] < 0.3
    assert outcome.metrics["inferences"] > 8


def test_answers_older_than_their_chunk_are_of_no_use() -> None:
    policy = Chunked(chunk=2)
    (outcome,) = play(policy, Virtual(parse_latency(0.5), chunks="replace"), n=1, slots=1, limit=3.0)
    assert outcome.end == "time_limit" and outcome.metrics["starvation_s"] > 1.0


def test_what_never_came_has_no_latency() -> None:
    (outcome,) = play(Chunked(), Virtual(parse_latency(9.0)), n=1, slots=1, limit=1.0)
    assert (outcome.steps, outcome.metrics["inferences"], outcome.metrics["starvation_s"]) == (0, 1, pytest.approx(1.0))
    assert not {m for m in outcome.metrics if "latency" in m or "age" in m}


def test_latency_costs_success() -> None:
    solved = [sum(bool(o.success) for o in play(Expert(), Virtual(parse_latency(s)), limit=2.5)) for s in (0.0, 0.3)]
    assert solved[0] == 6 and solved[1] < 6


def test_latencies_are_drawn_from_the_scenario_not_the_slot() -> None:
    clock = Virtual(parse_latency({"uniform": [0.0, 0.2]}))
    first, second = play(Chunked(), clock, n=2, slots=2)
    assert first.metrics["latency_per_inference_s"] != second.metrics["latency_per_inference_s"]


def test_distributions() -> None:
    rng = np.random.default_rng(0)
    assert set(Latency(kind="constant", values=(0.1,)).draw(rng, 5)) == {0.1}
    uniform = Latency(kind="uniform", values=(0.1, 0.2)).draw(rng, 2000)
    assert uniform.min() >= 0.1 and uniform.max() <= 0.2 and uniform.mean() == pytest.approx(0.15, abs=0.005)
    assert Latency(kind="normal", values=(0.01, 0.05)).draw(rng, 2000).min() == 0.0
    assert np.median(Latency(kind="lognormal", values=(0.05, 0.4)).draw(rng, 4000)) == pytest.approx(0.05, rel=0.05)
    trace = Latency(kind="trace", values=(0.1, 0.2, 0.3)).draw(rng, 7)
    assert np.diff(np.flatnonzero(trace == 0.1)).tolist() == [3] * (len(np.flatnonzero(trace == 0.1)) - 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (-1, "0 or more"),
        ({"uniform": [0.2, 0.1]}, "above"),
        ({"uniform": [0.2]}, "takes 2 numbers, given 1"),
        ({"gauss": [1, 2]}, "not a distribution"),
        ({"trace": "nowhere.txt"}, "nowhere.txt"),
        ("fast", "should be seconds"),
        (float("nan"), "finite"),
    ],
)
def test_impossible_latencies_are_named(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_latency(given)


def test_the_clock_survives_a_row() -> None:
    clock = parse({"virtual": {"latency": {"trace": [0.1, 0.2]}, "speed": 2}})
    assert parse(clock.to_dict()) == clock
    assert clock.label == "virtual trace of 2, median 150 ms, speed 2"
    with pytest.raises(UsageError, match="speed"):
        parse({"virtual": {"speed": 0}})
