"""The realtime clock: processes of their own, by the clock on the wall; and what is left when one of them goes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from studies import Lab, wait_for

import foretell
from foretell.clock import Realtime, Sync, Virtual
from foretell.errors import UsageError
from foretell.latency.latency import parse_latency
from foretell.process import gone
from foretell.rollout import Job, Outcome, run_virtual
from foretell.study.config import PolicyEntry
from foretell.study.session import Session

POLICIES = '''
import os, signal, time
from pathlib import Path
import numpy as np
from foretell import Policy, PolicySpec, Stream

class Steady(Policy):
    """Four small moves at a time; some are slow, or worse, at their second call."""
    slow, chunk = 0.0, 4
    def __init__(self):
        self.spec = PolicySpec(reads={"panda/ee_pos": Stream((3,), history=2)}, chunk=self.chunk, batch=None)
    def reset(self, slots, instructions, seeds):
        self.calls = 0
    def act(self, slots, observations):
        self.calls += 1
        if self.calls == 2:
            self.second()
        time.sleep(self.slow)
        actions = np.zeros((1, self.chunk, 7))
        actions[0, :, 2] = -0.05
        return actions
    def second(self): pass

class Slow(Steady):
    slow = 0.1
class Lost(Slow):
    """Its second thought does not come before the end."""
    def second(self): time.sleep(1.0)
class Raises(Steady):
    def second(self): raise ValueError("no idea")
class Dies(Steady):
    def second(self): os._exit(3)
class Killed(Steady):
    def second(self): os.kill(os.getpid(), signal.SIGKILL)
class Once(Steady):
    def second(self):
        if not (mark := Path(__file__).with_name("killed")).exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
class Hangs(Steady):
    """In the episode: before it, three calls warm the policy up."""
    def reset(self, *_): self.calls, self.resets = 0, getattr(self, "resets", 0) + 1
    def second(self): time.sleep(1000 if self.resets > 1 else 0)
class NotANumber(Steady):
    def act(self, slots, observations): return np.full((1, self.chunk, 7), np.nan if self.calls else 0.0)
    def reset(self, *_): self.calls = getattr(self, "calls", -1) + 1
class Broken(Steady):
    def reset(self, slots, instructions, seeds): raise RuntimeError("cannot begin")
class Floods(Steady):
    def drive(self, look, push):
        while True:
            look()
            for _ in range(500): push(np.zeros((1, 4, 7)))
class Drives(Steady):
    """Pushes a chunk every 20 ms, whatever the world does."""
    def drive(self, look, push):
        while True:
            seen = look()
            assert seen["panda/ee_pos"].shape == (1, 2, 3)
            push(np.full((1, 4, 7), 0.02))
            time.sleep(0.02)
class Sleeps(Steady):
    """Keeps its own time, and lets it pass."""
    def drive(self, look, push):
        look()
        time.sleep(1000)
class Sees(Steady):
    def __init__(self):
        reads = {"front/rgb": Stream((84, 84, 3)), "panda/wrist/rgb": Stream((84, 84, 3))}
        self.spec = PolicySpec(reads=reads, chunk=4, batch=None)
    def act(self, slots, observations):
        image = observations["front/rgb"]
        assert image.shape == (1, 84, 84, 3) and image.dtype == np.uint8 and image.std() > 5
        return super().act(slots, observations)
class Measures(Steady):
    def __init__(self):
        reads = {"front/depth": Stream((24, 32, 1)), "panda/wrist/segmentation": Stream((24, 32, 1), history=2)}
        self.spec = PolicySpec(reads=reads, chunk=4, batch=None)
    def inform(self, features):
        self.table = features["panda/wrist/segmentation"].legend.index("table")
    def act(self, slots, observations):
        depth, parts = observations["front/depth"], observations["panda/wrist/segmentation"]
        assert depth.shape == (1, 24, 32, 1) and depth.dtype == np.float32 and 0.3 < np.median(depth) < 2
        assert parts.shape == (1, 2, 24, 32, 1) and parts.dtype == np.int32 and (parts == self.table).mean() > 0.2
        return super().act(slots, observations)
'''


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "timely.py").write_text(POLICIES)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name: f"timely:{name}"


@pytest.fixture
def leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that falls behind catches up and goes on: what such a test asks does not hang on keeping time, and may
    then bound durations only from the side that a busy machine cannot reach."""
    monkeypatch.setattr("foretell.rollout.realtime.KEEPS_UP", 0.0)


