"""What `foretell identify` gains, on recordings that it was not fitted to.

    python benchmarks/identify.py hidden                      # a robot that θ cannot express
    python benchmarks/identify.py original FOLDER             # the original SIMPLER engine's recordings
    python benchmarks/identify.py standin -o fitted.yaml      # the stand-in's Google robot, and what worse gains cost
    python benchmarks/identify.py predict RUNS --fitted fitted.yaml     # does a better-identified world predict better?

`hidden`: 12 noisy recordings of a WidowX with other gains, a late actuator, a weight in its hand that nothing
compensates, cables that pull its joints back, and friction. Gains and delay are fitted; weight, cables and friction are
not among the parameters. `original`: FOLDER has openloop_widowx.npz and openloop_google_robot.npz; the fit starts from
gains that are twice and half as large as ours. `standin`: SIMPLER's loss of the world as it is, of the
paper's two worse sets of gains and of the fitted world. `predict`: the zoo's policies pick the can in the stand-in and
in these worlds, at every sixth published layout (`--every`), and each world's rates are compared with the stand-in's.
Runs are kept in the folder RUNS; the same command resumes them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from foretell.identify import Identified, identify
from foretell.identify.loss import losses
from foretell.identify.motion import Motions
from foretell.identify.read import read_recordings
from foretell.identify.recording import Recording
from foretell.identify.replay import free_space
from foretell.robots import Robot
from foretell.robots.google_robot import GoogleRobot
from foretell.robots.widowx import WidowX
from foretell.sim.params import load_world
from foretell.tasks.pick_coke_can import PickCokeCan

RECORDINGS, ACTIONS = 12, 20
NOISE_RAD, NOISE_M = 0.001, 0.0005
"""Standard deviations of recorded joints and of the recorded position of the tool."""
GAINS = ("mujoco", "simpler_worse_1", "simpler_worse_2")
"""Worlds whose gains nobody fitted to the stand-in."""
POLICIES = ("sight", "sight-gmm", "sight-vae", "sight-dp", "sight-rnn", "sight-few", "sight-part", "sight-blind")
HIDDEN = {
    "kp_shoulder": 0.6,
    "kp_elbow": 0.7,
    "kv_waist": 0.5,
    "kv_shoulder": 1.6,
    "kv_elbow": 1.7,
    "kv_wrist_angle": 0.6,
}


class Hidden(WidowX):
    """A WidowX that differs in what θ has no names for."""

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = super().spec(visuals)
        hand = spec.body("gripper_link")
        hand.add_geom(
            name="weight", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], pos=[0.08, 0.02, 0], mass=0.2,
            contype=0, conaffinity=0,
        )  # fmt: skip
        hand.gravcomp = 0.0
        for joint, pull in {"shoulder": 4.0, "elbow": 3.0, "wrist_rotate": 2.0}.items():
            spec.joint(joint).stiffness, spec.joint(joint).springref = [pull, 0.0, 0.0], 0.3
            spec.joint(joint).frictionloss = 0.5
        return spec


def record(path: Path, kind: type[Robot], name: str, world: Any, reach: float, noise: bool = True) -> Path:
    """A file of what a robot does in a world under random actions that are smooth in time."""
    rng, task = np.random.default_rng(11), free_space(name, kind)
    home = np.concatenate([group.home for group in kind.groups.values()])
    plans = []
    for number in range(RECORDINGS):
        wave = rng.standard_normal((ACTIONS + 4, 6))
        smooth = np.stack([np.convolve(column, np.ones(5) / 2.2, mode="valid") for column in wave.T], axis=1)
        actions = np.zeros((ACTIONS, 7))
        actions[:, :6] = np.clip(smooth, -1.5, 1.5) * ([reach] * 3 + [2 * reach] * 3)
        actions[:, 6] = 1.0 if kind is not GoogleRobot else 0.0
        plans.append(Recording(name=f"walk{number}", actions=actions, q=np.tile(home, (ACTIONS + 1, 1))))
    (motions,) = Motions(plans, task, most_delay=0.1).run([load_world(world)])
    fields: dict[str, Any] = {}
    arm = len(kind.groups["arm"].joints)
    for plan, motion in zip(plans, motions, strict=True):
        q, ee = motion.q.copy(), np.concatenate([motion.pos, motion.quat], axis=1)
        if noise:
            q[:, :arm] += NOISE_RAD * rng.standard_normal((len(q), arm))
            ee[:, :3] += NOISE_M * rng.standard_normal((len(q), 3))
        fields |= {f"{plan.name}/actions": plan.actions, f"{plan.name}/qpos": q, f"{plan.name}/ee_base": ee}
    np.savez(path, **fields)
    return path


def hidden(folder: Path, options: argparse.Namespace) -> None:
    theta = {"robots": {"widowx": HIDDEN}, "actuation_delay": 0.04}
    made = record(folder / "hidden.npz", Hidden, f"{__file__}:Hidden", {"name": "hidden", "theta": theta}, 0.012)
    show("hidden robot", identify_timed(made, "widowx", vary=("gains", "delay"), way=options.way))


def original(folder: Path, options: argparse.Namespace) -> None:
    for robot in options.robots:
        made = some_of(Path(options.folder) / f"openloop_{robot}.npz", folder, options.only)
        print(f"== {robot}, our gains, unfitted\n{identify(made, robot, fit=False).text()}", flush=True)
        fitted = identify_timed(made, robot, world=far_off(robot), way=options.way, evaluations=options.evaluations)
        show(f"{robot}, from gains far off", fitted)


def some_of(made: Path, folder: Path, only: Sequence[str]) -> Path:
    """A file with these sequences of another; without any, that file."""
    if not only:
        return made
    with np.load(made) as fields:
        np.savez(folder / made.name, **{name: fields[name] for name in fields if name.partition("/")[0] in only})
    return folder / made.name


def far_off(robot: str) -> dict[str, Any]:
    """Every second joint twice as stiff and half as damped, the others the other way round."""
    kind = {"widowx": WidowX, "google_robot": GoogleRobot}[robot]
    gains = {}
    for index, joint in enumerate(kind.groups["arm"].joints):
        gains[f"kp_{joint}"], gains[f"kv_{joint}"] = (2.0, 0.5) if index % 2 else (0.5, 2.0)
    return {"name": "far_off", "theta": {"robots": {robot: gains}}}


def standin(folder: Path, options: argparse.Namespace) -> None:
    made = record(folder / "standin.npz", GoogleRobot, "google_robot", "standin", 0.02)
    fitted = identify_timed(made, "google_robot", vary=("gains", "delay"), way=options.way, out=options.out)
    show("the stand-in's Google robot", fitted)
    show_losses(made, GAINS if fitted.fitted is None else (*GAINS, fitted.fitted.world))


def show_losses(made: Path, worlds: Sequence[Any]) -> None:
    """SIMPLER's loss of worlds on recordings of the Google robot."""
    recordings = read_recordings(made, GoogleRobot, 7, GoogleRobot.controller)
    moved = np.arange(recordings[0].q.shape[1]) < len(GoogleRobot.groups["arm"].joints)
    files = [load_world(world) for world in worlds]
    motions = Motions(recordings, free_space("google_robot", GoogleRobot), most_delay=0.1).run(files)
    for file, each in zip(files, motions, strict=True):
        values = [losses(recording, motion, moved)["sysid"] for recording, motion in zip(recordings, each, strict=True)]
        print(f"{file.name:20} control loss {np.mean(values):.4f}", flush=True)


