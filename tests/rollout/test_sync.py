"""The sync driver: history at the declared rate, chunks, termination, mixed policies, errors in one slot only."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from rollouts import episodes, reproducible

from foretell.errors import UsageError
from foretell.policies.expert import Expert
from foretell.policies.make import bind
from foretell.policy import Chunk, Policy, PolicySpec
from foretell.rollout import Job, run_sync
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task

TASK = make_task("lift")


class Still(Policy):
    """Does nothing, and keeps what it was shown."""

    def __init__(self, **spec: Any):
        self.spec = PolicySpec(batch=None, **spec)
        self.seen: list[dict[str, Any]] = []

    def act(self, slots, observations):
        self.seen.append({k: np.array(v) for k, v in observations.items() if k != "instruction"})
        return np.zeros((len(slots), self.spec.chunk, 7))


def short(seconds: float) -> Any:
    task = make_task("lift")
    task.time_limit = seconds
    return task


def test_history_is_kept_at_the_action_rate() -> None:
    policy = Still(reads={"panda/joint_pos": Stream((7,), history=3)})
    episodes(short(0.5), policy, [TASK.scenario(0)], slots=1)
    frames = [seen["panda/joint_pos"][0] for seen in policy.seen]
    assert frames[0].shape == (3, 7) and (frames[0] == frames[0][0]).all(), "the first sample fills the history"
    for before, after in itertools.pairwise(frames):
        assert (after[:-1] == before[1:]).all()


@pytest.mark.parametrize("chunk", [1, 4])
def test_history_does_not_skip_actions_inside_a_chunk(chunk: int) -> None:
    policy = Still(reads={"panda/joint_vel": Stream((7,), history=4)}, chunk=chunk)
    single = Still(reads={"panda/joint_vel": Stream((7,))})
    episodes(short(0.4), policy, [TASK.scenario(0)], slots=1)
    episodes(short(0.4), single, [TASK.scenario(0)], slots=1)
    each = np.array([s["panda/joint_vel"][0] for s in single.seen])
    for call, seen in enumerate(policy.seen[1:], start=1):
        at = call * chunk
        if at >= 3:
            assert (seen["panda/joint_vel"][0] == each[at - 3 : at + 1]).all()


def test_a_stream_has_a_rate_of_its_own() -> None:
    fast = Still(reads={"panda/joint_vel": Stream((7,), rate=100.0, history=5)})
    slow = Still(reads={"panda/joint_vel": Stream((7,), rate=5.0)})
    scenario = TASK.scenario(1)
    for policy in (fast, slow):
        policy.act = _shaking(policy)  # type: ignore[method-assign]
        episodes(short(1.0), policy, [scenario], slots=1)
    quick = [s["panda/joint_vel"][0] for s in fast.seen]
    assert all(len({row.tobytes() for row in frames}) == 5 for frames in quick[1:]), "five different samples per action"
    held = [s["panda/joint_vel"][0].tobytes() for s in slow.seen]
    assert [len(set(held[i : i + 4])) for i in range(0, 20, 4)] == [1] * 5, "5 Hz: one sample serves four actions"
    assert len(set(held)) == 5


def _shaking(policy: Still) -> Any:
    def act(slots, observations):
        policy.seen.append({k: np.array(v) for k, v in observations.items() if k != "instruction"})
        return np.full((len(slots), 7), 0.5 * (-1) ** len(policy.seen))

    return act


def test_time_is_always_there_and_counts_actions() -> None:
    policy = Still()
    episodes(short(0.5), policy, [TASK.scenario(0)], slots=1)
    assert np.array([s["time"][0] for s in policy.seen]) == pytest.approx(np.arange(10) * 0.05)


def test_execute_runs_only_the_first_actions_of_a_chunk() -> None:
    calls = {}
    for execute in (1, 3, 6):
        policy = Still(chunk=6, execute=execute)
        episodes(short(0.6), policy, [TASK.scenario(0)], slots=1)
        calls[execute] = len(policy.seen)
    assert calls == {1: 12, 3: 4, 6: 2}


def test_a_policy_may_end_the_episode() -> None:
    class Quits(Still):
        def act(self, slots, observations):
            done = np.zeros((len(slots), 2), dtype=bool)
            done[:, 1] = observations["time"] > 0.15
            return Chunk(np.zeros((len(slots), 2, 7)), done)

    (outcome,) = episodes(TASK, Quits(chunk=2), [TASK.scenario(0)], slots=1)
    assert (outcome.end, outcome.success, outcome.steps) == ("terminated", False, 6)


def test_another_action_rate() -> None:
    policy = Still(action_rate=8.0)  # 62.5 ticks: actions fall on whole ticks without drifting
    (outcome,) = episodes(short(2.0), policy, [TASK.scenario(0)], slots=1)
    assert outcome.steps == 16 and outcome.sim_s == pytest.approx(2.0)
    assert [s["time"][0] for s in policy.seen][:4] == pytest.approx([0.0, 0.124, 0.25, 0.374])


def test_policies_share_a_world_without_touching_each_other() -> None:
    scenarios = [TASK.scenario(i) for i in range(4)]
    alone = [reproducible(o) for o in episodes(TASK, Expert(), scenarios, slots=4)]
    task = make_task("lift")
    world = MujocoWorld(task, slots=3)
    crowd = {
        "expert": bind(Expert(), world, "expert"),
        "still": bind(Still(action_rate=7.0, chunk=3), world, "still"),
    }
    jobs = [
        Job(policy=name, scenario=s, trial=0, key=f"{name}{i}")
        for i, s in enumerate(scenarios)
        for name in ("still", "expert")
    ]
    queue = iter(jobs)
    done = {job.key: outcome for job, outcome in run_sync(world, crowd, lambda: next(queue, None))}
    assert [reproducible(done[f"expert{i}"]) for i in range(4)] == alone
    assert all(done[f"still{i}"].end == "time_limit" for i in range(4))


@pytest.mark.parametrize("batch", [None, 1, 4])
@pytest.mark.parametrize("fault", ["raise", "nan"])
def test_one_slots_error_is_not_its_neighbours(batch: int | None, fault: str) -> None:
    class Fragile(Expert):
        def bind(self, task, action):
            import dataclasses

            super().bind(task, action)
            self.spec = dataclasses.replace(self.spec, batch=batch)

        def act(self, slots, observations):
            bad = observations["cube/pos"][:, 1] > 0.01
            if fault == "raise" and bad.any():
                raise ValueError("I do not like this cube")
            actions = super().act(slots, observations)
            actions[bad] = np.nan
            return actions

    scenarios = [TASK.scenario(i) for i in range(8)]
    disliked = [s.placements["cube"].pos[1] > 0.01 for s in scenarios]
    assert any(disliked) and not all(disliked)
    clean = episodes(TASK, Expert(), scenarios, slots=8)
    for outcome, reference, bad in zip(episodes(TASK, Fragile(), scenarios, slots=8), clean, disliked, strict=True):
        if bad:
            assert (outcome.blame, outcome.end, outcome.success) == ("policy", "error", False)
            assert ("I do not like" if fault == "raise" else "not finite") in (outcome.error or "")
        else:
            assert reproducible(outcome) == reproducible(reference)


def test_out_of_range_actions_are_clipped_and_counted() -> None:
    class Loud(Still):
        def act(self, slots, observations):
            return np.full((len(slots), 7), 3.0)

    (outcome,) = episodes(short(0.5), Loud(), [TASK.scenario(0)], slots=1)
    assert outcome.metrics["out_of_range_actions"] == 10 and outcome.blame is None


@pytest.mark.parametrize(
    ("reads", "message"),
    [
        ({"cube/poss": Stream((3,))}, "task 'lift' does not have; did you mean 'cube/pos'"),
        ({"can/pos": Stream((3,))}, "it has cube/pos, .*panda/ee_pos"),
        ({"cube/pos": Stream((4,))}, r"shape is \(4,\), the world has \(3,\)"),
        ({"front/rgb": Stream((84, 84))}, "height, width, 3"),
    ],
)
def test_misunderstandings_show_before_the_first_episode(reads: dict, message: str) -> None:
    world = MujocoWorld(TASK, slots=1)
    with pytest.raises(UsageError, match=message):
        bind(Still(reads=reads), world, "mine")


def test_a_policy_that_never_begins_still_has_a_row_for_every_episode() -> None:
    """More episodes than slots, and each fails before its first action: the driver must not take that for the end."""

    class Broken(Expert):
        def reset(self, slots, instructions, seeds):
            raise RuntimeError("cannot begin")

    outcomes = episodes(TASK, Broken(), [TASK.scenario(i) for i in range(5)], slots=2)
    assert [o.blame for o in outcomes] == ["policy"] * 5
    assert all("cannot begin" in str(o.error) for o in outcomes)
