"""How far a base misses what it is told: LoCoBot's measured actuation noise, as Habitat simulates it.

The tables are those of PyRobot's study of two bases with three controllers. A spread there is a number that Habitat
takes as a variance; read as a standard deviation it fits what others measured better, so that a world may choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from foretell.arrays import Floats
from foretell.robots.base import BaseMotion

__all__ = ["ACTUATION", "Actuation", "Deviation", "Spread", "disturb", "truncated"]

Actuation = Literal[
    "locobot_ilqr", "locobot_proportional", "locobot_movebase", "lite_ilqr", "lite_proportional", "lite_movebase"
]
"""Base and controller of a table."""
Spread = Literal["variance", "std"]
"""What the spreads of a table are."""
SIGMAS = 3.0
"""No draw is further from its mean, in standard deviations."""
LEAST = 0.95
"""The share of a command that noise takes away at most: a robot does not go backwards when told to go ahead."""


@dataclass(frozen=True)
class Deviation:
    """Of one kind of action: along the heading (m), across it to the right (m), and in heading (rad)."""

    mean: tuple[float, float, float]
    spread: tuple[float, float, float]


ACTUATION: dict[Actuation, tuple[Deviation, Deviation]] = {
    "locobot_ilqr": (
        Deviation((0.014, 0.009, 0.008), (0.006, 0.005, 0.004)),
        Deviation((0.003, 0.003, 0.023), (0.002, 0.003, 0.012)),
    ),
    "locobot_proportional": (
        Deviation((0.017, 0.042, 0.031), (0.007, 0.023, 0.026)),
        Deviation((0.001, 0.005, 0.043), (0.001, 0.004, 0.017)),
    ),
    "locobot_movebase": (
        Deviation((0.074, 0.036, 0.189), (0.019, 0.033, 0.038)),
        Deviation((0.002, 0.003, 0.219), (0.0, 0.002, 0.019)),
    ),
    "lite_ilqr": (
        Deviation((0.142, 0.023, 0.031), (0.008, 0.008, 0.028)),
        Deviation((0.002, 0.002, 0.122), (0.001, 0.002, 0.030)),
    ),
    "lite_proportional": (
        Deviation((0.135, 0.043, 0.049), (0.007, 0.009, 0.009)),
        Deviation((0.002, 0.002, 0.054), (0.002, 0.001, 0.061)),
    ),
    "lite_movebase": (
        Deviation((0.192, 0.117, 0.128), (0.055, 0.144, 0.143)),
        Deviation((0.002, 0.001, 0.173), (0.001, 0.001, 0.025)),
    ),
}
"""Table -> deviation of a step ahead, and of a turn."""


def truncated(uniform: Floats, mean: Floats, std: Floats, least: Floats) -> Floats:
    """Normal draws (n,) from uniform ones (n,) in [0, 1): within 3 standard deviations (n,) of their means (n,), and
    not below `least` (n,). Where the standard deviation is 0 this is the mean, or `least` if that is more."""
    safe = np.where(std > 0, std, 1.0)
    low = np.clip((least - mean) / safe, -SIGMAS, SIGMAS)
    bottom, top = ndtr(low), ndtr(SIGMAS)
    score = np.clip(ndtri(bottom + uniform * (top - bottom)), low, SIGMAS)
    return np.asarray(np.where(std > 0, mean + safe * score, np.maximum(mean, least)))


def disturb(uniform: Floats, motion: BaseMotion, *, actuation: Actuation, multiplier: float, spread: Spread) -> Floats:
    """(n, 3) what noise adds to n motions: along the heading, across it to the left (m), and counter-clockwise (rad).

    uniform: (n, 3) draws in [0, 1). A motion has the deviations of the steps and turns that it is worth: their means
    add up, and so do their variances, so that two halves of a motion err as the whole does. Mean and spread are
    multiplied alike. No motion has no noise."""
    if multiplier == 0.0 or not len(uniform):
        return np.zeros((len(uniform), 3))
    step, turned = ACTUATION[actuation]
    ahead, turn, steps, turns = motion.ahead, motion.turn, motion.steps[:, None], motion.turns[:, None]
    sign = np.where(turn < 0, -1.0, 1.0)
    aside = np.stack([np.ones_like(sign), np.ones_like(sign), sign], axis=1)  # a turn's own direction is positive
    mean = steps * np.multiply(step.mean, aside) + turns * np.asarray(turned.mean)
    each = [np.sqrt(d.spread) if spread == "variance" else np.asarray(d.spread) for d in (step, turned)]
    std = np.hypot(np.sqrt(steps) * each[0], np.sqrt(turns) * each[1])
    commanded = np.stack([np.abs(ahead), np.zeros_like(ahead), np.abs(turn)], axis=1)
    least = np.where(commanded > 0, -LEAST * commanded / max(1.0, multiplier), -np.inf)
    noise = np.stack([truncated(uniform[:, i], mean[:, i], std[:, i], least[:, i]) for i in range(3)], axis=1)
    noise *= multiplier * np.where((ahead != 0) | (turn != 0), 1.0, 0.0)[:, None]
    return np.stack([noise[:, 0], -noise[:, 1], sign * noise[:, 2]], axis=1)
