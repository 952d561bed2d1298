"""How fast foretell steps, beside bare physics and beside robosuite, all in one run on one machine.

    python benchmarks/throughput.py                     # (a) and (b), cameras and memory
    sh benchmarks/robosuite_env.sh                      # once: robosuite in an environment of its own
    python benchmarks/throughput.py --robosuite .envs/robosuite

(a) a bare mujoco.batch.Batch on foretell's models under the controls of a foretell run
(b) foretell: state observations, random actions, as a study runs it: one worker process per core
(c) robosuite 1.5.2 on mujoco 3.8.1: state observations, random actions, one process per core
(d) a bare Batch on robosuite's own models under the controls of a robosuite run

Each is measured for some seconds, turn by turn, in several rounds; the median of the rounds is printed, because
a shared machine is never equally fast twice.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch

from foretell.policies.random import Random
from foretell.policy import PolicySpec
from foretell.registry import resolve
from foretell.rollout import Job, run_sync
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream

TASKS = {"lift": "Lift", "can": "PickPlaceCan", "square": "NutAssemblySquare"}
CORES = os.cpu_count() or 1
TICKS = 25
"""Physics steps per action: 500 Hz over 20 Hz."""


class Looking(Random):
    """Random actions, but all state observations are made for it."""

    def bind(self, task: Any, action: Any) -> None:
        super().bind(task, action)
        objects = task.scenario(0).placements
        reads = {f"panda/{field}": Stream() for field in ("joint_pos", "joint_vel", "ee_pos", "ee_quat", "gripper")}
        reads |= {f"{name}/{field}": Stream() for name in objects for field in ("pos", "quat")}
        self.spec = PolicySpec(reads=reads, action=action, action_rate=self.spec.action_rate, batch=None, seeded=True)


def endless(task: Any, first: int) -> Any:
    seed = first
    while True:
        yield Job(policy="random", scenario=task.scenario(seed))
        seed += 1


def foretell_process(name: str, slots: int, seconds: float, first: int, start: Any, out: Any) -> None:
    """Physics steps of one worker in a common window; resets included, warm-up not."""
    task = resolve("tasks", name)()
    world = MujocoWorld(task, slots=slots, threads=1)
    policy = Looking()
    policy.bind(task, world.action)
    jobs, counted, until = endless(task, first), [0, 0], [0.0]

    class Over(Exception):  # noqa: N818 - not an error
        pass

    def watch(doing: str, asked: list[Job]) -> None:
        if doing != "policy" or not asked:
            return
        counted[0] += 1
        if counted[0] == 20:
            start.wait()
            until[0] = time.perf_counter() + seconds
            counted[1] = 0
        elif until[0] and time.perf_counter() > until[0]:
            raise Over
        counted[1] += len(asked) * TICKS

    began = 0.0
    try:
        for _ in run_sync(world, {"random": policy}, lambda: next(jobs), watch):
            pass
    except Over:
        began = until[0] - seconds
    out.put(counted[1] / (time.perf_counter() - began))


def foretell_side(name: str, slots: int, seconds: float) -> float:
    """(b)"""
    context = multiprocessing.get_context("spawn")
    start, out = context.Barrier(CORES), context.SimpleQueue()
    crew = [
        context.Process(target=foretell_process, args=(name, slots, seconds, 10_000 * i, start, out))
        for i in range(CORES)
    ]
    for process in crew:
        process.start()
    total = sum(out.get() for _ in crew)
    for process in crew:
        process.join()
    return total


class Bare:
    """A bare loop: recorded controls, a batch, nothing else."""

    def __init__(self, models: list[Any], states: np.ndarray, controls: np.ndarray):
        self.batch = Batch(models[0], nsim=len(models), nthread=CORES)
        self.batch.set_models(models)
        self.states, self.controls = states, controls
        self.every = len(controls) // (len(states))

    def rate(self, seconds: float) -> float:
        """Physics steps per second. The state is set anew now and then, to keep the recorded contacts."""
        size, block, steps = len(self.batch.state), 0, 0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            if block % self.every == 0:
                self.batch.state[:] = self.states[(block // self.every) % len(self.states)]
            self.batch.rollout(TICKS, self.controls[block % len(self.controls)], record=())
            steps += size * TICKS
            block += 1
        return steps / (time.perf_counter() - began)

    def contacts(self) -> float:
        """Mean number of contacts over the slots, now."""
        counts = []
        for slot in range(len(self.batch.state)):
            data = self.batch.get_data(slot)
            mujoco.mj_forward(self.batch.get_model(slot), data)
            counts.append(data.ncon)
        return float(np.mean(counts))


def bare_foretell(name: str, slots: int, actions: int = 200, every: int = 10) -> tuple[Bare, dict[str, Any]]:
    """(a): the models, states and controls of a foretell run with random actions."""
    task = resolve("tasks", name)()
    world = MujocoWorld(task, slots=slots, threads=CORES)
    ids = np.arange(slots, dtype=np.int32)
    world.reset(ids, [task.scenario(i) for i in range(slots)], [0] * slots)
    layout = world._where[0]
    rng, states, controls = np.random.default_rng(0), [], []
    period = np.full(slots, TICKS)
    for action in range(actions):
        if action % every == 0:
            states.append(layout.batch.state.copy())
        world.command(ids, rng.uniform(world.action.low, world.action.high, (slots, world.action.size)), period)
        targets = np.repeat(layout.hold[ids][:, None], TICKS, axis=1)
        for key, controller in world.controllers.items():
            targets[:, :, layout.motors[key]] = controller.targets(ids, TICKS)
        controls.append(targets)
        layout.advance(ids, targets)
    bare = Bare(layout.models, np.array(states), np.array(controls))
    model = layout.model
    return bare, {"nv": int(model.nv), "ngeom": int(model.ngeom)}


def bare_robosuite(folder: Path, task: str, slots: int, every: int = 10) -> tuple[Bare, dict[str, Any]]:
    """(d): robosuite's exported model, with the states and torques of its own random episodes."""
    model = mujoco.MjModel.from_xml_path(str(folder / f"{task}.xml"))
    record = np.load(folder / f"{task}.npz")
    which = np.arange(slots) % len(record["ctrl"])
    actions = record["ctrl"].shape[1] // TICKS
    controls = record["ctrl"].reshape(len(record["ctrl"]), actions, TICKS, -1)[which].transpose(1, 0, 2, 3)
    probe = Batch(model, nsim=slots, nthread=1)
    states = []
    for action in range(0, actions, every):
        probe.reset()
        for field in ("qpos", "qvel", "qacc_warmstart"):
            probe.bind(field)[:] = record[field][which, action]
        states.append(probe.state.copy())
    return Bare([model] * slots, np.array(states), controls), {"nv": int(model.nv), "ngeom": int(model.ngeom)}


