"""robosuite's side of the comparison: its speed, and its models for a bare physics loop.

Run with the interpreter of the environment that robosuite_env.sh makes, never with foretell's own: the two
need different MuJoCo versions. It imports nothing of foretell.

    python benchmarks/robosuite_side.py                 # one JSON object on stdout
    python benchmarks/robosuite_side.py --export DIR    # also writes the models and recorded controls

Measured is what a user of robosuite gets: a default Panda env without cameras, state observations, uniformly
random actions at 20 Hz over 500 Hz physics, one single-threaded process per core.

The export has, per task, DIR/<task>.xml and DIR/<task>.npz. The model is plain MJCF, its meshes and textures
are in DIR/assets: any MuJoCo version can compile it, while an MJB is tied to the version that wrote it. The
recording is of random-action episodes, with N = actions:

    ctrl                         (episode, 25 N, nu)          arm torques in N m, finger targets in m
    qpos, qvel, qacc_warmstart   (episode, N + 1, nq or nv)   at the start and after each action

Replayed with mj_step from the start, it is exact on the MuJoCo version that recorded it. On another one it
mostly agrees to rounding for ten actions, and then drifts off, torques being open-loop: set the state again
from qpos and qvel now and then to keep robosuite's contact load.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import mujoco
import numpy as np
import robosuite
from robosuite.utils.log_utils import ROBOSUITE_DEFAULT_LOGGER

TASKS = ("Lift", "PickPlaceCan", "NutAssemblySquare")
CONTROL_HZ = 20
HORIZON = 400  # actions per episode, as robomimic evaluates these three tasks
WARM_UP_ACTIONS = 40  # compiles numba's functions and fills caches
MODEL_SIZES = ("nq", "nv", "nu", "nbody", "ngeom")


def make_env(task: str, seed: int, hard_reset: bool = True) -> Any:
    ROBOSUITE_DEFAULT_LOGGER.setLevel("ERROR")  # one line about the controller per reset otherwise
    return robosuite.make(
        task,
        robots="Panda",
        has_renderer=False,
        has_offscreen_renderer=False,
        use_camera_obs=False,
        control_freq=CONTROL_HZ,
        horizon=HORIZON,
        hard_reset=hard_reset,
        seed=seed,
    )


def steps_per_action(env: Any) -> int:
    return round(env.control_timestep / env.model_timestep)


@dataclass
class Timing:
    """What one process did in the window."""

    actions: int = 0  # finished within the window
    steps: int = 0  # physics steps of those actions
    stepping_s: float = 0.0  # time spent in those actions
    stepping_cpu_s: float = 0.0  # of that, time on a core: less where other programs took the cores
    resets: int = 0
    reset_s: float = 0.0
    contacts: int = 0  # sum of ncon, read once after each action


def time_env(task: str, seed: int, seconds: float, hard_reset: bool, start: Barrier) -> tuple[Timing, dict[str, int]]:
    """Run episodes, each from its reset, from when every process is ready until `seconds` later."""
    env = make_env(task, seed, hard_reset)
    rng = np.random.default_rng(seed)
    low, high = env.action_spec
    env.reset()
    for _ in range(WARM_UP_ACTIONS):
        env.step(rng.uniform(low, high))
    substeps = steps_per_action(env)
    timing, done = Timing(), True
    start.wait()
    now = time.perf_counter()
    end = now + seconds
    while now < end:
        before, cpu_before = now, time.process_time()
        if done:
            env.reset()
            done = False
            now = time.perf_counter()
            timing.resets += 1
            timing.reset_s += now - before
            continue
        _, _, done, _ = env.step(rng.uniform(low, high))
        now = time.perf_counter()
        if now <= end:  # an action that ends after the window would favour long actions
            timing.actions += 1
            timing.steps += substeps
            timing.stepping_s += now - before
            timing.stepping_cpu_s += time.process_time() - cpu_before
            timing.contacts += env.sim.data.ncon
    return timing, {name: int(getattr(env.sim.model, name)) for name in MODEL_SIZES}


def measure(task: str, processes: int, seconds: float, hard_reset: bool) -> dict[str, Any]:
    # Spawned, not forked: a child then imports NumPy under the thread limits set in main().
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(processes) as pool:
        start = manager.Barrier(processes)
        jobs = [(task, seed, seconds, hard_reset, start) for seed in range(processes)]
        results = pool.starmap(time_env, jobs, chunksize=1)
    timings = [timing for timing, _ in results]
    steps = sum(t.steps for t in timings)
    actions = sum(t.actions for t in timings)
    resets = sum(t.resets for t in timings)
    return {
        "steps_per_s": steps / seconds,
        "steps_per_s_without_resets": sum(t.steps / t.stepping_s for t in timings),
        # As if each process had had a core to itself: comparable between runs on a shared machine.
        "steps_per_cpu_s_without_resets": sum(t.steps / t.stepping_cpu_s for t in timings),
        "reset_s": sum(t.reset_s for t in timings) / resets,
        "mean_ncon": sum(t.contacts for t in timings) / actions,
        **results[0][1],
        "per_process": [asdict(t) for t in timings],
    }


def standalone_mjcf(xml: str, directory: Path) -> str:
    """Copy the files that `xml` names by absolute path to directory/assets, and name them there instead."""
    root = ET.fromstring(xml)
    assets = directory / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    for element in root.iter():
        if "file" not in element.attrib:
            continue
        source = Path(element.attrib["file"])
        target = assets / source.name
        if not target.exists():
            shutil.copyfile(source, target)
        elif target.read_bytes() != source.read_bytes():
            raise ValueError(f"two different assets are called {source.name}")
        element.set("file", source.name)
    compiler = root.find("compiler")
    if compiler is None:
        raise ValueError("robosuite's MJCF has no compiler element")
    compiler.set("meshdir", "assets")
    compiler.set("texturedir", "assets")
    return ET.tostring(root, encoding="unicode")


def export(task: str, directory: Path, episodes: int, actions: int) -> None:
    """Write the model of `task`, and states and controls of random-action episodes on it."""
    env = make_env(task, seed=0, hard_reset=False)  # a hard reset would draw another cube: one model per file
    (directory / f"{task}.xml").write_text(standalone_mjcf(env.model.get_xml(), directory))
    rng = np.random.default_rng(0)
    low, high = env.action_spec
    data, step2 = env.sim.data, env.sim.step2
    controls: list[np.ndarray] = []
    states: dict[str, list[np.ndarray]] = {"qpos": [], "qvel": [], "qacc_warmstart": []}

    def recording_step2() -> None:  # robosuite sets ctrl between mj_step1 and mj_step2
        controls.append(np.array(data.ctrl))
        step2()

    def record_state() -> None:
        for name, values in states.items():
            values.append(np.array(getattr(data, name)))

    env.sim.step2 = recording_step2
    for _ in range(episodes):
        env.reset()
        record_state()
        for _ in range(actions):
            env.step(rng.uniform(low, high))
            record_state()
    if len(controls) != episodes * actions * steps_per_action(env):
        raise RuntimeError("robosuite no longer calls step2 once per physics step")
    arrays = {"ctrl": controls, **states}
    stacked = {name: np.reshape(values, (episodes, -1, len(values[0]))) for name, values in arrays.items()}
    np.savez_compressed(directory / f"{task}.npz", **stacked)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure robosuite, and export its models.")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="envs, one per process")
    parser.add_argument("--seconds", type=float, default=30.0, help="window per task; 0: only export")
    parser.add_argument("--soft-reset", action="store_true", help="keep the compiled model at resets")
    parser.add_argument("--export", type=Path, metavar="DIR", help="write models and recorded controls here")
    parser.add_argument("--export-episodes", type=int, default=16)
    parser.add_argument("--export-actions", type=int, default=HORIZON, help="actions per exported episode")
    args = parser.parse_args()
    if not 0 < args.export_actions <= HORIZON:
        parser.error(f"--export-actions must be within 1..{HORIZON}")
    # One core per process: BLAS threads of one env would take another env's core.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

    report: dict[str, Any] = {
        "versions": {
            "robosuite": robosuite.__version__,
            "mujoco": mujoco.__version__,
            "numpy": np.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
        },
        "processes": args.processes,
        "seconds": args.seconds,
        "horizon_actions": HORIZON,
        "control_hz": CONTROL_HZ,
        "hard_reset": not args.soft_reset,
        "tasks": {},
    }
    for task in TASKS:
        if args.seconds > 0:
            report["tasks"][task] = measure(task, args.processes, args.seconds, not args.soft_reset)
        if args.export:
            export(task, args.export, args.export_episodes, args.export_actions)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
