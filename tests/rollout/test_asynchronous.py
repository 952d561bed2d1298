"""What runs while a policy thinks: plans, holds, ensembles, and what is logged of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from rollouts import reproducible

from foretell.clock import Realtime, Virtual, parse
from foretell.errors import UsageError
from foretell.latency.latency import parse_latency
from foretell.policies.make import bind
from foretell.policy import Policy, PolicySpec
from foretell.rollout import Job, Outcome, run_sync, run_virtual
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task


class Counting(Policy):
    """Action k of call c moves by (c + k / 10) / 20 along x; remembers what it was told of its plan."""

    def __init__(self, chunk: int = 8, plans: bool = False):
        reads: dict[str, Stream] = {"panda/ee_pos": Stream((3,))}
        if plans:
            reads |= {"plan": Stream((chunk, 7)), "committed": Stream(())}
        self.spec = PolicySpec(reads=reads, chunk=chunk, batch=None)
        self.calls = 0
        self.told: list[tuple[np.ndarray, float]] = []

    def act(self, slots, observations):
        actions = np.zeros((len(slots), self.spec.chunk, 7))
        actions[:, :, 0] = (self.calls + np.arange(self.spec.chunk) / 10) / 20
        if "plan" in self.spec.reads:
            self.told.append((observations["plan"][0, :, 0] * 20, float(observations["committed"][0])))
        self.calls += 1
        return actions


class Recording(MujocoWorld):
    """Remembers what it is commanded, and when."""

    def __init__(self, *args: Any, **more: Any):
        super().__init__(*args, **more)
        self.commands: list[tuple[int, np.ndarray, int]] = []

    def command(self, slots, actions, ticks):
        self.commands += [(int(self._age[s]), a.copy(), int(t)) for s, a, t in zip(slots, actions, ticks, strict=True)]
        super().command(slots, actions, ticks)


def play(clock: Virtual | None, policy: Any = None, limit: float = 1.0, events: Path | None = None, slots: int = 1):
    task = make_task("lift")
    task.time_limit = limit
    world = Recording(task, slots=slots)
    bound = {"p": bind(policy or Counting(), world, "p")}
    jobs = iter([Job(policy="p", scenario=task.scenario(0), trial=0, key="0", events=events)])
    source = lambda: next(jobs, None)  # noqa: E731
    done = run_sync(world, bound, source) if clock is None else run_virtual(world, bound, source, clock=clock)
    ((_, outcome),) = done
    return outcome, world.commands


def called(commands: list[tuple[int, np.ndarray, int]]) -> list[tuple[int, float]]:
    """(tick, call + action / 10)"""
    return [(tick, round(float(action[0]) * 20, 6)) for tick, action, _ in commands]


def clock(latency: float, **more: Any) -> Virtual:
    return Virtual(parse_latency(latency), **more)


def test_replace_takes_up_where_the_old_plan_is() -> None:
    """50 ms actions, 75 ms of thinking: the second answer, to a look at 125 ms, arrives at 200 ms, two actions on."""
    _, commands = play(clock(0.075, chunks="replace"))
    first = called(commands)[:5]
    # think at 0, arrives at tick 37.5 -> 38; action 0 there; looks again with the next action
    assert first[0] == (38, 0.0)
    assert [tick for tick, _ in first] == [38, 63, 88, 113, 138]
    assert [value for _, value in first] == pytest.approx([0.0, 0.1, 0.2, 1.2, 1.3])


def test_unlimited_computers_answer_every_action() -> None:
    _, one = play(clock(0.2, chunks="replace"), limit=2.0)
    outcome, many = play(clock(0.2, chunks="replace", computers="unlimited"), limit=2.0)
    newest = [int(v) for _, v in called(many)]
    assert newest[8:14] == list(range(newest[8], newest[8] + 6)), "each action is of a newer answer"
    assert len({int(v) for _, v in called(one)}) < len(set(newest))
    assert outcome.metrics["inferences"] > 30


def test_an_ensemble_is_the_weighted_mean_of_all_answers() -> None:
    """No latency: action s is foreseen by calls s, s-1, ... at index 0, 1, ...; the oldest has weight one."""
    _, commands = play(clock(0.0, chunks="ensemble", decay=0.5), Counting(chunk=3))
    calls = np.array([4, 5, 6])  # the answers that foresee action 6, oldest first
    weights = np.exp(-0.5 * np.arange(3))
    expected = weights @ (calls + np.array([2, 1, 0]) / 10) / weights.sum()
    assert called(commands)[6] == (150, pytest.approx(expected, abs=1e-6))


def test_an_ensemble_of_single_actions_is_sync() -> None:
    reference, _ = play(None, Counting(chunk=1))
    found, _ = play(clock(0.0, chunks="ensemble"), Counting(chunk=1))
    names = ("success", "stages", "steps", "sim_s", "end")
    assert [getattr(found, n) for n in names] == [getattr(reference, n) for n in names]


def test_rtc_tells_the_plan_and_how_much_of_it_will_have_run() -> None:
    policy = Counting(plans=True)
    _, commands = play(clock(0.09, chunks="rtc"), policy, limit=1.5)
    plan, committed = policy.told[0]
    assert (plan == 0).all() and committed == 0, "nothing runs yet"
    ran = dict(called(commands))
    for plan, committed in policy.told[3:]:
        # 90 ms are at most two actions of 50 ms; they are what the plan said, whatever the answer
        assert committed == 2
        start = next(tick for tick, value in ran.items() if value == pytest.approx(plan[0]))
        after = [value for tick, value in ran.items() if tick >= start][:2]
        assert after == pytest.approx(plan[: len(after)])
    idle = Counting(plans=True)
    play(clock(0.09), idle)
    assert all(committed == 0 and (plan == 0).all() for plan, committed in idle.told), "only rtc tells"


@pytest.mark.parametrize(
    ("hold", "ticks"),
    [("target", []), ("repeat", [75, 100, 125]), ("tick", list(range(75, 150))), ("zero", [75])],
)
def test_what_is_held_while_nothing_new_comes(hold: str, ticks: list[int]) -> None:
    """Two actions from 25 to 75, thinking from 75 to 150: what is commanded in between?"""
    policy = Counting(chunk=2)
    latency = parse_latency({"replay": [0.05, 0.15]})
    _, commands = play(Virtual(latency, hold=hold), policy, limit=0.4)
    between = [(tick, action) for tick, action, _ in commands if 75 <= tick < 150]
    assert [tick for tick, _ in between] == ticks
    for _, action in between:
        assert action[0] == pytest.approx(0.0 if hold == "zero" else 0.1 / 20)


def test_events_tell_the_whole_story(tmp_path: Path) -> None:
    path = tmp_path / "events" / "e.parquet"
    outcome, commands = play(clock(0.06, chunks="execute"), Counting(chunk=4), events=path)
    rows = pq.read_table(path).to_pylist()
    of = lambda kind: [r for r in rows if r["kind"] == kind]  # noqa: E731
    assert [round(r["sim_s"] / 0.002) for r in of("action")] == [tick for tick, _, _ in commands]
    assert len(of("look")) == len(of("think")) == outcome.metrics["inferences"]
    assert all(r["until_s"] - r["sim_s"] == pytest.approx(0.06) for r in of("think")[:-1])
    assert sum(r["until_s"] - r["sim_s"] for r in of("starve")) == pytest.approx(outcome.metrics["starvation_s"])
    ages = [r["value"] for r in of("action")]
    assert np.mean(ages) == pytest.approx(outcome.metrics["observation_age_s"])
    assert len(of("seam")) == len(of("chunk")) - 1 and outcome.metrics["seam_max"] > 0


def test_a_replayed_trace_begins_at_its_beginning() -> None:
    policy = Counting(chunk=1)
    _, commands = play(Virtual(parse_latency({"replay": [0.01, 0.03, 0.05]})), policy, limit=0.5)
    starts = [tick for tick, _, _ in commands]
    assert starts[:4] == [5, 5 + 25 + 15, 45 + 25 + 25, 95 + 25 + 5]


def test_a_policy_may_look_later_than_it_is_asked() -> None:
    """As in real time, where its process may wake late. Actions begin when they would have; what it sees is newer."""
    seen: list[float] = []

    class Looking(Counting):
        def act(self, slots, observations):
            seen.append(float(observations["time"][0]))
            return super().act(slots, observations)

    trace = {"replay": [0.01, 0.03, 0.05]}
    at_once, commands = play(Virtual(parse_latency(trace)), Looking(chunk=1), limit=0.5)
    assert seen[:4] == pytest.approx([0.0, 0.06, 0.14, 0.24])
    early, seen[:] = list(seen), []
    late, same = play(Virtual(parse_latency({**trace, "looks": [0.0, 0.02, 0.05]})), Looking(chunk=1), limit=0.5)
    assert called(same) == called(commands)
    assert np.subtract(seen, early)[:6] == pytest.approx([0.0, 0.02, 0.05] * 2)
    assert late.metrics["observation_age_s"] < at_once.metrics["observation_age_s"]
    assert late.metrics["latency_per_inference_s"] == at_once.metrics["latency_per_inference_s"]


@pytest.mark.parametrize(
    ("latency", "message"),
    [
        ({"replay": [0.1], "looks": [0.2]}, "looks 0.2 s after it was asked, and answers 0.1 s after"),
        ({"replay": [0.1], "looks": [0.0, 0.1]}, "2 looks for 1 values of replay"),
        ({"kind": "trace", "values": [0.1], "looks": [0.1]}, "1 looks for 1 values of trace"),
    ],
)
def test_looks_must_fit_their_latencies(latency: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_latency(latency)


def test_looks_are_kept_in_rows() -> None:
    latency = parse_latency({"replay": [0.1, 0.2], "looks": [0.0, 0.1]})
    assert parse_latency(latency.to_dict()) == latency


def test_rows_do_not_depend_on_slots_with_any_strategy() -> None:
    def many(slots: int, how: Virtual) -> list[Any]:
        task = make_task("lift")
        task.time_limit = 1.0
        world = MujocoWorld(task, slots=slots)
        bound = {"p": bind(_Seeing(), world, "p")}
        jobs = iter([Job(policy="p", scenario=task.scenario(i), trial=0, key=str(i)) for i in range(5)])
        found: dict[str, Outcome] = {
            j.key: o for j, o in run_virtual(world, bound, lambda: next(jobs, None), clock=how)
        }
        return [reproducible(found[str(i)]) for i in range(5)]

    latency = parse_latency({"lognormal": [0.06, 0.6]})
    for more in (
        {"chunks": "ensemble"},
        {"chunks": "rtc"},
        {"chunks": "replace", "computers": "unlimited"},
        {"hold": "repeat"},
        {"hold": "zero"},
    ):
        how = Virtual(latency, **more)
        assert many(1, how) == many(3, how) == many(5, how), more


class _Seeing(Policy):
    """Moves by what it sees: without memory, as rows must not depend on what else it was asked."""

    def __init__(self) -> None:
        self.spec = PolicySpec(reads={"panda/ee_pos": Stream((3,)), "plan": Stream((4, 7))}, chunk=4, batch=None)

    def act(self, slots, observations):
        actions = np.zeros((len(slots), 4, 7))
        actions[:, :, 0] = 0.3 * np.sin(40 * observations["panda/ee_pos"][:, 2:] + np.arange(4))
        return actions + 0.1 * observations["plan"]


def test_labels_and_rows() -> None:
    for given, label in (
        ({"virtual": {"latency": 0.1, "hold": "zero"}}, "virtual 100 ms, hold zero"),
        ({"virtual": {"chunks": "replace", "computers": "unlimited"}}, "virtual 0 ms, replace, unlimited computers"),
        ({"realtime": {"speed": 2}}, "realtime, speed 2"),
        ({"virtual": {"latency": "measured"}}, "virtual measured"),
        ({"virtual": {"latency": {"profile": "lab.yaml", "device": "jetson"}}}, "virtual lab.yaml jetson"),
    ):
        made = parse(given)
        assert made.label == label and parse(made.to_dict()) == made
    assert Realtime().camera_rate == 30.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"virtual": {"chunks": "blend"}}, "chunks"),
        ({"virtual": {"hold": "still"}}, "hold"),
        ({"virtual": {"computers": 2}}, "computers"),
        ({"virtual": {"computers": "unlimited"}}, "thinks only between two chunks"),
        ({"realtime": {"latency": 0.1}}, "options"),
        ({"realtime": {"camera_rate": 0}}, "camera_rate"),
        ({"realtime": {"speed": -1}}, "speed"),
    ],
)
def test_options_that_make_no_sense(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(given)
