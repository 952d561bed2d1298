"""How fast is navigation: a whole study, and steps per second beside a plain Python loop and ir-sim.

    python benchmarks/navigation.py study     # 405 episodes of agents that read rays, two workers
    python benchmarks/navigation.py camera    # an agent that reads a rendered camera beside one that reads rays
    python benchmarks/navigation.py steps     # foretell and a plain loop of the same rules, turn by turn
    python -m venv /tmp/irsim && /tmp/irsim/bin/pip install ir-sim
    python benchmarks/navigation.py steps --irsim /tmp/irsim/bin/python

A step is one action of one robot in the hard room of the lab: a motion of a disc among 76 walls with actuation noise,
and a look with a lidar of 72 rays. The plain loop is what one would write first: one robot at a time, one wall after
another. It takes the same random numbers, and ends at the same poses. Figures are per CPU second of one core.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell import read
from foretell.planar.actuation import ACTUATION
from foretell.planar.draws import StepDraws
from foretell.robots.locobot import LoCoBot
from foretell.rooms import Room
from foretell.scenario import Scenario
from foretell.spec import Stream
from foretell.study.run import run
from foretell.tasks.pointnav import PointNav
from foretell.world_file import make_world

AGENTS = ("bug", "lidar-planner", "depth-planner")
TRIALS = 9
"""3 agents x 15 legs x 9 trials are 405 episodes, as many as the paper's 9 x 15 x 3."""
SEEING = {"zoo:nav-guess": "rendered camera", "zoo:nav-depth": "depth by rays"}
WORLD = {
    "name": "bench",
    "kind": "planar",
    "theta": {"noise_multiplier": 0.5, "actuation": "locobot_ilqr", "spread": "std", "sliding": True},
}
SLOTS, ROOM, LEG = 64, "lab_hard", 13


def study(workers: int, agents: Sequence[str] = AGENTS, trials: int = TRIALS) -> dict[str, float]:
    """Wall and CPU seconds of episodes, everything included: planning, processes, rows on disk."""
    entry = {
        "name": "bench",
        "world": "planar_standin",
        "tasks": ["pointnav"],
        "policies": {name: name for name in agents},
        "scenarios": {"layouts": "all"},
        "trials": trials,
    }
    with tempfile.TemporaryDirectory() as folder:
        before, began = os.times(), time.perf_counter()
        run(entry, out=Path(folder) / "run", workers=workers)
        wall, after = time.perf_counter() - began, os.times()
        actions = sum(read(Path(folder) / "run")["steps"].to_pylist())
    own, children = (sum(after[i : i + 2]) - sum(before[i : i + 2]) for i in (0, 2))
    return {"episodes": len(agents) * 15 * trials, "actions": actions, "wall_s": wall, "cpu_s": own + children}


def camera(workers: int) -> None:
    """The agent that reads a camera of 64 x 64 pixels, and its twin that reads depth by rays, one after the other."""
    for agent, reads in SEEING.items():
        figures = study(workers, (agent,), trials=3)
        each = 1e3 * figures["cpu_s"] / figures["actions"]
        print(
            f"{agent} ({reads}): {figures['episodes']:.0f} episodes of {figures['actions']:,.0f} actions in all, "
            f"{figures['wall_s']:.1f} s, {figures['cpu_s']:.1f} CPU s, {each:.2f} CPU ms per action"
        )


def actions(steps: int) -> np.ndarray:
    """(steps, SLOTS) choices: mostly ahead, never stop."""
    return np.random.default_rng(0).choice([1, 1, 1, 2, 3], (steps, SLOTS))


