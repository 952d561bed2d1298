"""This machine: its cores, physics, where files can be written, and programs that may crash or hang, each in a process
of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "DRAW",
    "IMPORT",
    "ProgramOutput",
    "physics_speed",
    "try_apart",
    "usable_cores",
]

SLOTS, MEASURE_S = 32, 0.6
PATIENCE = 30.0
"""Seconds a program gets; one that opens graphics on a busy machine takes two."""


def usable_cores() -> int:
    """Cores this process may use: what the scheduler allows, and what a container's quota leaves."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(allowed, int(quota) // int(period)))
    except (OSError, ValueError):  # no control groups, or no quota ("max")
        return allowed


def physics_speed(threads: int) -> float:
    """Simulated seconds of `lift` per second, all slots together."""
    import numpy as np

    from foretell.sim.world import MujocoWorld
    from foretell.study.plan import make_task

    task = make_task("lift")
    world = MujocoWorld(task, slots=SLOTS, threads=threads)
    slots = np.arange(SLOTS, dtype=np.int32)
    world.reset(slots, [task.scenario(0)] * SLOTS, [0] * SLOTS)
    ticks = np.full(SLOTS, world.ticks(1.0 / task.action_rate))
    world.advance(slots, ticks)  # the first wakes the threads
    began, periods = time.perf_counter(), 0
    while time.perf_counter() - began < MEASURE_S:
        world.advance(slots, ticks)
        periods += 1
    took = time.perf_counter() - began
    world.close()
    return float(periods * ticks[0] * world.tick * SLOTS / took)


IMPORT = """
import importlib, json
for name in NAMES:
    try: importlib.import_module(name); trouble = ""
    except Exception as error: trouble = repr(error)
    print(json.dumps([name, trouble]), flush=True)
"""
DRAW = """
import json, time
import numpy as np
from foretell.sim.render import shared_renderer
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task
task = make_task("lift")
world = MujocoWorld(task, slots=1)
world.reset(np.zeros(1, dtype=np.int32), [task.scenario(0)], [0])
camera = next(iter(task.cameras))
seen = world.picture(0, camera, 224, 224)
began = time.perf_counter()
for _ in range(5): seen = world.picture(0, camera, 224, 224)
took = (time.perf_counter() - began) / 5
try:
    from OpenGL import GL
    by = GL.glGetString(GL.GL_RENDERER).decode()
except Exception: by = ""
print(json.dumps({"seconds": took, "spread": float(seen.std()), "by": by}), flush=True)
"""


@dataclass(frozen=True)
class ProgramOutput:
    """What a program said, and how it ended."""

    out: str
    trouble: str
    """How it ended, in words; empty if well."""


def try_apart(program: str, **environment: str) -> ProgramOutput:
    """Run a program in a Python of its own; it may crash or hang."""
    # where foretell was found is where the child must find it, installed or not
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # pipes could outlive it in a grandchild
        child = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, "PYTHONPATH": path, **environment},
        )
        try:
            code = child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            trouble = f"hung for {PATIENCE:.0f} s"
        else:
            err.seek(0)
            lines = err.read().decode(errors="replace").strip().splitlines()
            last = lines[-1][:200] if lines else "without a word"
            trouble = "" if code == 0 else f"crashed (signal {-code}): {last}" if code < 0 else last
        out.seek(0)
        return ProgramOutput(out.read().decode(errors="replace"), trouble)
