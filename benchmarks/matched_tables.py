"""The tables of docs/matching.md from the runs of `matched.py`, and the picture of real and simulated success."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matched_lab import TASK
from matched_policies import learned

import foretell
from foretell.policies.onnx import Onnx
from foretell.policy import PLANS
from foretell.registry import resolve
from foretell.robots.controller import controllers
from foretell.train.demos import Demos
from foretell.train.views import VIEWS

__all__ = ["print_tables"]

SIMS = ("none", "identified", "matched", "both", "true_camera", "aggregated")
"""`true_camera` is `both` with the camera as it truly is."""
ABLATED = {
    "both": "nothing",
    "no_camera": "the camera",
    "no_background": "the background",
    "no_objects": "light and looks of objects",
    "identified": "everything",
}
METRICS = ("mmrv", "pearson", "success_gap")


def rates(run: Path) -> dict[str, tuple[float, float]]:
    """Policy -> shares of episodes with a grasp and with success, under all arms but those of the camera."""
    taken: dict[str, list[tuple[float, float]]] = {}
    for row in foretell.read(run).to_pylist():
        if "Camera" not in row["arm"]:
            grasped = any(name == "grasp" for name, _ in row["stages"])
            taken.setdefault(row["policy"], []).append((float(grasped), float(row["success"])))
    return {name: tuple(np.mean(values, axis=0).tolist()) for name, values in taken.items()}


def action_error(folder: Path, name: str) -> float:
    """Mean squared error of a policy's next action on demonstrations of the laboratory that it did not learn from
    (SIMPLER's validation MSE). Actions are shares of 5 cm and 0.6 rad, and the gripper's command."""
    task, view = resolve("tasks", TASK)(), VIEWS[TASK]
    robots = {called: resolve("robots", mount.robot)() for called, mount in task.robots.items()}
    action = controllers(task.controller, robots, 1, 0.002)[1]
    policy = Onnx(folder / "policies" / f"{name}.onnx")
    policy.bind(task, action)
    demos, errors = Demos.load(folder / "demos.npz"), []
    others = np.arange(learned(demos.count), demos.count)
    first = np.searchsorted(demos.episode, others)
    last = np.searchsorted(demos.episode, others, "right") - 1
    policy.reset(np.arange(len(first)), [task.instruction] * len(first), range(len(first)))
    for step in range(int((last - first).max()) + 1):
        alive = np.flatnonzero(first + step <= last)
        now = first[alive] + step
        before = np.maximum(now - 1, first[alive])
        wanted = demos.actions[now]
        given = policy.act(alive, _observed(policy, demos, before, now, view)).actions[:, 0] / view.scale(action)
        errors.append(np.square(given - wanted).mean(1)[demos.calm[now]])
    return float(np.concatenate(errors).mean())


def _observed(policy: Onnx, demos: Demos, before: np.ndarray, now: np.ndarray, view: Any) -> dict[str, np.ndarray]:
    """What the driver would give it, with the history that it asks for."""
    streams, at = {}, 0
    for name, stream in view.own.items():
        part = slice(at, at := at + stream.shape[0])
        history = policy.spec.reads[name].history
        states = [demos.states[before, part], demos.states[now, part]]
        streams[name] = np.stack(states, axis=1) if history == 2 else states[1]
    for name, stream in policy.spec.reads.items():
        if name in PLANS:  # nothing is committed yet
            streams[name] = np.zeros((len(now), *stream.shape), dtype=np.float32)
    assert demos.pictures is not None
    return streams | dict.fromkeys(view.pictures, demos.pictures[now, 0])


def compared(runs: Callable[[str], Path], world: str) -> dict[str, Any]:
    arm = "aggregate" if world == "aggregated" else None
    done = foretell.predictivity(real=runs("real"), sim=runs(world), stand_in=True, arm=arm)
    made: dict[str, Any] = done.to_dict()
    return made


def named(folder: Path, world: str) -> Path:
    """The run of a world."""
    return folder.parent / f"{folder.name}_{world}"


def print_tables(folder: Path) -> None:
    """Table V's shape and Table I's. Writes all of it to answers.json too."""
    runs = partial(named, folder)
    real = rates(runs("real"))
    order = sorted(real, key=lambda name: (-real[name][1], -real[name][0]))
    worlds = [world for world in SIMS if runs(world).is_dir()]
    sims = {world: rates(runs(world)) for world in worlds}
    print("Grasps, success; per cent of layouts, in a stand-in and in worlds that foretell it:\n")
    _row("policy", "laboratory", *worlds)
    _row(*["---"] * (len(worlds) + 2))
    for name in order:
        _row(f"`{name}`", *(_two(cell[name]) for cell in (real, *sims.values())))
    print()
    _row("world", *METRICS, "regret", "its pick")
    _row(*["---"] * 6)
    answers = {world: compared(runs, world) for world in worlds}
    errors = {name: action_error(folder, name) for name in order}
    answers["action error"] = by_error({name: real[name][1] for name in order}, errors, layouts(runs("real")))
    for world, answer in answers.items():
        decision = answer["decision"]
        shown = METRICS if world != "action error" else METRICS[:2]  # its error is no success
        pick = ", ".join(decision["pick"]) if len(decision["pick"]) < 4 else f"{len(decision['pick'])} tie"
        _row(world, *(_ends(answer[m]) for m in shown), *["-"] * (3 - len(shown)), _ends(decision["regret"]), pick)
    print("\naction errors:", {name: round(error, 4) for name, error in errors.items()})
    if runs("no_camera").is_dir():
        print_parts(runs, real)
    paired = {world: paired_rates(runs, world) for world in worlds}
    kept = {"real": real, "sims": sims, "paired": paired, "answers": answers, "errors": errors}
    (folder / "answers.json").write_text(json.dumps(kept, indent=1))


def print_parts(runs: Callable[[str], Path], real: dict[str, tuple[float, float]]) -> None:
    """What each of the matched looks is worth: Table III's shape, and Table IX's."""
    print()
    _row("without", "mean success", "mmrv", "success_gap")
    _row(*["---"] * 4)
    some = rates(runs("no_camera"))
    _row("(the laboratory)", f"{np.mean([real[name][1] for name in some]):.0%}", "", "")
    for world, label in ABLATED.items():
        cell = rates(runs(world))
        rows = [{"policy": n, "real": real[n][1], "sim": cell[n][1], "n_real": 24, "n_sim": 24} for n in some]
        answer = foretell.predictivity(pa.Table.from_pylist(rows)).to_dict()
        mean = np.mean([cell[name][1] for name in some])
        _row(label, f"{mean:.0%}", _ends(answer["mmrv"]), _ends(answer["success_gap"]))


def _row(*entries: str) -> None:
    print(f"| {' | '.join(entries)} |")


def paired_rates(runs: Callable[[str], Path], world: str) -> dict[str, float]:
    """Success in the laboratory, in the scenarios that a world has too."""
    bases = set(foretell.read(runs(world))["base"].to_pylist())
    taken: dict[str, list[float]] = {}
    for row in foretell.read(runs("real")).to_pylist():
        if row["base"] in bases:
            taken.setdefault(row["policy"], []).append(float(row["success"]))
    return {name: float(np.mean(values)) for name, values in taken.items()}


def layouts(run: Path) -> int:
    """How many scenarios a run has."""
    return len(set(foretell.read(run)["base"].to_pylist()))


def by_error(real: dict[str, float], errors: dict[str, float], count: int) -> dict[str, Any]:
    """How well the negative action error ranks policies. `count`: real trials of each."""
    table = [{"policy": name, "real": real[name], "sim": -errors[name], "n_real": count} for name in real]
    made: dict[str, Any] = foretell.predictivity(pa.Table.from_pylist(table)).to_dict()
    return made


def _two(cell: tuple[float, float]) -> str:
    return f"{cell[0]:.0%}, {cell[1]:.0%}".replace("%", "")


def _ends(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return "-"
    ends = "" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})"
    return f"{row['value']:.2f}{ends}"