def play(use: str, n: int = 1, limit: float = 0.8, patience: float = 30.0, **clock: Any) -> list[Outcome]:
    """Outcomes of n scenarios."""
    session = Session(
        task="lift",
        controller=None,
        world="mujoco",
        policies={"p": PolicyEntry(use=use)},
        slots=1,
        threads=1,
        clock=Realtime(**clock),
        patience=patience,
    )
    session.world.task.time_limit = limit
    jobs = iter([Job(policy="p", scenario=session.world.task.scenario(i)) for i in range(n)])
    found = [outcome for _, outcome in session.run(lambda: next(jobs, None))]
    session.close()
    assert len(found) == n
    return found


def descendants() -> set[str]:
    """Companions that we started, directly or through workers: others may run tests of their own beside us."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()
    parents = {line.split()[0]: line.split()[1] for line in listed}

    def ours(pid: str) -> bool:
        return pid == str(os.getpid()) or (pid in parents and ours(parents[pid]))

    return {line.split()[0] for line in listed if "foretell.study.companion" in line and ours(line.split()[0])}


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Any:
    """No orphan process, no shared memory, no descriptor, whatever happened."""
    memory = Path("/dev/shm")
    before, named = descendants(), set(memory.iterdir()) if memory.is_dir() else set()
    opened = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    yield
    assert descendants() <= before
    assert not memory.is_dir() or {p for p in memory.iterdir() if p.name.startswith("tmp")} <= named
    if opened:
        assert len(os.listdir("/proc/self/fd")) <= opened + 4


@pytest.mark.usefixtures("leisure")
def test_physics_does_not_wait(policies: Any) -> None:
    """100 ms of thinking and four actions of 50 ms: a call every 300 ms, on the wall and in the world alike. Were the
    world to wait, there would be eight calls and no starvation."""
    began = time.perf_counter()
    (outcome,) = play(policies("Slow"), limit=1.5)
    took = time.perf_counter() - began
    assert outcome.end == "time_limit" and outcome.blame is None
    assert outcome.sim_s == pytest.approx(1.5) and took > 1.5
    # a busy machine wakes a sleeper late, never early
    assert 1 <= outcome.metrics["inferences"] <= 5
    assert outcome.metrics["latency_per_inference_s"] >= 0.098
    assert outcome.metrics["starvation_s"] > 0.38
    assert outcome.metrics["wall_inference_median_s"] >= 0.1


@pytest.mark.usefixtures("leisure")
def test_speed_makes_thinking_dearer(policies: Any) -> None:
    (outcome,) = play(policies("Slow"), limit=1.5, speed=2.0)
    assert outcome.metrics["latency_per_inference_s"] >= 0.196


def story(path: Path) -> tuple[list[tuple[int, int]], dict[str, list[float]], list[float]]:
    """(ticks of actions and of what they answer, the trace of inferences, wall seconds of all events)"""
    rows = pq.read_table(path).to_pylist()
    acted = [r for r in rows if r["kind"] == "action"]
    actions = [(round(r["sim_s"] / 0.002), round((r["sim_s"] - r["value"]) / 0.002)) for r in acted]
    thought = [r for r in rows if r["kind"] == "think"]
    trace = {"replay": [r["until_s"] - r["sim_s"] for r in thought], "looks": [r["value"] or 0.0 for r in thought]}
    return actions, trace, [r["wall_s"] for r in rows]


@pytest.mark.usefixtures("leisure")
@pytest.mark.parametrize(
    ("task", "speed", "name"),
    [
        *((task, speed, "timely:Slow") for task in ("lift", "can", "square") for speed in (1.0, 2.0)),
        ("lift", 1.0, "timely:Lost"),
        ("lift", 2.0, "zoo:bc"),
    ],
)
def test_a_virtual_clock_with_the_same_latencies_gives_the_same_timeline(
    policies: Any, tmp_path: Path, task: str, speed: float, name: str
) -> None:
    """The short form of `benchmarks/clocks.py agreement`: when actions begin, when what they answer was seen, and, of a
    learned policy that has time enough, how it ends. A thought that the end of the episode cut short is in the log
    too: the replay must not have it arrive."""
    limit = 8.0 if name.startswith("zoo:") else 1.2 * speed
    common: dict[str, Any] = {"task": task, "controller": None, "world": "mujoco", "slots": 1, "threads": 1}
    common["policies"] = {"p": PolicyEntry(use=name)}
    session = Session(**common, clock=Realtime(speed=speed))
    session.world.task.time_limit = limit
    jobs = iter([Job(policy="p", scenario=session.world.task.scenario(0), events=tmp_path / "shown.parquet")])
    ((_, shown),) = session.run(lambda jobs=jobs: next(jobs, None))
    session.close()
    assert shown.blame is None, shown.error
    actions, trace, walls = story(tmp_path / "shown.parquet")
    assert all(w is not None and w >= 0 for w in walls)
    replay = Session(**common, clock=Sync())
    replay.world.task.time_limit = limit
    jobs = iter([Job(policy="p", scenario=replay.world.task.scenario(0), events=tmp_path / "again.parquet")])
    clock = Virtual(parse_latency({k: [s / speed for s in seconds] for k, seconds in trace.items()}), speed=speed)
    ((_, again),) = run_virtual(replay.world, replay.policies, lambda: next(jobs, None), clock=clock)
    repeated, _, _ = story(tmp_path / "again.parquet")
    assert len(repeated) == len(actions) > 0
    assert np.abs(np.array(repeated) - np.array(actions)).max() <= 1
    assert again.success == shown.success and again.steps == shown.steps
    assert again.success == name.startswith("zoo:")


@pytest.mark.usefixtures("leisure")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Raises", "act raised ValueError: no idea"),
        ("Dies", r"its process died \(exit code 3\)"),
        ("NotANumber", "not finite"),
        ("Broken", "reset raised RuntimeError: cannot begin"),
        ("Floods", "flooded"),
    ],
)
def test_a_policy_that_fails_ends_its_episode_and_the_next_one_begins(policies: Any, name: str, message: str) -> None:
    import re

    for outcome in play(policies(name), n=2):
        assert outcome.end == "error" and outcome.blame == "policy"
        assert re.search(message, str(outcome.error)), outcome.error
        assert outcome.success is False


@pytest.mark.usefixtures("leisure")
def test_a_policy_that_is_killed_runs_once_more_and_is_then_the_machines(policies: Any, tmp_path: Path) -> None:
    (always,) = play(policies("Killed"))
    assert (always.end, always.blame, always.success) == ("error", "machine", None)
    assert "its process died (signal 9)" in str(always.error)
    (once,) = play(policies("Once"))
    assert (tmp_path / "killed").exists()
    assert (once.end, once.blame) == ("time_limit", None)


@pytest.mark.usefixtures("leisure")
def test_a_policy_that_dies_between_episodes_is_buried_and_starts_again(policies: Any) -> None:
    """Killed while nobody listens, such as after its last episode, it must not stay defunct."""
    entries = {name: PolicyEntry(use=policies(name)) for name in ("Slow", "Steady")}
    more: dict[str, Any] = {"controller": None, "world": "mujoco", "slots": 1, "threads": 1}
    session = Session(task="lift", policies=entries, clock=Realtime(), **more)
    session.world.task.time_limit = 0.3
    jobs = iter([Job(policy=name, scenario=session.world.task.scenario(0)) for name in ("Slow", "Steady", "Slow")])
    launch, started = session._launch, []
    session._launch = lambda *asked: started.append(launch(*asked)) or started[-1]  # type: ignore[method-assign,func-returns-value]
    found = []
    for _, outcome in session.run(lambda: next(jobs, None)):
        found.append(outcome)
        if len(found) == 1:
            os.kill(started[0].process.pid, signal.SIGKILL)
            wait_for(lambda: gone(started[0].process))
        if len(found) == 2:
            assert not Path(f"/proc/{started[0].process.pid}").exists(), "it is defunct"
    session.close()
    assert [outcome.blame for outcome in found] == [None] * 3
    assert len(started) == 3


@pytest.mark.usefixtures("leisure")
def test_a_flood_is_not_the_next_policys(policies: Any) -> None:
    entries = {name: PolicyEntry(use=policies(name)) for name in ("Floods", "Steady")}
    more: dict[str, Any] = {"controller": None, "world": "mujoco", "slots": 1, "threads": 1}
    session = Session(task="lift", policies=entries, clock=Realtime(), **more)
    session.world.task.time_limit = 0.3
    jobs = iter([Job(policy=name, scenario=session.world.task.scenario(0)) for name in entries])
    flooded, steady = (outcome for _, outcome in session.run(lambda: next(jobs, None)))
    session.close()
    assert flooded.blame == "policy" and "flooded" in str(flooded.error)
    assert steady.blame is None and steady.end == "time_limit"


@pytest.mark.usefixtures("leisure")
@pytest.mark.parametrize(("name", "method"), [("Hangs", "act"), ("Sleeps", "drive")])
def test_a_policy_that_hangs_is_ended(policies: Any, name: str, method: str) -> None:
    (outcome,) = play(policies(name), limit=60.0, patience=2.0)
    assert outcome.blame == "policy" and f"{method} was silent for 2 s" in str(outcome.error)
    assert outcome.sim_s < 30


@pytest.mark.usefixtures("leisure")
def test_a_policy_may_keep_its_own_time(policies: Any) -> None:
    """Asked by the world, it would be called six times: four actions last 200 ms."""
    outcomes = play(policies("Drives"), n=2, limit=1.2)
    for outcome in outcomes:
        assert outcome.end == "time_limit" and outcome.blame is None
        assert 6 < outcome.metrics["inferences"] <= 61


def test_a_machine_too_slow_says_so(policies: Any) -> None:
    session = Session(
        task="lift", controller=None, world="mujoco", policies={"p": PolicyEntry(use=policies("Steady"))}, slots=1,
        threads=1, clock=Realtime(speed=500),
    )  # fmt: skip
    jobs = iter([Job(policy="p", scenario=session.world.task.scenario(0))])
    ((_, outcome),) = session.run(lambda: next(jobs, None))
    session.close()
    assert outcome.end == "error" and outcome.blame == "machine"
    assert (outcome.success, outcome.success_any, outcome.success_end, outcome.score) == (None,) * 4
    assert outcome.failure_reason is None
    assert "instead of 500" in str(outcome.error)


@pytest.mark.gl
@pytest.mark.usefixtures("leisure")
@pytest.mark.parametrize("name", ["Sees", pytest.param("Measures", marks=pytest.mark.daily)])
def test_cameras_are_drawn_by_another_process(policies: Any, name: str) -> None:
    (outcome,) = play(policies(name), limit=0.6, speed=0.25)
    assert outcome.end == "time_limit" and outcome.blame is None, outcome.error
    assert outcome.metrics["wall_frame_median_s"] > 0
    # a picture is asked for, drawn and then seen; the rest is there at once
    assert outcome.metrics["frame_age_s"] > outcome.metrics["observation_age_s"]


@pytest.mark.gl
@pytest.mark.usefixtures("leisure")
@pytest.mark.parametrize(("stroke", "word"), [(signal.SIGKILL, "died"), (signal.SIGSTOP, "drew nothing")])
def test_the_end_of_the_cameras_is_no_failure_of_the_policy(
    policies: Any, monkeypatch: pytest.MonkeyPatch, stroke: int, word: str
) -> None:
    monkeypatch.setattr("foretell.rollout.realtime.BLIND_S", 1.5)
    session = Session(
        task="lift", controller=None, world="mujoco", policies={"p": PolicyEntry(use=policies("Sees"))}, slots=1,
        threads=1, clock=Realtime(speed=0.2),
    )  # fmt: skip
    session.world.task.time_limit = 3.0
    launch, struck = session._launch, []

    def launched(asked: dict[str, Any], fds: tuple[int, ...]) -> Any:
        companion = launch(asked, fds)
        if asked["role"] == "eye":
            tell = companion.tell

            def told(message: dict[str, Any]) -> None:
                tell(message)
                if "go" in message and not struck:
                    struck.append(companion.process.pid)
                    companion.process.send_signal(stroke)

            companion.tell = told
        return companion

    session._launch = launched  # type: ignore[method-assign]
    jobs = iter([Job(policy="p", scenario=session.world.task.scenario(0))])
    ((_, outcome),) = session.run(lambda: next(jobs, None))
    session.close()
    assert struck and outcome.blame == "machine" and outcome.success is None
    assert f"the cameras' process {word}" in str(outcome.error)


def test_an_object_cannot_run_elsewhere() -> None:
    class Mine(foretell.Policy):
        pass

    with pytest.raises(UsageError, match="process of its own"):
        foretell.run(
            {"name": "x", "tasks": ["lift"], "clocks": ["realtime"]}, policies={"mine": Mine()}, out="/nonexistent"
        )


def test_a_study_in_real_time(policies: Any, tmp_path: Path) -> None:
    """Sync and realtime in one study; episodes the machine was too slow for are run again by the same command."""
    study = {
        "name": "both",
        "tasks": ["lift"],
        "policies": {"e": "expert", "dies": policies("Dies")},
        "scenarios": {"count": 2},
        "clocks": ["sync", {"realtime": {"speed": 2}}],
        "record": {"events": 1},
    }
    for _ in range(6):
        done = foretell.run(study, out=tmp_path / "run")
        rows = foretell.read(tmp_path / "run").to_pylist()
        if not any(r["blame"] == "machine" for r in rows):
            break
    else:
        pytest.skip("this machine is too busy to keep time")
    assert done.left == 0 and len(rows) == 8
    timed = [r for r in rows if '"realtime"' in r["clock"]]
    assert all(r["success"] for r in timed if r["policy"] == "e")
    assert all(r["blame"] == "policy" for r in rows if r["policy"] == "dies")
    kept = {p.stem for p in (tmp_path / "run" / "events").glob("*.parquet")}
    assert {r["episode"] for r in rows if r["policy"] == "e"} & kept and len(kept) >= 3  # a killed worker keeps none


def test_episodes_in_real_time_have_the_machine_for_themselves(tmp_path: Path) -> None:
    """Also after others, of which two workers ran many at once, and from one group to the next."""
    clocks = ["sync", "realtime", {"realtime": {"speed": 2}}]
    study = Lab(tmp_path).study("mix", "Blink", 3, policies={"random": "random"}, clocks=clocks)
    assert foretell.run(study, out=tmp_path / "run", workers=2).ran == 9
    rows = foretell.read(tmp_path / "run").to_pylist()
    timed = sorted((r["wall_started"], r["wall_s"]) for r in rows if '"realtime"' in r["clock"])
    assert len(rows) == 9 and len(timed) == 6
    for (began, took), (after, _) in pairwise(timed):
        assert after >= began + took - 0.01
