"""Does `virtual` tell what `realtime` shows, how well does `realtime` keep time, and how much does not sleeping save?

    python benchmarks/clocks.py pacing                 # 60 s at 500 Hz, the policy's process busy all the time
    python benchmarks/clocks.py agreement --episodes 34
    python benchmarks/clocks.py speed --episodes 200

`agreement` runs every scenario twice under `realtime` and once under `virtual`, replaying the latencies that the first
realtime run recorded. The two realtime runs are the noise floor: they differ because a computer is never equally fast
twice. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from foretell.clock import Clock, Realtime, Sync, Virtual
from foretell.latency.latency import parse_latency
from foretell.policy import Policy, PolicySpec
from foretell.rollout import Job, Outcome, realtime, run_virtual
from foretell.spec import Stream
from foretell.stats import wilson
from foretell.study.config import PolicyEntry
from foretell.study.run import run
from foretell.study.session import Session

CELLS = {
    "lift": PolicyEntry(use="noisy-expert", noise=0.35),
    "can": PolicyEntry(use="zoo:bc-gaussian", batch=1),
    "square": PolicyEntry(use="zoo:bc-gaussian", batch=1),
}
"""One policy per task, of 20 to 80 % success under both speeds."""
TRIES = 6


class Busy(Policy):
    """Computes as hard as it can, for 20 ms a call."""

    def __init__(self) -> None:
        self.spec = PolicySpec(
            reads={"panda/joint_pos": Stream((7,)), "panda/ee_pos": Stream((3,))}, chunk=4, batch=None
        )

    def act(self, slots: np.ndarray, observations: Any) -> np.ndarray:
        until, matrix = time.perf_counter() + 0.02, np.random.default_rng(0).normal(size=(80, 80))
        while time.perf_counter() < until:
            matrix = np.tanh(matrix @ matrix)
        return np.zeros((len(slots), 4, 7))


SPIN = """
import os
parent = os.getppid()
os.sched_setaffinity(0, {core})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""


@contextmanager
def awake() -> Iterator[None]:
    """Keep every core busy with what gives way to all else. The host of a virtual machine then need not wake its cores,
    which on a busy host takes long."""
    cores = sorted(os.sched_getaffinity(0))
    spinners = [subprocess.Popen([sys.executable, "-c", SPIN.format(core={core})]) for core in cores]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()


@dataclass
class Played:
    """One episode, and when its inferences and actions were."""

    outcome: Outcome
    wall: float
    actions: list[int]
    lags: list[float]
    """Of every inference, simulated seconds from being asked to the answer."""
    looks: list[float]
    """Of every inference, simulated seconds from being asked to looking."""


def _session(task: str, entry: PolicyEntry, clock: Clock) -> Session:
    more = {"slots": 1, "threads": 1, "controller": None, "world": "mujoco"}
    return Session(task=task, policies={"p": entry}, clock=clock, **more)


def _story(path: Path, tick: float) -> tuple[list[int], list[float], list[float]]:
    rows = pq.read_table(path).to_pylist()
    acted = [round(r["sim_s"] / tick) for r in rows if r["kind"] == "action"]
    thought = [r for r in rows if r["kind"] == "think"]
    return acted, [r["until_s"] - r["sim_s"] for r in thought], [r["value"] or 0.0 for r in thought]


def in_real_time(task: str, entry: PolicyEntry, speed: float, seeds: list[int]) -> tuple[dict[int, Played], int]:
    """Episodes by the clock on the wall, and how many of them the machine was too slow for and were run again."""
    session = _session(task, entry, Realtime(speed=speed))
    left, slow, found = list(seeds), 0, {}
    with tempfile.TemporaryDirectory() as scratch:

        def source() -> Job | None:
            if not left or slow > TRIES * len(seeds):
                return None
            seed = left.pop(0)
            return Job(
                policy="p",
                scenario=session.world.task.scenario(seed),
                trial=0,
                key=str(seed),
                events=Path(scratch) / f"{seed}.parquet",
            )

        for job, outcome in session.run(source):
            if outcome.blame == "machine":
                slow += 1
                left.append(int(job.key))
            else:
                story = _story(Path(scratch) / f"{job.key}.parquet", session.world.tick)
                found[int(job.key)] = Played(outcome, outcome.wall_s, *story)
            print(f"{task} at {speed:g}: {len(found)} of {len(seeds)}, {slow} too slow", end="\r", file=sys.stderr)
    session.close()
    return found, slow


def in_virtual_time(
    task: str, entry: PolicyEntry, speed: float, shown: dict[int, Played], looks: bool = True
) -> dict[int, Played]:
    """The same episodes, with the latencies that were recorded, and with when the policy looked or as if it had looked
    at once. They are in simulated seconds already."""
    session, found = _session(task, entry, Sync()), {}
    with tempfile.TemporaryDirectory() as scratch:
        for seed, played in shown.items():
            path = Path(scratch) / f"{seed}.parquet"
            jobs = iter(
                [Job(policy="p", scenario=session.world.task.scenario(seed), trial=0, key=str(seed), events=path)]
            )
            recorded = {"replay": played.lags or [0.0]} | ({"looks": played.looks} if looks else {})
            trace = {kind: [s / speed for s in seconds] for kind, seconds in recorded.items()}
            clock = Virtual(parse_latency(trace), speed=speed)
            began = time.perf_counter()
            ((_, outcome),) = run_virtual(session.world, session.policies, lambda j=jobs: next(j, None), clock=clock)
            wall = time.perf_counter() - began
            found[seed] = Played(outcome, wall, *_story(path, session.world.tick))
    session.close()
    return found