def predict(folder: Path, options: argparse.Namespace) -> None:
    import foretell

    runs, count = Path(options.folder), len(list(PickCokeCan().layouts()))
    layouts = list(range(0, count, options.every))
    policies = {name: f"zoo:{name}" for name in POLICIES}
    worlds = {"standin": "standin", **dict(zip(GAINS, GAINS, strict=True))}
    if options.fitted is not None:
        worlds["fitted"] = str(options.fitted)
    for name, world in worlds.items():
        study = {
            "name": name,
            "world": world,
            "tasks": [PickCokeCan.name],
            "policies": policies,
            "scenarios": {"layouts": layouts},
            "record": {"video": "none"},
        }
        spent = os.times()
        foretell.run(study, out=runs / name)
        print(f"{name}: {sum(os.times()[:4]) - sum(spent[:4]):.0f} s of CPU", flush=True)
    made = record(folder / "standin.npz", GoogleRobot, "google_robot", "standin", 0.02)
    show_losses(made, list(worlds.values())[1:])
    for name in list(worlds)[1:]:
        answer = foretell.predictivity(real=runs / "standin", sim=runs / name, stand_in=True)
        print(f"== {name}\n{answer.text()}", flush=True)


def identify_timed(made: Path, robot: str, **options: Any) -> Identified:
    began, spent = time.perf_counter(), os.times()
    result = identify(made, robot, **{name: value for name, value in options.items() if value is not None})
    now = os.times()
    print(f"{time.perf_counter() - began:.0f} s, {sum(now[:4]) - sum(spent[:4]):.0f} s of CPU")
    return result


def show(title: str, result: Identified) -> None:
    print(f"== {title}")
    if result.fitted is not None:
        print(result.fitted.text(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["hidden", "original", "standin", "predict"])
    parser.add_argument("folder", nargs="?", default=".", help="with the original's recordings, or of the runs")
    parser.add_argument("--way", default="least-squares")
    parser.add_argument("-o", "--out", type=Path, help="the world file of `standin`")
    parser.add_argument("--robots", nargs="+", default=["widowx", "google_robot"], help="for `original`")
    parser.add_argument("--only", nargs="+", default=[], help="for `original`: sequences of the file (default: all)")
    parser.add_argument("--evaluations", type=int, default=400, help="for `original`: values of θ to try")
    parser.add_argument("--fitted", type=Path, help="for `predict`: the world file of `standin`")
    parser.add_argument("--every", type=int, default=6, help="for `predict`: 1 takes all 75 layouts")
    options = parser.parse_args()
    ways = {"hidden": hidden, "original": original, "standin": standin, "predict": predict}
    with tempfile.TemporaryDirectory() as folder:
        ways[options.what](Path(folder), options)


if __name__ == "__main__":
    main()