def batched(scenario: Scenario, steps: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Steps per CPU second of foretell's world, the last poses (SLOTS, 3) and the last look (SLOTS, rays)."""
    world = make_world(WORLD, PointNav(), slots=SLOTS, threads=1)
    every, ticks = np.arange(SLOTS, dtype=np.int32), np.full(SLOTS, 50)
    world.reset(every, [scenario] * SLOTS, list(range(SLOTS)))
    choices, look = np.eye(4)[actions(steps)], {"locobot/lidar": Stream((LoCoBot.BEAMS,))}
    began = time.process_time()
    for step in range(steps):
        world.command(every, choices[step], ticks)
        world.advance(every, ticks)
        seen = world.observe(every, look)
    spent = time.process_time() - began
    poses = np.array([world.snapshot(slot)[:3] for slot in range(SLOTS)])
    return steps * SLOTS / spent, poses, np.asarray(seen["locobot/lidar"])


def plain(scenario: Scenario, steps: int, robots: int) -> tuple[float, list[list[float]], list[list[float]]]:
    """The same of a plain loop, for the first so many robots."""
    walls = [tuple(map(float, wall)) for wall in Room.named(ROOM).segments]
    noise = ACTUATION["locobot_ilqr"]
    told, poses, looks = actions(steps), [], []
    began = time.process_time()
    for robot in range(robots):
        draws = StepDraws(1, "actuation", 3)
        draws.start(0, scenario.base, robot)
        x, y, yaw = scenario.start["locobot"]
        for step in range(steps):
            uniform = draws.at(np.array([0]), np.array([step]))[0].tolist()
            ahead, turn = told_motion(int(told[step, robot]))
            table = noise[0] if ahead else noise[1]
            along, across, turned = (
                0.5 * cut_normal(u, mean, std, -0.95 * abs(commanded) if commanded else -math.inf)
                for u, mean, std, commanded in zip(uniform, table.mean, table.spread, (ahead, 0.0, turn), strict=True)
            )
            forward, left = ahead + along, -across
            dx = math.cos(yaw) * forward - math.sin(yaw) * left
            dy = math.sin(yaw) * forward + math.cos(yaw) * left
            x, y = slide(x, y, dx, dy, walls)
            yaw += turn + (turned if turn >= 0 else -turned)
            look = [ray(x, y, yaw + 2 * math.pi * i / LoCoBot.BEAMS, walls) for i in range(LoCoBot.BEAMS)]
        poses.append([x, y, yaw])
        looks.append(look)
    return robots * steps / (time.process_time() - began), poses, looks


def told_motion(choice: int) -> tuple[float, float]:
    """m ahead and rad counter-clockwise of a choice."""
    return {1: (0.25, 0.0), 2: (0.0, math.radians(30)), 3: (0.0, -math.radians(30))}[choice]


def cut_normal(uniform: float, mean: float, std: float, least: float) -> float:
    """A normal draw within 3 standard deviations and not below `least`."""
    law = statistics.NormalDist()
    low = min(max((least - mean) / std, -3.0), 3.0)
    bottom, top = law.cdf(low), law.cdf(3.0)
    return mean + std * min(max(law.inv_cdf(bottom + uniform * (top - bottom)), low), 3.0)


def slide(x: float, y: float, dx: float, dy: float, walls: list[tuple[float, ...]]) -> tuple[float, float]:
    """Where a disc ends that wants to move by dx, dy and slides along what it meets."""
    before = (0.0, 0.0)
    for _ in range(4):
        share, nx, ny = 1.0, 0.0, 0.0
        for wall in walls:
            when, mx, my = touch(x, y, dx, dy, wall)
            if when < share:
                share, nx, ny = when, mx, my
        x, y = x + share * dx, y + share * dy
        if share >= 1.0:
            break
        dx, dy = (1 - share) * dx, (1 - share) * dy
        into = min(dx * nx + dy * ny, 0.0)
        dx, dy = dx - into * nx, dy - into * ny
        if dx * before[0] + dy * before[1] < -1e-9:
            break
        before = nx, ny
    return x, y


def touch(x: float, y: float, dx: float, dy: float, wall: tuple[float, ...]) -> tuple[float, float, float]:
    """Share of a motion before a disc touches a wall, and the direction away from the wall there."""
    ax, ay, bx, by = wall
    length = math.hypot(bx - ax, by - ay)
    ex, ey = (bx - ax) / length, (by - ay) / length
    off, rate = ex * (y - ay) - ey * (x - ax), ex * dy - ey * dx
    side = -1.0 if off < 0 else 1.0
    best = (math.inf, 0.0, 0.0)
    if side * rate < -1e-9:
        when = max((abs(off) - LoCoBot.RADIUS) / abs(rate), 0.0)
        if 0 <= ex * (x + when * dx - ax) + ey * (y + when * dy - ay) <= length:
            best = when, -ey * side, ex * side
    for cx, cy in ((ax, ay), (bx, by)):
        mx, my = x - cx, y - cy
        toward, speed = mx * dx + my * dy, dx * dx + dy * dy
        inside = toward * toward - speed * (mx * mx + my * my - LoCoBot.RADIUS**2)
        if toward < -1e-9 * LoCoBot.RADIUS and inside > 0:
            when = max((-toward - math.sqrt(inside)) / speed, 0.0)
            if when < best[0]:
                px, py = mx + when * dx, my + when * dy
                gap = math.hypot(px, py)
                best = when, px / gap, py / gap
    return best


def ray(x: float, y: float, angle: float, walls: list[tuple[float, ...]]) -> float:
    """m to the first wall."""
    dx, dy, best = math.cos(angle), math.sin(angle), LoCoBot.FURTHEST
    for ax, ay, bx, by in walls:
        ex, ey = bx - ax, by - ay
        below = dx * ey - dy * ex
        if below == 0.0:
            continue
        far = ((ax - x) * ey - (ay - y) * ex) / below
        where = ((ax - x) * dy - (ay - y) * dx) / below
        if 0 <= where <= 1 and 0 < far < best:
            best = far
    return best


IRSIM = """
import json, sys, time
import irsim

steps = int(sys.argv[2])
env = irsim.make(sys.argv[1], disable_all_plot=True, log_level="ERROR")
import numpy as np
for _ in range(20):
    env.step(np.array([[0.25], [0.1]]))
began = time.process_time()
for step in range(steps):
    env.step(np.array([[0.25], [0.1 if step % 7 else -0.6]]))
    env.get_lidar_scan()
print(json.dumps({"rate": steps / (time.process_time() - began), "version": irsim.__version__}))
"""


def irsim(python: str, steps: int) -> dict[str, Any]:
    """Steps per CPU second of ir-sim: one robot of our radius among the same boxes, 72 rays, steps of 1 s."""
    room = Room.named(ROOM)
    boxes = [{"shape": {"name": "polygon", "vertices": box.tolist()}} for box in room.obstacles]
    boxes.append({"shape": {"name": "linestring", "vertices": [*room.outline.tolist(), room.outline[0].tolist()]}})
    lidar = {"name": "lidar2d", "range_max": 10, "angle_range": 6.28, "number": LoCoBot.BEAMS, "noise": False}
    robot = {
        "kinematics": {"name": "diff"},
        "shape": {"name": "circle", "radius": LoCoBot.RADIUS},
        "state": [0.9, 0.9, 1.57],
        "goal": [5.1, 5.7, 0],
        "vel_max": [1, 1],
        "sensors": [lidar],
    }
    world = {"height": 7, "width": 11, "step_time": 1.0, "sample_time": 1.0, "collision_mode": "unobstructed"}
    with tempfile.TemporaryDirectory() as folder:
        import yaml

        path, script = Path(folder) / "world.yaml", Path(folder) / "side.py"
        path.write_text(yaml.safe_dump({"world": world, "robot": [robot], "obstacle": boxes}))
        script.write_text(IRSIM)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"MPLBACKEND": "Agg"}
        command = [python, str(script), str(path), str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=600)
    if done.returncode:
        raise SystemExit(f"ir-sim failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def steps(rounds: int, python: str | None) -> None:
    """Turn by turn, because others use the machine too; medians."""
    scenario = PointNav().layouts()[LEG]
    rates: dict[str, list[float]] = {"foretell": [], "plain loop": [], "ir-sim": []}
    robots, many = 4, 60
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds} ...", file=sys.stderr)
        rate, poses, seen = batched(scenario, many)
        rates["foretell"].append(rate)
        rate, other, looks = plain(scenario, many, robots)
        rates["plain loop"].append(rate)
        apart = np.abs(poses[:robots] - np.array(other)).max(), np.abs(seen[:robots] - np.array(looks)).max()
        if python is not None:
            rates["ir-sim"].append(irsim(python, 300)["rate"])
    print(f"after {many} steps poses differ by {apart[0]:.1e} and rays by {apart[1]:.1e} m")
    for name, each in rates.items():
        if each:
            print(f"{name:12} {statistics.median(each):10,.0f} steps per CPU second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["study", "camera", "steps"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--irsim", help="the Python of an environment with ir-sim")
    options = parser.parse_args()
    if options.what == "study":
        figures = study(options.workers)
        print(f"{figures['episodes']:.0f} episodes: {figures['wall_s']:.1f} s, {figures['cpu_s']:.1f} CPU s")
    elif options.what == "camera":
        camera(options.workers)
    else:
        steps(options.rounds, options.irsim)


if __name__ == "__main__":
    main()
