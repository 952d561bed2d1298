"""Replays recorded actions under many θ side by side: every recording under every θ has a slot of one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.identify.recording import Recording
from foretell.robots.controller import Controller, controllers
from foretell.rotation import from_matrix
from foretell.scenario import Scenario
from foretell.sim.layout import Layout
from foretell.sim.params import MujocoFile
from foretell.sim.scene import Scene
from foretell.tasks.tabletop import TabletopTask
from foretell.world import slot_array, whole_ticks

__all__ = ["Motion", "Motions"]

ROBOT = "robot"


@dataclass(frozen=True)
class Motion:
    """What the robot did under one θ in one recording's place, before the first action and after each."""

    q: Floats
    """(T + 1, joints) of all groups, in the robot's order."""
    pos: Floats
    """(T + 1, 3) of the tool in the base frame, m."""
    quat: Floats
    """(T + 1, 4)."""
    failed: bool
    """Physics diverged."""


class Motions:
    """Slots for some recordings times some θ. All θ share the robot, its controllers and the ticks."""

    def __init__(self, recordings: Sequence[Recording], task: TabletopTask, *, most_delay: float, threads: int = 1):
        self.recordings, self.task, self.threads = list(recordings), task, threads
        self.most_delay = most_delay
        self.count = 0
        """Replays of the whole set so far."""

    def run(self, worlds: Sequence[MujocoFile]) -> list[list[Motion]]:
        """Under each world, the motion of each recording."""
        self.count += len(worlds)
        scenes = [Scene(self.task, world) for world in worlds]
        scenario = Scenario(task=self.task.name, seed=0, placements={}, start={}, instruction="")
        models = [scene.compile(scenario, 0) for scene in scenes]
        each = len(self.recordings)
        slots = slot_array(range(each * len(worlds)))
        scene = scenes[0]
        layout = Layout(models[0], slots=len(slots), threads=self.threads, scene=scene)
        drives, _ = controllers(
            self.task.controller, scene.robots, len(slots), scene.steps.tick, round(self.most_delay / scene.steps.tick)
        )
        layout.load(slots, [model for model in models for _ in range(each)])
        ends = [np.concatenate([getattr(has, end) for has in scene.startable.values()]) for end in ("low", "high")]
        start = np.clip(np.stack([recording.q[0] for recording in self.recordings]), *ends)
        joints = [joint for has in scene.startable.values() for joint in has.joints]
        layout.start(slots, joints, np.tile(start, (len(worlds), 1)))
        layout.settle(slots)
        delay = np.repeat([round(world.theta.actuation_delay / scene.steps.tick) for world in worlds], each)
        for key, controller in drives.items():
            controller.reset(slots, layout.hold[slots[:, None], layout.motors[key]], delay)
            controller.set_lead(slots, np.repeat([s.robots[ROBOT].lead(key[1]) for s in scenes], each, axis=0))
        layout.begin(slots)
        return self._act(layout, drives, len(worlds), joints)

    def _act(
        self, layout: Layout, drives: dict[tuple[str, str], Controller], worlds: int, joints: list[str]
    ) -> list[list[Motion]]:
        each, scene = len(self.recordings), layout.scene
        lengths = np.array([len(recording.actions) for recording in self.recordings])
        most = int(lengths.max())
        actions = np.zeros((each, most, self.recordings[0].actions.shape[1]))
        for row, recording in enumerate(self.recordings):
            actions[row, : lengths[row]] = recording.actions
        robot = scene.robots[ROBOT]
        site = layout.sites[f"{ROBOT}/{robot.frame or robot.groups[robot.first()].tool}"]
        address = np.array([layout.address[joint] for joint in joints])
        period = int(whole_ticks(1, 1.0 / scene.steps.tick, self.task.action_rate))
        q = np.full((worlds * each, most + 1, len(joints)), np.nan)
        pos, matrix = np.full((worlds * each, most + 1, 3), np.nan), np.full((worlds * each, most + 1, 9), np.nan)
        q[:, 0], pos[:, 0], matrix[:, 0] = layout.qpos[:, address], layout.site_xpos[:, site], layout.site_xmat[:, site]
        failed: Bools = np.zeros(worlds * each, dtype=bool)
        for step in range(most):
            slots = slot_array(np.flatnonzero(np.tile(step < lengths, worlds) & ~failed))
            at = 0
            targets = np.repeat(layout.hold[slots][:, None], period, axis=1)
            for key, controller in drives.items():
                asked = actions[slots % each, step, at : at + controller.size]
                controller.command(slots, asked, *layout.measured(slots, key), np.full(len(slots), period))
                at += controller.size
            layout.plan(slots, drives, np.full(len(slots), period))
            for key, controller in drives.items():
                targets[:, :, layout.motors[key]] = controller.targets(slots, period)
            failed[list(layout.advance(slots, targets))] = True
            q[slots, step + 1] = layout.qpos[slots[:, None], address]
            pos[slots, step + 1], matrix[slots, step + 1] = layout.site_xpos[slots, site], layout.site_xmat[slots, site]
        quat = from_matrix(matrix.reshape(-1, 3, 3)).reshape(*matrix.shape[:2], 4)
        return [
            [
                Motion(q[i, : n + 1], pos[i, : n + 1], quat[i, : n + 1], bool(failed[i]))
                for i, n in zip(range(world * each, (world + 1) * each), lengths.tolist(), strict=True)
            ]
            for world in range(worlds)
        ]
