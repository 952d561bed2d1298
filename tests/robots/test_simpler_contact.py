"""Fingers against objects: the original engine's scripted grasps, replayed with plain boxes and cylinders."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from reference import simpler

from foretell.identify.replay import ROBOT, FreeSpace
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.tasks.task import Mount

SLOT = np.zeros(1, dtype=np.int32)
HALF_TURN = np.diag([-1.0, -1.0, 1.0])
"""The original's base is turned half around; scenes here are in the frame of the base."""
SURFACE = {"friction": [0.5, 0.005, 0.0001], "condim": 4, "solref": [0.005, 1]}


class Grasp(FreeSpace):
    """Objects on a table before a robot, where a recording begins."""

    def __init__(self, robot: str, table: float, poses: np.ndarray, shape: dict[str, Any]):
        kind = resolve("robots", robot)
        self.robots = {ROBOT: Mount(robot, (0.0, 0.0, 0.0), stand=False)}
        self.controller, self.action_rate = kind.controller, kind.action_rate
        self.top, self.poses, self.shape = table, poses, shape

    def build(self, spec: mujoco.MjSpec) -> None:
        table = {"friction": [0.75, 0.005, 0.0001], "solref": [0.005, 1]}
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.4, 0.8, 0.05], pos=[0.6, 0, self.top - 0.05], **table
        )
        for number, pose in enumerate(self.poses):
            body = spec.worldbody.add_body(name=f"object{number}", pos=pose[:3], quat=pose[3:])
            body.add_freejoint(name=f"object{number}/free")
            body.add_geom(**self.shape, **SURFACE)


def run(robot: str, file: str, episode: str, base: tuple, table: float, shape: dict[str, Any]) -> tuple:
    """(T, objects, 3) positions here and in the original, and the last joints of the gripper in both."""
    data = np.load(simpler(file))
    actions, q, poses = (data[f"{episode}/{field}"] for field in ("actions", "qpos", "body_pose"))
    there = (poses[:, :, :3] - np.array(base)) @ HALF_TURN
    starts = np.concatenate([there[0], poses[0, :, 3:]], axis=1)
    for start in starts:
        turned = np.zeros(4)
        mujoco.mju_mulQuat(turned, np.array([0.0, 0.0, 0.0, -1.0]), start[3:].copy())
        start[3:] = turned
    task = Grasp(robot, table - base[2], starts, shape)
    world = MujocoWorld(task, slots=1)
    groups = resolve("robots", robot).groups
    edges = np.cumsum([0, *(len(group.joints) for group in groups.values())])
    start = {
        ROBOT if name == "arm" else f"{ROBOT}/{name}": tuple(q[0, a:b].tolist())
        for name, a, b in zip(groups, edges[:-1], edges[1:], strict=True)
    }
    world.reset(SLOT, [Scenario(task=task.name, seed=0, placements={}, start=start, instruction="")], [0])
    layout, ticks = Bench.on(world).layout, np.array([round(1 / (task.action_rate * world.tick))])
    here, fingers = [], []
    for action in actions:
        world.command(SLOT, action[None], ticks)
        world.advance(SLOT, ticks)
        here.append([layout.qpos[0, at : at + 3].copy() for at in layout.free.values()])
        fingers.append(layout.qpos[0, layout.joints[ROBOT, "gripper"]].copy())
    assert not world.faults(SLOT)
    return np.array(here), there[1:], np.array(fingers), q[1:, edges[1] : edges[2]]


@pytest.mark.parametrize("episode", ["ep0", "ep6", "ep18"])
def test_a_cube_is_stacked_as_in_the_original(episode: str) -> None:
    """Only the actions are the original's. The cube ends within 3 mm, and so do the fingers that held it."""
    cube = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [0.015] * 3, "mass": 0.027}
    here, there, fingers, original = run(
        "widowx", "scripted_widowx.npz", f"widowx_stack_cube/{episode}", (0.147, 0.028, 0.870), 0.8695316, cube
    )
    assert there[-1, 0, 2] - there[0, 0, 2] == pytest.approx(0.03, abs=0.002)
    assert np.linalg.norm(here[-1] - there[-1], axis=1).max() < 0.003
    assert np.abs(fingers - original).max() < 0.002


def test_a_standing_can_is_lifted_as_in_the_original() -> None:
    """Fingers press it with hundreds of newtons, and stop at its side."""
    can = {
        "type": mujoco.mjtGeom.mjGEOM_CYLINDER, "size": [0.033, 0.0615, 0], "mass": 0.0205,
        "quat": [np.sqrt(0.5), np.sqrt(0.5), 0, 0],
    }  # fmt: skip
    here, there, fingers, original = run(
        "google_robot", "scripted_google.npz", "coke_upright/xy-0.1775_0.09", (0.35, 0.20, 0.07905), 0.8875322, can
    )
    gain, theirs = here[-1, 0, 2] - here[0, 0, 2], there[-1, 0, 2] - there[0, 0, 2]
    assert gain == pytest.approx(theirs, abs=0.01)
    assert fingers[-1] == pytest.approx(original[-1], abs=0.06)