def robosuite(python: Path, *arguments: str) -> dict[str, Any]:
    """Run robosuite's side in its own environment; its last line of output is JSON."""
    command = [str(python), str(Path(__file__).with_name("robosuite_side.py")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout[done.stdout.index("{") :])


def frames(size: int, seconds: float, slots: int = 4) -> float:
    """Camera frames per second of one process: front camera, default quality."""
    task = resolve("tasks", "lift")()
    world = MujocoWorld(task, slots=slots)
    ids = np.arange(slots, dtype=np.int32)
    world.reset(ids, [task.scenario(i) for i in range(slots)], [0] * slots)
    look = {"front/rgb": Stream((size, size, 3))}
    world.observe(ids, look)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        world.observe(ids, look)
        count += slots
    return count / (time.perf_counter() - began)


def memory(slots: int) -> float:
    """Resident MB of a fresh process that runs `slots` episodes of `can` side by side for a while."""
    code = f"""
import re
from foretell.rollout import Job, run_sync
from foretell.policies.random import Random
from foretell.registry import resolve
from foretell.sim.world import MujocoWorld
task = resolve("tasks", "can")()
task.time_limit = 0.5
world = MujocoWorld(task, slots={slots})
policy = Random(); policy.bind(task, world.action)
jobs = iter([Job(policy="p", scenario=task.scenario(i)) for i in range(4 * {slots})])
list(run_sync(world, {{"p": policy}}, lambda: next(jobs, None)))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robosuite", type=Path, help="environment made by robosuite_env.sh; without it (a) and (b)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slots", type=int, default=32, help="per worker in (b); CORES times that in (a) and (d)")
    parser.add_argument(
        "--no-bare", action="store_true", help="only (b), and (c) with --robosuite: no export to wait for"
    )
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()

    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        python = asked.robosuite / "bin" / "python" if asked.robosuite else None
        bare = not asked.no_bare
        if python and bare:
            print("exporting robosuite's models (minutes) ...", file=sys.stderr)
            robosuite(python, "--seconds", "0", "--export", scratch, "--export-actions", "200")
        wide = asked.slots * CORES
        sides = {name: bare_foretell(name, wide) for name in TASKS} if bare else {}
        theirs = {n: bare_robosuite(Path(scratch), t, wide) for n, t in TASKS.items()} if python and bare else {}
        measured: dict[str, dict[str, list[float]]] = {name: {k: [] for k in "abcd"} for name in TASKS}
        contacts: dict[str, dict[str, list[float]]] = {name: {k: [] for k in "acd"} for name in TASKS}
        without_resets: dict[str, list[float]] = {name: [] for name in TASKS}
        for turn in range(asked.rounds):
            print(f"round {turn + 1} of {asked.rounds} ...", file=sys.stderr)
            rivals = robosuite(python, "--seconds", str(asked.seconds)) if python else {}
            for name, task in TASKS.items():
                if bare:
                    measured[name]["a"].append(sides[name][0].rate(asked.seconds))
                    contacts[name]["a"].append(sides[name][0].contacts())
                measured[name]["b"].append(foretell_side(name, asked.slots, asked.seconds))
                if python:
                    rival = rivals["tasks"][task]
                    measured[name]["c"].append(rival["steps_per_s"])
                    contacts[name]["c"].append(rival["mean_ncon"])
                    without_resets[name].append(rival["steps_per_s_without_resets"])
                if python and bare:
                    measured[name]["d"].append(theirs[name][0].rate(asked.seconds))
                    contacts[name]["d"].append(theirs[name][0].contacts())
        for name in TASKS:
            middle = {k: np.median(v) for k, v in measured[name].items() if v}
            results[name] = {"steps_per_second": {k: round(v) for k, v in middle.items()}}
            if python:
                results[name]["b_over_c"] = round(middle["b"] / middle["c"], 1)
                results[name]["b_over_c_without_resets"] = round(
                    middle["b"] / float(np.median(without_resets[name])), 1
                )
            if not bare:
                continue
            results[name] |= {
                "b_over_a": round(middle["b"] / middle["a"], 3),
                "foretell": sides[name][1] | {"contacts": round(float(np.mean(contacts[name]["a"])), 1)},
            }
            if python:
                results[name] |= {
                    "robosuite": theirs[name][1] | {"contacts": round(float(np.mean(contacts[name]["c"])), 1)},
                    "bare robosuite contacts": round(float(np.mean(contacts[name]["d"])), 1),
                }
    results["frames_per_second"] = {f"{s}x{s}": round(frames(s, asked.seconds), 1) for s in (84, 224)}
    results["memory_mb"] = {str(n): round(memory(n)) for n in (8, 64, 256)}
    results["machine"] = {"cores": CORES, "python": platform.python_version(), "mujoco": mujoco.__version__}
    print(json.dumps(results, indent=None if asked.json else 2))


if __name__ == "__main__":
    main()
