"""Coriolis and centrifugal forces of a robot's links, and how a world compensates them.

A controller that compensates them at every tick would need Python at every tick. Instead the scene runs ahead once per
action, without gravity and contacts, under the targets of the coming ticks. The velocity-dependent forces on its way
are handed to the engine in one piece, beside the targets. In free motion this is what a compensation at every tick
gives. Where the robot touches something, it is the compensation of the motion that was planned.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco.batch import Batch

from foretell.arrays import Floats, Ints

__all__ = ["Coriolis"]


class Coriolis:
    """For each slot of a layout, forces of the coming ticks. Rows are those of the layout."""

    def __init__(self, model: mujoco.MjModel, *, slots: int, threads: int, share: float, dofs: Ints):
        self.share, self.dofs = share, dofs
        self._models = [_bare(model)] * slots
        self._batch = Batch(self._models[0], nsim=slots, nthread=threads)
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._forces = np.zeros((slots, 0, len(dofs)))
        self._elapsed = np.zeros(slots, dtype=np.int64)

    def load(self, slots: Ints, models: Sequence[mujoco.MjModel]) -> None:
        """New episodes with these models begin; there are no forces until an action is commanded."""
        for slot, model in zip(slots.tolist(), models, strict=True):
            self._models[slot] = _bare(model)
        self._batch.set_models(self._models)
        self._forces[slots] = 0.0

    def plan(self, slots: Ints, qpos: Floats, qvel: Floats, targets: Floats) -> None:
        """Run ahead from positions (n, nq) and velocities (n, nv) under actuator targets (n, ticks, nu)."""
        ticks = targets.shape[1]
        self._batch.reset(slots, stage=mujoco.mjtStage.mjSTAGE_NONE)  # nothing of the last plan stays
        self._qpos[slots], self._qvel[slots] = qpos, qvel
        # recorded after each tick, and of the state before it
        bias = self._batch.rollout(ticks, targets, record=("qfrc_bias",), ids=slots)["qfrc_bias"]
        if (more := ticks - self._forces.shape[1]) > 0:
            room = np.zeros((len(self._forces), more, len(self.dofs)))
            self._forces = np.concatenate([self._forces, room], axis=1)
        self._forces[slots] = 0.0
        self._forces[slots, :ticks] = self.share * bias[:, :, self.dofs]
        self._elapsed[slots] = 0

    def coming(self, slots: Ints, ticks: int, nv: int) -> Floats:
        """(n, ticks, nv) forces of the coming ticks; moves the plans on. After the end of a plan they are 0."""
        at = self._elapsed[slots][:, None] + np.arange(ticks)
        self._elapsed[slots] += ticks
        forces, known = np.zeros((len(slots), ticks, nv)), self._forces.shape[1]
        if known:
            planned = self._forces[slots[:, None], np.minimum(at, known - 1)]
            forces[:, :, self.dofs] = np.where((at < known)[:, :, None], planned, 0.0)
        return forces


def _bare(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy in which velocities alone give rise to forces on links, and nothing touches or sleeps."""
    bare = copy.copy(model)
    bare.opt.gravity[:] = 0.0
    bare.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    bare.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    return bare
