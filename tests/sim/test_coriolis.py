"""Coriolis forces are compensated along the motion that an action plans, and rows stay what they should be."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from reference import simpler

from foretell.errors import UsageError
from foretell.identify import identify
from foretell.identify.motion import Motions
from foretell.identify.recording import Recording
from foretell.identify.replay import free_space
from foretell.robots.google_robot import GoogleRobot
from foretell.robots.robot import Robot
from foretell.robots.widowx import WidowX
from foretell.sim.bench import Bench
from foretell.sim.params import load_world
from foretell.sim.world import MujocoWorld
from foretell.world import slot_array

ACTIONS = {"widowx": (0.10, 0.12, 0.08, 0.5, 0.4, -0.6, 1.0), "google_robot": (0.1, 0.1, 0.05, 0.3, 0.2, 0.3, 0.0)}
KINDS: dict[str, type[Robot]] = {"widowx": WidowX, "google_robot": GoogleRobot}
TICKS = 100


def world_file(share: float, **theta: Any) -> dict[str, Any]:
    return {"name": "compensated", "kind": "mujoco", "theta": theta, "physics": {"coriolis": share}}


def moving(robot: str, share: float, slots: int = 1, **theta: Any) -> MujocoWorld:
    """A robot alone that has just been told to move in every slot."""
    task = free_space(robot, KINDS[robot])
    world = MujocoWorld(task, world_file(share, **theta), slots=slots)
    every = slot_array(range(slots))
    world.reset(every, [task.scenario(0)] * slots, [0] * slots)
    action = np.tile(ACTIONS[robot], (slots, 1))
    world.command(every, action, np.full(slots, TICKS))
    return world


def run(world: MujocoWorld, *pieces: int) -> np.ndarray:
    """(slots, nq + nv) after pieces of so many ticks."""
    every = slot_array(range(world.slots))
    for ticks in pieces:
        world.advance(every, np.full(world.slots, ticks))
    layout = Bench.on(world).layout
    return np.concatenate([layout.qpos, layout.qvel], axis=1)


@pytest.mark.parametrize("robot", ["widowx", "google_robot"])
def test_forces_are_those_of_the_velocities_that_the_robot_has(robot: str) -> None:
    world = moving(robot, 1.0)
    layout, slot = Bench.on(world).layout, slot_array([0])
    model = layout.models[0]
    data, worst, largest = mujoco.MjData(model), 0.0, 0.0
    applied = layout.batch.bind("qfrc_applied")
    for _ in range(TICKS):
        data.qpos[:], data.qvel[:] = layout.qpos[0], layout.qvel[0]
        mujoco.mj_forward(model, data)
        true = data.qfrc_bias - data.qfrc_gravcomp  # gravity is compensated in full
        world.advance(slot, np.ones(1, dtype=int))
        worst = max(worst, float(np.abs(applied[0] - true).max()))
        largest = max(largest, float(np.abs(true).max()))
    assert largest > 1e-3  # N m: there is something to compensate
    assert worst < 0.01 * largest


def test_the_motion_differs_and_more_so_the_larger_the_share() -> None:
    none, half, whole = (run(moving("widowx", share), TICKS)[0] for share in (0.0, 0.5, 1.0))
    assert 1e-6 < np.abs(half - none).max() < np.abs(whole - none).max() < 0.05


def test_a_row_depends_neither_on_neighbours_nor_on_how_time_is_cut() -> None:
    alone = run(moving("widowx", 1.0), TICKS, 20)
    together = run(moving("widowx", 1.0, slots=3), 1, 30, TICKS - 31, 7, 13)
    assert all(np.array_equal(alone[0], row) for row in together)


def test_what_ran_before_leaves_nothing() -> None:
    world = moving("widowx", 1.0)
    first = run(world, 40)
    world.reset(slot_array([0]), [world.task.scenario(0)], [0])
    applied = Bench.on(world).layout.batch.bind("qfrc_applied")
    run(world, 1)
    assert not np.any(applied)
    world.reset(slot_array([0]), [world.task.scenario(0)], [0])
    world.command(slot_array([0]), np.array([ACTIONS["widowx"]]), np.array([TICKS]))
    assert np.array_equal(run(world, 40), first)


def test_worlds_without_it_keep_their_names() -> None:
    plain = {"name": "compensated", "kind": "mujoco"}
    assert load_world(world_file(0.0)).hash == load_world(plain).hash == load_world("mujoco").hash
    assert load_world(world_file(1.0)).hash != load_world(plain).hash
    assert "coriolis" not in load_world("mujoco").params["physics"]
    assert load_world(world_file(1.0)).params["physics"]["coriolis"] == 1.0


@pytest.mark.parametrize("share", [-0.5, 1.5])
def test_a_share_is_at_most_all_of_it(share: float) -> None:
    with pytest.raises(UsageError, match=r"physics\.coriolis"):
        load_world(world_file(share))


def test_a_fit_compensates_too() -> None:
    q = np.tile([*WidowX.groups["arm"].home, 0.037, 0.037], (4, 1))
    recording = Recording(name="a", actions=np.tile(ACTIONS["widowx"], (3, 1)), q=q)
    task = free_space("widowx", WidowX)
    motions = Motions([recording], task, most_delay=0.0)
    ((plain,),), ((compensated,),) = (motions.run([load_world(world_file(share))]) for share in (0.0, 1.0))
    assert 1e-6 < np.abs(plain.q - compensated.q).max() < 0.05


def test_the_original_compensates_them() -> None:
    """Where force limits do not matter, the arm comes closer to the original's with the compensation."""
    path = simpler("openloop_widowx.npz")
    free = {"robots": {"widowx": {"force": 100}}}
    millimetres = []
    for share in (0.0, 1.0):
        sequences = identify(path, "widowx", fit=False, world=world_file(share, **free)).sequences
        millimetres.append(max(s.ee_mm_max for s in sequences if s.ee_mm_max is not None))
    assert millimetres[1] < 0.75 * millimetres[0] < 0.04
