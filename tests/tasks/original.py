"""The original's own episodes of the Google Robot tasks, and their replay in our world."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from reference import simpler

from foretell.scenario import Scenario
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.tasks.fractal import TABLE
from foretell.world import slot_array

__all__ = ["Replayed", "original_resets", "project", "replayed", "to_task"]


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What recorded actions lead to in our world."""

    success_any: bool
    success_end: bool
    stages: dict[str, float]
    apart: dict[str, float]
    """Object -> how far it ends from where it ended in the original, m."""


def original_resets(file: str) -> dict[str, Any]:
    """Task -> its episodes as the original placed them."""
    tasks: dict[str, Any] = json.loads(simpler(file).read_text())
    return {name: task["episodes"] for name, task in tasks.items()}


def to_task(pos: Any) -> np.ndarray:
    """(..., 3) positions of SIMPLER's world in the task frame."""
    return np.asarray(pos, dtype=float) * [-1, -1, 1] - [0, 0, TABLE]


def project(camera: dict[str, Any], points: np.ndarray) -> np.ndarray:
    """(n, 2) pixels at which a camera of the original sees points (n, 3) of its world."""
    extrinsic, intrinsic = np.array(camera["extrinsic_cv"]), np.array(camera["intrinsic_cv"])
    seen = (points @ extrinsic[:3, :3].T + extrinsic[:3, 3]) @ intrinsic.T
    pixels: np.ndarray = seen[:, :2] / seen[:, 2:]
    return pixels


def replayed(task: Any, scenario: Scenario, actions: np.ndarray, ends: dict[str, np.ndarray]) -> Replayed:
    """Run actions (T, size) from a scenario; `ends`: object -> where it ended in the original's world."""
    world, slot = MujocoWorld(task, slots=1), slot_array([0])
    world.reset(slot, [scenario], [0])
    ticks = np.array([round(1 / task.action_rate / world.tick)])
    any_, now = False, False
    for action in actions:
        world.command(slot, action[None], ticks)
        world.advance(slot, ticks)
        now = bool(world.progress(slot)[0])
        any_ |= now
    state = Bench.on(world).state
    apart = {name: float(np.linalg.norm(state.pos(name)[0] - to_task(end))) for name, end in ends.items()}
    return Replayed(success_any=any_, success_end=now, stages=dict(world.verdict(slot)[0].stages), apart=apart)
