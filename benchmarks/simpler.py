"""CPU seconds per action of SIMPLER's tasks, with and without the camera image, beside the original engine's.

    python benchmarks/simpler.py                  # 4 tasks, a few minutes
    python benchmarks/simpler.py --suite          # and the whole WidowX suite with images, on all cores

One process with one thread runs whole episodes of the scripted expert, side by side as a worker of a study does.
`step` is control and physics: the original's figures count these two and nothing else. `image` adds one image of the
camera that SIMPLER's policies see, in its own size (640x480 or 640x512), with everything around it. `whole` is an
action of a study without images: the step, the expert, observations, judging and resets. The original's figures were
measured in another run on the same kind of machine: two cores, no GPU, SAPIEN 2 with software Vulkan, one episode at a
time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from foretell.policies.expert import Expert
from foretell.registry import resolve
from foretell.rollout import Job, run_sync
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.run import SLOTS

TASKS = {
    "widowx_spoon_on_towel": "WidowX",
    "widowx_put_eggplant_in_basket": "WidowX",
    "google_robot_pick_coke_can": "Google",
    "google_robot_open_top_drawer": "Google",
}
ORIGINAL = {"WidowX": {"step": 0.019, "image": 0.134}, "Google": {"step": 0.038, "image": 0.177}}
"""CPU seconds per action of the original engine, without and with its image."""
AIM = {"step": 10.0, "image": 5.0}
CAMERAS = {"widowx": ("third_view/rgb", 480, 640), "google_robot": ("google_robot/overhead/rgb", 512, 640)}
"""What SIMPLER's policies see: stream, height and width."""
SEEN = 8
"""Episodes with images."""


class Blind(Expert):
    """The scripted expert, which reads states."""


class Seeing(Expert):
    """The scripted expert, which is shown the camera's image as well and does not use it."""

    def bind(self, task: Any, action: Any) -> None:
        super().bind(task, action)
        camera, height, width = next(view for robot, view in CAMERAS.items() if task.name.startswith(robot))
        self.spec = replace(self.spec, reads={**self.spec.reads, camera: Stream(shape=(height, width, 3))})


class Timed(MujocoWorld):
    """Counts the CPU seconds of control and physics."""

    spent = 0.0

    def command(self, *arguments: Any) -> None:
        began = time.process_time()
        super().command(*arguments)
        self.spent += time.process_time() - began

    def advance(self, *arguments: Any) -> Any:
        began = time.process_time()
        failed = super().advance(*arguments)
        self.spent += time.process_time() - began
        return failed


def per_action(name: str, image: bool, file: str) -> tuple[float, float]:
    """CPU seconds per action of a task in a world: of control and physics, and of all."""
    task = resolve("tasks", name)()
    world = Timed(task, file, slots=SLOTS, threads=1)
    policy = Seeing() if image else Blind()
    policy.bind(task, world.action)
    jobs = iter([Job(policy="expert", scenario=task.scenario(seed)) for seed in range(SEEN if image else SLOTS)])
    actions, began = 0, time.process_time()

    def watch(doing: str, running: list[Any]) -> None:
        nonlocal actions
        actions += len(running) * (doing == "policy")

    for _ in run_sync(world, {"expert": policy}, lambda: next(jobs, None), watch):
        pass
    world.close()
    return world.spent / actions, (time.process_time() - began) / actions


def suite() -> dict[str, float]:
    """Wall and CPU seconds of the WidowX suite: 4 tasks x 24 layouts, the expert, with an image at every action."""
    import foretell

    with tempfile.TemporaryDirectory() as folder:
        study = {
            "name": "suite",
            "tasks": ["simpler-widowx"],
            "policies": {"seeing": f"{__file__}:Seeing"},
            "scenarios": {"layouts": "all"},
            "record": {"video": "none"},
        }
        began, spent = time.perf_counter(), os.times()
        done = foretell.run(study, out=Path(folder) / "run")
        now = os.times()
        cpu = sum(now[:4]) - sum(spent[:4])
        return {"episodes": done.ran, "wall_s": time.perf_counter() - began, "cpu_s": cpu}


def beside(kind: str, cpu: float, original: float | None) -> str:
    if original is None:
        return ""
    met = "met" if original / cpu >= AIM[kind] else "missed"
    return f", original {1000 * original:4.0f} ms: {original / cpu:5.1f} times, aim {AIM[kind]:.0f}: {met}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--world", default="mujoco", help="a world, or a world file")
    parser.add_argument("--suite", action="store_true", help="run the WidowX suite of 96 episodes with images too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = []
    for name, robot in TASKS.items():
        blind, seeing = (
            [per_action(name, image, options.world) for _ in range(options.rounds)] for image in (False, True)
        )
        spent = {
            "step": statistics.median(step for step, _ in blind),
            "image": statistics.median(every for _, every in seeing),
            "whole": statistics.median(every for _, every in blind),
        }
        for kind, cpu in spent.items():
            original = ORIGINAL[robot].get(kind)
            results.append({"task": name, "kind": kind, "cpu_s": cpu, "original_cpu_s": original})
            if not options.json:
                print(f"{name:32} {kind:6} {1000 * cpu:6.2f} ms{beside(kind, cpu, original)}", flush=True)
    whole = suite() if options.suite else None
    if options.json:
        print(json.dumps({"actions": results, "suite": whole}, indent=2))
    elif whole:
        print(
            f"suite: {whole['episodes']} episodes with images, {whole['wall_s']:.0f} s, {whole['cpu_s']:.0f} s of CPU"
        )


if __name__ == "__main__":
    main()
