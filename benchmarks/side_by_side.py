"""Steps per CPU second of two commits, turn by turn: what the code above physics costs, on a machine that others use.

    git worktree add ../old COMMIT
    python benchmarks/side_by_side.py ../old . --rounds 4

(a) a bare mujoco.batch.Batch on foretell's models and (b) foretell, as in benchmarks/throughput.py, but in one process
with one thread and 32 slots. CPU seconds depend less on other processes than wall seconds do, and still on shared
caches: compare medians, and both commits in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SLOTS, WARM_UP = 32, 20


def measure(folder: Path, seconds: float) -> dict[str, dict[str, float]]:
    """Task -> steps per CPU second of (a) and (b), by the benchmark of the commit in this folder."""
    sys.path.insert(0, str(folder / "benchmarks"))
    import throughput

    throughput.CORES = 1
    return {
        name: {"a": bare(throughput, name, seconds), "b": whole(throughput, name, seconds)} for name in throughput.TASKS
    }


def bare(throughput: Any, name: str, seconds: float) -> float:
    made, _ = throughput.bare_foretell(name, SLOTS, actions=60)
    block, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        if block % made.every == 0:
            made.batch.state[:] = made.states[(block // made.every) % len(made.states)]
        made.batch.rollout(throughput.TICKS, made.controls[block % len(made.controls)], record=())
        block += 1
    return block * SLOTS * throughput.TICKS / (time.process_time() - began)


def whole(throughput: Any, name: str, seconds: float) -> float:
    task = throughput.resolve("tasks", name)()
    world = throughput.MujocoWorld(task, slots=SLOTS, threads=1)
    policy = throughput.Looking()
    policy.bind(task, world.action)
    jobs = throughput.endless(task, 0)
    calls, steps, began = 0, 0, 0.0

    class Over(Exception):  # noqa: N818 - not an error
        pass

    def watch(doing: str, running: list[Any]) -> None:
        nonlocal calls, steps, began
        if doing != "policy" or not running:
            return
        calls += 1
        if calls == WARM_UP:
            steps, began = 0, time.process_time()
        elif calls > WARM_UP and time.process_time() - began > seconds:
            raise Over
        steps += len(running) * throughput.TICKS

    try:
        for _ in throughput.run_sync(world, {"random": policy}, lambda: next(jobs), watch):
            pass
    except Over:
        pass
    return steps / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="checkouts of foretell; the first is the one compared to")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU seconds of each measurement")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.folders]
    if options.measure:
        print(json.dumps(measure(folders[0], options.seconds)))
        return
    runs: list[list[dict[str, dict[str, float]]]] = [[] for _ in folders]
    for turn in range(options.rounds):
        print(f"round {turn + 1} of {options.rounds} ...", file=sys.stderr)
        for folder, mine in zip(folders, runs, strict=True):
            command = [sys.executable, __file__, str(folder), "--measure", "--seconds", str(options.seconds)]
            paths = {**os.environ, "PYTHONPATH": str(folder / "src")}
            done = subprocess.run(command, env=paths, capture_output=True, text=True, check=True)
            mine.append(json.loads(done.stdout))
    for name in runs[0][0]:
        first = [run[name]["b"] for run in runs[0]]
        for folder, mine in zip(folders, runs, strict=True):
            a, b = ([run[name][side] for run in mine] for side in "ab")
            share = statistics.median(y / x for x, y in zip(a, b, strict=True))
            pace = statistics.median(y / x for x, y in zip(first, b, strict=True))
            print(f"{name} {folder.name}: b/a {share:.3f}, b of the first commit's {pace:.3f}")


if __name__ == "__main__":
    main()
