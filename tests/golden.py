"""Golden rows: what episodes were, to the bit, before the code that runs them was changed.

`python tests/golden.py` writes `tests/golden.json` anew. Do so only where rows must change, and say why in the
changelog. `--missing` adds the cases that have no rows yet, and keeps the others. Rows of policies that see are kept
twice, for machines with and without AVX-512; those of the other kind stay.
An episode is kept as a hash of every observation and action, the outcome, and the names that its key is made of.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  (before numpy: the arithmetic of the tests)
import numpy as np
from simd import simd

from foretell.clock import parse
from foretell.episodes.provenance import provenance
from foretell.factors import draw, perturb
from foretell.policies.make import BoundPolicy, bind, make_policy
from foretell.rollout import Job, run_sync, run_virtual
from foretell.study.plan import make_task
from foretell.world_file import make_world

FILE = Path(__file__).with_name("golden.json")
WORLDS = ("mujoco", "standin")
TASKS = ("lift", "can", "square")
SEEING = ("zoo:bc-vision", "zoo:dp-vision")
"""Policies that see, on the tasks of `SEEN`."""
SEEN = ("lift", "can")
POLICIES = ("expert", "noisy-expert", "zoo:bc", "zoo:dp")
ARMS = (
    "none",
    "MO_Size+Object_Friction",
    "Distractor+Instruction",
    "Sensor_Noise",
    "Action_Noise+Robot_Init",
    "Table_Texture+Camera_Pose",
)
CLOCKS: tuple[Any, ...] = ("sync", {"virtual": {"latency": 0.12}})
LIMIT_S = {"noisy-expert": 4.0, "zoo:dp": 4.0, "zoo:bc-vision": 0.75, "zoo:dp-vision": 0.6}
"""Simulated seconds of an episode, where less than the task's will do: pictures and large networks take time."""
SLOTS = 6


def here() -> dict[str, Any]:
    """What bits may depend on. `conftest.py` gives all x86 machines with AVX2 the same arithmetic in numpy."""
    versions = provenance()["versions"]
    arithmetic = os.environ.get("OPENBLAS_CORETYPE", platform.machine())
    return {**{n: versions[n] for n in ("mujoco", "numpy", "onnxruntime")}, "arithmetic": arithmetic}


def wide() -> bool:
    """Whether networks that see are computed with AVX-512 here: nothing turns that off, and last bits differ."""
    return "avx512f" in simd()


class _Recorded:
    """A bound policy that keeps a hash of all that passes through it."""

    def __init__(self, bound: BoundPolicy):
        self.bound, self.spec = bound, bound.spec
        self.sums = [hashlib.sha256() for _ in range(SLOTS)]

    def reset(self, slots: np.ndarray, instructions: Any, seeds: Any) -> None:
        for slot, instruction, seed in zip(slots.tolist(), instructions, seeds, strict=True):
            self.sums[slot] = hashlib.sha256(f"{instruction}/{seed}".encode())
        self.bound.reset(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Any) -> Any:
        answer = self.bound.act(slots, observations)
        actions = np.asarray(getattr(answer, "actions", answer))
        for row, slot in enumerate(slots.tolist()):
            for name in sorted(observations):
                value = observations[name][row]
                self.sums[slot].update(value.encode() if isinstance(value, str) else np.asarray(value).tobytes())
            self.sums[slot].update(np.asarray(actions[row], dtype=float).tobytes())
        return answer


def cases() -> Iterator[tuple[str, str, str, Any]]:
    """(world, task, policy, clock)"""
    for world in WORLDS:
        for task in TASKS:
            for policy in (*POLICIES, *(SEEING if task in SEEN else ())):
                for clock in CLOCKS:
                    yield world, task, policy, clock


def rows(world: str, task: str, policy: str, clock: Any) -> dict[str, Any]:
    """Arm -> what is kept of its episode."""
    asked = make_task(task)
    asked.time_limit = LIMIT_S.get(policy, 12.0)
    scenario = asked.scenario(0)
    jobs = []
    for arm in ARMS:
        values = {name: draw(name, scenario, asked, 1.0) for name in (arm.split("+") if arm != "none" else ())}
        jobs.append(Job(policy="it", scenario=perturb(scenario, values) if values else scenario, trial=0, key=arm))
    built = make_world(world, asked, slots=SLOTS, threads=1)
    bound = bind(make_policy(policy), built, policy)
    recorded = _Recorded(bound)
    todo, found, time = iter(jobs), {}, parse(clock)
    run = run_sync if clock == "sync" else run_virtual
    more = {} if clock == "sync" else {"clock": time}
    slot_of: dict[str, int] = {}
    given = []

    def source() -> Job | None:
        job = next(todo, None)
        if job is not None:
            slot_of[job.key] = len(given)
            given.append(job)
        return job

    for job, outcome in run(built, {"it": recorded}, source, **more):
        whole = dataclasses.asdict(outcome).items()
        kept = {k: v for k, v in whole if not k.startswith("wall_") and k not in ("trace", "film")}
        # later rows may have more to tell; what is kept here must not change
        found[job.key] = {
            "passed": recorded.sums[slot_of[job.key]].hexdigest()[:16],
            "scenario": job.scenario.id,
            "base": job.scenario.base,
            "world": built.hash,
            "policy": bound.hash[:16] if policy.startswith("zoo") else "",
            **{k: kept[k] for k in ("success_any", "success_end", "score", "stages", "steps", "sim_s", "end", "blame")},
            "metrics": {k: kept["metrics"][k] for k in sorted(kept["metrics"])},
        }
    built.close()
    return {arm: found[arm] for arm in ARMS}


def name_of(case: tuple[str, str, str, Any]) -> str:
    world, task, policy, clock = case
    return f"{world} {task} {policy} {clock if isinstance(clock, str) else next(iter(clock))}"


def key_of(case: tuple[str, str, str, Any]) -> str:
    """Where the rows of a case are kept."""
    return name_of(case) + (" avx512" if case[2] in SEEING and wide() else "")


def main() -> None:
    kept = json.loads(FILE.read_text())["rows"] if FILE.exists() else {}
    for case in cases():
        if "--missing" in sys.argv and key_of(case) in kept:
            continue
        kept[key_of(case)] = rows(*case)
        print(name_of(case), file=sys.stderr)
    FILE.write_text(json.dumps({"here": here(), "rows": kept}, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
