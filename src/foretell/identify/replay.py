"""Replay recorded actions in a native world, in free space, through the robot's own controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Bools, Floats
from foretell.identify.recording import Recording
from foretell.identify.rows import jump, late
from foretell.robots import Robot
from foretell.robots.controller import counted
from foretell.rotation import conjugate, from_matrix, multiply, to_axis_angle
from foretell.scenario import Placement, Scenario
from foretell.sim.world import MujocoWorld
from foretell.tasks.state import State
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Mount
from foretell.world import slot_array, whole_ticks
from foretell.world_file import WorldFile

__all__ = ["Likeness", "free_space", "replay"]

ROBOT = "robot"


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """How closely a world's robot followed one recorded sequence."""

    sequence: str
    actions: int
    joint_rms: float | None
    """Over the joints that actions move, after each action; rad, of slides m. None where only the tool was recorded."""
    joint_max: float | None
    ee_mm_max: float | None
    """Largest distance of the tool after an action, mm; None where no poses were recorded."""
    ee_deg_max: float | None
    """Largest angle between the tools after an action, degrees."""
    step_rms: float | None
    """As `joint_rms`, after every physics step; None where these were not recorded, or at another rate."""
    ik_failures: int
    """Actions whose inverse kinematics failed in the world."""
    ik_failures_recorded: int | None
    ik_agree: bool | None
    """Whether the number of failures is the recorded one."""
    jump_action: int | None = None
    """The action in which the recording leaves the world's motion at once, if there is such a one."""
    jump: float | None = None
    """By how much, as `joint_max`, or m of the tool where only that was recorded."""
    late: int = 0
    """By how many actions the recording follows the replay: 1 where it is late, -1 where it is early."""


class FreeSpace(TabletopTask):
    """A robot alone."""

    name = "free-space"
    start_noise = 0.0

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        return {}

    def build(self, spec: mujoco.MjSpec) -> None:
        pass

    def reached(self, state: State) -> dict[str, Bools]:
        return {}

    def solved(self, state: State) -> Bools:
        return np.zeros(len(state.subtask), dtype=bool)


def free_space(robot: str, kind: type[Robot], controller: str | None = None) -> FreeSpace:
    """A task with the robot alone, under its own controllers at its own rate unless told otherwise."""
    task = FreeSpace()
    task.robots = {ROBOT: Mount(robot, (0.0, 0.0, 0.0), stand=False)}
    task.controller, task.action_rate = controller or kind.controller, kind.action_rate
    return task


def replay(
    recordings: Sequence[Recording],
    task: FreeSpace,
    world: str | Path | Mapping[str, Any] | WorldFile = "mujoco",
    *,
    threads: int = 1,
) -> list[Likeness]:
    """Run all sequences side by side, each from its own start."""
    place = MujocoWorld(task, world, slots=len(recordings), threads=threads)
    every = slot_array(range(len(recordings)))
    place.reset(every, [_start(place, recording) for recording in recordings], [0] * len(recordings))
    robot = place.scene.robots[ROBOT]
    joints = [f"{ROBOT}/{joint}" for group in robot.groups.values() for joint in group.joints]
    layout = place._layout(0)
    address = np.array([layout.address[joint] for joint in joints])
    period = int(whole_ticks(1, 1.0 / place.tick, task.action_rate))
    went: list[list[Floats]] = [[layout.qpos[slot, address].copy()] for slot in every.tolist()]
    for step in range(max(len(recording.actions) for recording in recordings)):
        slots = slot_array(i for i, recording in enumerate(recordings) if step < len(recording.actions))
        actions = np.stack([recordings[slot].actions[step] for slot in slots.tolist()])
        place.command(slots, actions, np.full(len(slots), period))
        for _ in range(period):
            place.advance(slots, np.ones(len(slots), dtype=np.int64))
            for slot in slots.tolist():
                went[slot].append(layout.qpos[slot, address].copy())
    counts = [counted(place.controllers.values(), every[i : i + 1]) for i in range(len(recordings))]
    failures = [int(count.get("ik_failures", 0)) for count in counts]
    moved = _moved(place, robot)
    likenesses = []
    for recording, paths, failed in zip(recordings, went, failures, strict=True):
        fine = np.array(paths)
        likenesses.append(_likeness(place, recording, fine, fine[::period], failed, moved, address))
    place.close()
    return likenesses


def _start(place: MujocoWorld, recording: Recording) -> Scenario:
    """The scenario that starts where a recording does."""
    start, at = {}, 0
    for name, startable in place.scene.startable.items():
        width = len(startable.joints)
        # a sensor may read a little beyond the stops
        first = np.clip(recording.q[0, at : at + width], startable.low, startable.high)
        start[name] = tuple(first.tolist())
        at += width
    return Scenario(task=place.task.name, seed=0, placements={}, start=start, instruction="")


def _moved(place: MujocoWorld, robot: Robot) -> Bools:
    """(joints,) whether actions move a joint."""
    groups = {group for _, group in place.controllers}
    return np.array([name in groups for name, group in robot.groups.items() for _ in group.joints])


def _likeness(
    place: MujocoWorld,
    recording: Recording,
    fine: Floats,
    q: Floats,
    failures: int,
    moved: Bools,
    address: np.ndarray,
) -> Likeness:
    was, went = recording.q[:, moved], q[:, moved]
    millimetres = degrees = rms = most = None
    if recording.ee is not None:
        pos, angle = _tool(place, q, recording.ee, address)
        millimetres = 1e3 * float(np.linalg.norm(pos - recording.ee[:, :3], axis=1).max())
        degrees = float(np.degrees(angle.max()))
        if not recording.has_joints:
            was, went = recording.ee[:, :3], pos
    apart = went - was
    if recording.has_joints:
        rms, most = _rms(apart), float(np.abs(apart).max())
    step = None
    if recording.fine is not None and len(recording.fine) == len(fine):
        step = _rms((fine - recording.fine)[:, moved])
    action = jump(apart)
    recorded = None if recording.ik_failed is None else int(recording.ik_failed.sum())
    return Likeness(
        sequence=recording.name,
        actions=len(recording.actions),
        joint_rms=rms,
        joint_max=most,
        ee_mm_max=millimetres,
        ee_deg_max=degrees,
        step_rms=step,
        ik_failures=failures,
        ik_failures_recorded=recorded,
        ik_agree=None if recorded is None else recorded == failures,
        jump_action=action,
        jump=None if action is None else float(np.abs(apart[action + 1] - apart[action]).max()),
        late=late(was, went),
    )


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values * values)))


def _tool(place: MujocoWorld, q: Floats, poses: Floats, address: np.ndarray) -> tuple[Floats, Floats]:
    """(T + 1, 3) positions of the tool at q, m, and (T + 1,) its angle to recorded poses (T + 1, 7), rad."""
    robot, layout = place.scene.robots[ROBOT], place._layout(0)
    tool = robot.frame or robot.groups[robot.first()].tool
    model, site = layout.models[0], layout.sites[f"{ROBOT}/{tool}"]
    data = mujoco.MjData(model)
    pos, quat = np.empty((len(q), 3)), np.empty((len(q), 4))
    for row, joints in enumerate(q):
        data.qpos[address] = joints
        mujoco.mj_kinematics(model, data)
        pos[row], quat[row] = data.site_xpos[site], from_matrix(data.site_xmat[site].reshape(3, 3))
    turn = to_axis_angle(multiply(quat, conjugate(poses[:, 3:])))
    return pos, np.linalg.norm(turn, axis=1)
