"""What becomes of a commanded motion in a world: noise, and what its physics adds. Every draw has its own key."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from foretell.arrays import Floats, Ints
from foretell.planar.actuation import disturb
from foretell.planar.draws import StepDraws
from foretell.planar.params import PlanarPhysics, PlanarTheta
from foretell.robots.base import BaseMotion

__all__ = ["Actuators"]

KEPT = 0.9
"""Share of the pull to one side that is left after a step or a turn."""


class Actuators:
    """Disturbs the motions of all slots."""

    def __init__(self, slots: int, theta: PlanarTheta, physics: PlanarPhysics):
        self._theta, self._physics = theta, physics
        self._noise = StepDraws(slots, "actuation", 3)
        self._extra = StepDraws(slots, "wheels", 3)
        self._pull = np.zeros(slots)

    def start(self, slot: int, base: str, trial: int) -> None:
        self._noise.start(slot, base, trial)
        self._extra.start(slot, base, trial)
        self._pull[slot] = np.nan  # not drawn yet

    def disturbed(self, slots: Ints, motion: BaseMotion, steps: Ints) -> tuple[Floats, Floats]:
        """(n, 2) m ahead and to the left, and (n,) rad counter-clockwise, that the bases go in their actions (n,)."""
        theta, physics = self._theta, self._physics
        noise = np.zeros((len(slots), 3))
        if theta.noise_multiplier > 0:
            uniform = self._noise.at(slots, steps)
            noise = disturb(
                uniform,
                motion,
                actuation=theta.actuation,
                multiplier=theta.noise_multiplier,
                spread=theta.spread,
            )
        ahead, left, turn = motion.ahead + noise[:, 0], noise[:, 1], motion.turn + noise[:, 2]
        if physics.wander > 0 or physics.slip > 0:
            uniform = self._extra.at(slots, steps)
            ahead, left, turn = self._wheels(slots, motion, uniform, ahead, left, turn)
        return np.stack([ahead, left], axis=1), turn

    def _wheels(
        self, slots: Ints, motion: BaseMotion, uniform: Floats, ahead: Floats, left: Floats, turn: Floats
    ) -> tuple[Floats, Floats, Floats]:
        physics, pull = self._physics, self._pull[slots]
        fresh = ndtri(uniform[:, 0])
        kept = KEPT ** np.maximum(motion.steps, motion.turns)
        pull = np.where(np.isnan(pull), fresh, kept * pull + np.sqrt(1 - kept**2) * fresh)
        self._pull[slots] = pull
        slips = uniform[:, 1] < physics.slip
        grip = np.where(slips, 1.0 - physics.slip_loss * uniform[:, 2], 1.0)
        return grip * ahead, left, grip * turn + physics.wander * pull * motion.steps