def agreement(episodes: int, speeds: list[float], tasks: list[str]) -> list[dict[str, Any]]:
    """Per task and speed: how often outcomes agree, and how far action timelines are apart."""
    cells = []
    for task in tasks:
        for speed in speeds:
            seeds = list(range(5000, 5000 + episodes))
            first, slow = in_real_time(task, CELLS[task], speed, seeds)
            second, slower = in_real_time(task, CELLS[task], speed, list(first))
            virtual = in_virtual_time(task, CELLS[task], speed, first)
            at_once = in_virtual_time(task, CELLS[task], speed, first, looks=False)
            both = [s for s in seeds if s in first and s in second]
            if not both:
                print(f"{task}, speed {speed:g}: too slow in all of {slow + slower} tries", flush=True)
                continue

            def agree(a: dict[int, Played], b: dict[int, Played], both: list[int] = both) -> int:
                return sum(a[s].outcome.success == b[s].outcome.success for s in both)

            apart = [
                max(abs(x - y) for x, y in zip(first[s].actions, virtual[s].actions, strict=False)) for s in both
            ]  # fmt: skip
            cells.append(
                {
                    "task": task,
                    "policy": CELLS[task].use,
                    "speed": speed,
                    "n": len(both),
                    "too slow": slow + slower,
                    "realtime": sum(bool(first[s].outcome.success) for s in both) / len(both),
                    "realtime again": sum(bool(second[s].outcome.success) for s in both) / len(both),
                    "virtual": sum(bool(virtual[s].outcome.success) for s in both) / len(both),
                    "realtime agrees with itself": agree(first, second),
                    "virtual agrees with realtime": agree(first, virtual),
                    "and looking at once": agree(first, at_once),
                    "largest difference of an action's start, ticks": max(apart),
                    "median latency, simulated ms": round(
                        1e3 * float(np.median([x for s in both for x in first[s].lags])), 2
                    ),
                    "share of looks a tick late or more": round(
                        float(np.mean([x > 0 for s in both for x in first[s].looks])), 4
                    ),
                    "differ": [s for s in both if first[s].outcome.success != virtual[s].outcome.success],
                }
            )
            print(json.dumps(cells[-1]), flush=True)
    return cells


def summary(cells: list[dict[str, Any]]) -> dict[str, Any]:
    if not cells:
        sys.exit("the machine was too slow everywhere: leave it alone, or try --awake, and --keep-up below 0.99")
    n = sum(c["n"] for c in cells)
    floor = sum(c["realtime agrees with itself"] for c in cells)
    ours = sum(c["virtual agrees with realtime"] for c in cells)
    return {
        "pairs": n,
        "realtime with itself": [round(x, 3) for x in (floor / n, wilson(floor, n).low, wilson(floor, n).high)],
        "virtual with realtime": [round(x, 3) for x in (ours / n, wilson(ours, n).low, wilson(ours, n).high)],
        "points apart": round(100 * (ours - floor) / n, 2),
    }


def pacing(seconds: float, speed: float) -> dict[str, Any]:
    """How late ticks are, with the policy's process busy all the time. The monitor that would end the episode where the
    machine falls behind is off, so that all of it is seen."""
    sys.path.insert(0, str(Path(__file__).parent))
    realtime.KEEPS_UP = 0.0
    session = _session("lift", PolicyEntry(use="clocks:Busy"), Realtime(speed=speed, chunks="replace"))
    session.world.task.time_limit = seconds * speed
    jobs = iter([Job(policy="p", scenario=session.world.task.scenario(0))])
    ((_, outcome),) = session.run(lambda: next(jobs, None))
    late = {k: round(1e3 * v, 3) for k, v in outcome.metrics.items() if k.startswith("wall_late")}
    return {"seconds": seconds, "speed": speed, "inferences": outcome.metrics["inferences"], "ms late": late}


def speed(episodes: int, task: str, latency: float) -> dict[str, Any]:
    """Wall time of the expert's episodes under virtual, on all cores, and under realtime, set-up included."""
    entry = PolicyEntry(use="expert")
    study: dict[str, Any] = {"tasks": [task], "policies": {"p": entry}, "scenarios": {"count": episodes, "seed": 7000}}
    study["record"] = {"video": "none"}
    took, sim = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        import foretell

        for name, clock in (("virtual", {"virtual": {"latency": latency}}), ("realtime", "realtime")):
            began = time.perf_counter()
            run({**study, "name": name, "clocks": [clock]}, out=Path(scratch) / name)
            took[name] = time.perf_counter() - began
            sim[name] = sum(foretell.read(Path(scratch) / name)["sim_s"].to_pylist())
    ratio = took["realtime"] / took["virtual"]
    return {"episodes": episodes, "task": task, "wall_s": took, "simulated_s": sim, "times faster": round(ratio, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pacing", "agreement", "speed"))
    parser.add_argument("--episodes", type=int, default=34, help="per task and speed")
    parser.add_argument("--speeds", type=float, nargs="+", default=[1.0, 2.0])
    parser.add_argument("--tasks", nargs="+", default=list(CELLS))
    parser.add_argument("--keep-up", type=float, default=realtime.KEEPS_UP, help="share of the speed to be kept")
    parser.add_argument("--awake", action="store_true", help="keep all cores busy with what gives way (on a busy host)")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--latency", type=float, default=0.05)
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    realtime.KEEPS_UP = asked.keep_up
    with awake() if asked.awake else nullcontext():
        if asked.what == "pacing":
            print(json.dumps(pacing(asked.seconds, asked.speeds[0])))
        elif asked.what == "speed":
            print(json.dumps(speed(asked.episodes, asked.tasks[0], asked.latency)))
        else:
            print(json.dumps(summary(agreement(asked.episodes, asked.speeds, asked.tasks)), indent=2))


if __name__ == "__main__":
    main()
