"""What perturbed scenes cost: from a scenario with all factors drawn to its first frame, and to many frames after.

    python benchmarks/factors.py

(a) fresh: `reset` and the first 84x84 frame of the front camera, both models compiled, textures made and uploaded
(b) again: the same for a scenario that another world of this process has just run, its models still kept
(c) resident memory of a process that does (a) for 1,000 scenarios, after 100, 500 and 1,000 of them
(d) frames per second while 1, 8 and 32 slots are drawn in turn, each with textures of its own; beside it the same
    without factors

All on one core. Wall time and, as a shared machine is never equally fast twice, the process's own CPU time besides.
Values of factors are drawn before the watch starts: that belongs to planning a study.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from foretell.factors.arms import expand
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream

TASKS = ("lift", "can", "square")
LOOK = {"front/rgb": Stream((84, 84, 3))}
SLOT = np.zeros(1, dtype=np.int32)
WARM = 5
"""Scenarios before the watch starts: the first picture of a process opens OpenGL."""


def scenarios(task: Any, count: int, arm: str = "all", first: int = 0) -> list[Scenario]:
    """Scenarios under an arm, values drawn, names known: as a study gives them to a worker."""
    [under] = expand([arm], task)
    found = [under.on(task.scenario(seed), task) for seed in range(first, first + count)]
    return [Scenario.model_validate_json(s.model_dump_json()) for s in found]


def one_core() -> None:
    """Keep this process on the last of the cores it may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def start(world: MujocoWorld, scenario: Scenario) -> tuple[float, float]:
    """Wall and CPU milliseconds from a scenario to its first frame."""
    wall, cpu = time.perf_counter(), time.process_time()
    world.reset(SLOT, [scenario], [0])
    world.observe(SLOT, LOOK)
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def middle(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Median and 90th percentile of wall and CPU milliseconds."""
    wall, cpu = np.array(times).T
    return {
        f"{name}_{what}": round(float(np.percentile(values, at)), 1)
        for name, values in (("wall", wall), ("cpu", cpu))
        for what, at in (("median", 50), ("p90", 90))
    }


def first_frames(name: str, count: int) -> dict[str, dict[str, float]]:
    """(a) and (b)"""
    task = resolve("tasks", name)()
    one, other = MujocoWorld(task, slots=1), MujocoWorld(task, slots=1)
    fresh, again = [], []
    for scenario in scenarios(task, count + WARM):
        fresh.append(start(one, scenario))
        again.append(start(other, scenario))
    return {"fresh": middle(fresh[WARM:]), "again": middle(again[WARM:])}


def resident() -> float:
    """MB of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory(name: str, at: Sequence[int], out: Any) -> None:
    """(c), in a process of its own"""
    one_core()
    task = resolve("tasks", name)()
    world, found = MujocoWorld(task, slots=1), {}
    for done in range(1, max(at) + 1):
        [scenario] = scenarios(task, 1, first=done)
        start(world, scenario)
        if done in at:
            found[done] = round(resident(), 1)
    out.put(found)


def apart(name: str, at: Sequence[int]) -> dict[int, float]:
    context = multiprocessing.get_context("spawn")
    out = context.SimpleQueue()
    child = context.Process(target=memory, args=(name, at, out))
    child.start()
    found: dict[int, float] = out.get()
    child.join()
    return found


def frames(name: str, arm: str, slots: int, seconds: float) -> dict[str, float]:
    """(d): frames per wall second and CPU milliseconds of one, all slots in turn."""
    task = resolve("tasks", name)()
    world, ids = MujocoWorld(task, slots=slots), np.arange(slots, dtype=np.int32)
    world.reset(ids, scenarios(task, slots, arm), [0] * slots)
    world.observe(ids, LOOK)
    drawn, wall, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        world.observe(ids, LOOK)
        drawn += slots
    took = time.perf_counter() - wall
    return {"per_second": round(drawn / took), "cpu_ms": round(1e3 * (time.process_time() - cpu) / drawn, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="scenarios of (a) and (b), each task")
    parser.add_argument("--scenarios", type=int, default=1000, help="of (c), on `can`; 0 leaves it out")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement of (d)")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()

    one_core()
    results: dict[str, Any] = {"load_before": round(os.getloadavg()[0], 1)}
    for name in TASKS:
        print(f"first frames of {name} ...", file=sys.stderr)
        results[name] = first_frames(name, asked.count)
    for name in TASKS:
        print(f"frames of {name} ...", file=sys.stderr)
        results[name]["frames"] = {
            arm: {str(slots): frames(name, arm, slots, asked.seconds) for slots in (1, 8, 32)}
            for arm in ("none", "all")
        }
    if asked.scenarios:
        print(f"memory over {asked.scenarios} scenarios ...", file=sys.stderr)
        at = sorted({max(1, asked.scenarios * share // 10) for share in (1, 5, 10)})
        results["resident_mb_after"] = apart("can", at)
    results["machine"] = {"cores": os.cpu_count(), "python": platform.python_version(), "mujoco": mujoco.__version__}
    print(json.dumps(results, indent=None if asked.json else 2))


if __name__ == "__main__":
    main()
