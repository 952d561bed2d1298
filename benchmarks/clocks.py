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
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from foretell.clock import Virtual
from foretell.latency import parse_latency
from foretell.policy import Policy, PolicySpec
from foretell.rollout import Job, Outcome, run_virtual
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
        self.spec = PolicySpec({"panda/joint_pos": Stream((7,)), "panda/ee_pos": Stream((3,))}, chunk=4, batch=None)

    def act(self, slots: np.ndarray, observations: Any) -> np.ndarray:
        until, matrix = time.perf_counter() + 0.02, np.random.default_rng(0).normal(size=(80, 80))
        while time.perf_counter() < until:
            matrix = np.tanh(matrix @ matrix)
        return np.zeros((len(slots), 4, 7))


@dataclass
class Played:
    """One episode, and when its inferences and actions were."""

    outcome: Outcome
    wall: float
    actions: list[int]
    lags: list[float]
    looks: list[int]
    """Of every action, the tick that its observation is of."""


def _session(task: str, entry: PolicyEntry, clock: Any) -> Session:
    more = {"slots": 1, "threads": 1, "controller": None, "world": "mujoco"}
    return Session(task=task, policies={"p": entry}, clock=clock, **more)


def _story(path: Path, tick: float) -> tuple[list[int], list[float], list[int]]:
    rows = pq.read_table(path).to_pylist()
    acted = [r for r in rows if r["kind"] == "action"]
    lags = [r["until_s"] - r["sim_s"] for r in rows if r["kind"] == "think"]
    return [round(r["sim_s"] / tick) for r in acted], lags, [round((r["sim_s"] - r["value"]) / tick) for r in acted]


def in_real_time(task: str, entry: PolicyEntry, speed: float, seeds: list[int]) -> tuple[dict[int, Played], int]:
    """Episodes by the clock on the wall, and how many of them the machine was too slow for and were run again."""
    session = _session(task, entry, {"realtime": {"speed": speed}})
    left, slow, found = list(seeds), 0, {}
    with tempfile.TemporaryDirectory() as scratch:

        def source() -> Job | None:
            if not left or slow > TRIES * len(seeds):
                return None
            seed = left.pop(0)
            return Job("p", session.world.task.scenario(seed), 0, str(seed), events=Path(scratch) / f"{seed}.parquet")

        for job, outcome in session.run(source):
            if outcome.blame == "machine":
                slow += 1
                left.append(int(job.key))
                continue
            story = _story(Path(scratch) / f"{job.key}.parquet", session.world.tick)
            found[int(job.key)] = Played(outcome, outcome.wall_s, *story)
    session.close()
    return found, slow


def in_virtual_time(task: str, entry: PolicyEntry, speed: float, shown: dict[int, Played]) -> dict[int, Played]:
    """The same episodes, with the latencies that were recorded; they are in simulated seconds already."""
    session, found = _session(task, entry, "sync"), {}
    with tempfile.TemporaryDirectory() as scratch:
        for seed, played in shown.items():
            path = Path(scratch) / f"{seed}.parquet"
            jobs = iter([Job("p", session.world.task.scenario(seed), 0, str(seed), events=path)])
            clock = Virtual(parse_latency({"replay": [s / speed for s in played.lags] or [0.0]}), speed=speed)
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
            both = [s for s in seeds if s in first and s in second]

            def agree(a: dict[int, Played], b: dict[int, Played], both: list[int] = both) -> int:
                return sum(a[s].outcome.success == b[s].outcome.success for s in both)

            apart = [
                max(abs(x - y) for x, y in zip(first[s].actions, virtual[s].actions, strict=False)) for s in both
            ]  # fmt: skip
            same = [s for s in both if first[s].looks == virtual[s].looks]
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
                    "largest difference of an action's start, ticks": max(apart),
                    "median latency, simulated ms": round(
                        1e3 * float(np.median([x for s in both for x in first[s].lags])), 2
                    ),
                    "saw the same all along": len(same),
                    "of these, virtual agrees": agree(first, virtual, same),
                    "differ": [s for s in both if first[s].outcome.success != virtual[s].outcome.success],
                }
            )
            print(json.dumps(cells[-1]), flush=True)
    return cells


def summary(cells: list[dict[str, Any]]) -> dict[str, Any]:
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
    from foretell.rollout import realtime

    sys.path.insert(0, str(Path(__file__).parent))
    realtime.KEEPS_UP = 0.0
    session = _session("lift", PolicyEntry(use="clocks:Busy"), {"realtime": {"speed": speed, "chunks": "replace"}})
    session.world.task.time_limit = seconds * speed
    jobs = iter([Job("p", session.world.task.scenario(0))])
    ((_, outcome),) = session.run(lambda: next(jobs, None))
    late = {k: round(1e3 * v, 3) for k, v in outcome.metrics.items() if k.startswith("wall_late")}
    return {"seconds": seconds, "speed": speed, "inferences": outcome.metrics["inferences"], "ms late": late}


def speed(episodes: int, task: str, latency: float) -> dict[str, Any]:
    """Wall time of the expert's episodes under virtual, on all cores, and under realtime, set-up included."""
    entry = PolicyEntry(use="expert")
    study: dict[str, Any] = {"tasks": [task], "policies": {"p": entry}, "scenarios": {"count": episodes, "seed": 7000}}
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
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--latency", type=float, default=0.05)
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if asked.what == "pacing":
        print(json.dumps(pacing(asked.seconds, asked.speeds[0])))
    elif asked.what == "speed":
        print(json.dumps(speed(asked.episodes, asked.tasks[0], asked.latency)))
    else:
        print(json.dumps(summary(agreement(asked.episodes, asked.speeds, asked.tasks)), indent=2))


if __name__ == "__main__":
    main()
