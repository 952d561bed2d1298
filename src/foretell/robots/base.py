"""Controllers of a mobile base: an action becomes a motion, ahead and turning, that takes its time.

A world moves the base along the motion and adds what it believes of actuation and walls. An action replaces the motion
from the current tick on; when a motion is over the base stands still.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.robots.controller import Controller
from foretell.spec import DimSpec

__all__ = ["CHOICES", "STEP", "BaseController", "BaseMotion", "StepsOf10", "StepsOf30", "Velocity"]

STEP = 0.25
"""m"""
SPEED = 0.25
"""m/s: a step takes one second."""
TURNING = math.radians(30.0)
"""rad/s: a turn of 30 degrees takes one second."""
CHOICES = ("stop", "forward", "left", "right")
"""In Habitat's order."""


@dataclass(frozen=True, kw_only=True)
class BaseMotion:
    """What bases are told to do."""

    ahead: Floats
    """(n,) m along the heading at the start"""
    turn: Floats
    """(n,) rad, counter-clockwise"""
    seconds: Floats
    """(n,) how long it takes"""
    stops: Bools
    """(n,) the robot declares that it has arrived"""
    steps: Floats
    """(n,) how many steps ahead it is worth, of which actuation noise is known"""
    turns: Floats
    """(n,) how many turns it is worth"""


class BaseController(Controller):
    """A controller of a group `base` with the joints x, y and yaw."""

    def motion(self, actions: Floats, seconds: Floats) -> BaseMotion:
        """What actions (n, size), meant to last (n,) seconds, tell bases to do."""
        raise NotImplementedError


class StepsOf30(BaseController):
    """`steps`: stop, a step of 0.25 m ahead, or a turn of 30 degrees left or right: the choice with the highest
    score."""

    ANGLE = math.radians(30.0)
    dims = (DimSpec(meaning="choice", unit="1", size=len(CHOICES), low=0.0, high=1.0),)

    def motion(self, actions: Floats, seconds: Floats) -> BaseMotion:
        choice = np.argmax(actions, axis=1)
        ahead = np.where(choice == 1, STEP, 0.0)
        turn = np.where(choice == 2, self.ANGLE, np.where(choice == 3, -self.ANGLE, 0.0))
        return BaseMotion(
            ahead=ahead,
            turn=turn,
            seconds=np.maximum(ahead / SPEED, np.abs(turn) / TURNING),
            stops=choice == 0,
            steps=(choice == 1).astype(float),
            turns=(choice > 1).astype(float),
        )

    def moves(self, actions: Floats, q: Floats) -> Bools:
        return np.asarray(np.argmax(actions, axis=1) == 1)


class StepsOf10(StepsOf30):
    """`steps_10`: as `steps`, with turns of 10 degrees. Each has the noise of one turn, as in Habitat."""

    ANGLE = math.radians(10.0)


class Velocity(BaseController):
    """`velocity`: speeds ahead (0.25 m/s at 1) and counter-clockwise (10 degrees/s at 1), kept for the action's time.
    Below a tenth of both the robot declares that it has arrived. Noise is that of the steps of 0.25 m and the turns of
    30 degrees that a motion is worth, so that it does not depend on how often a policy acts."""

    dims = (
        DimSpec(meaning="velocity", unit="m/s", low=0.0, high=1.0, scale=SPEED),
        DimSpec(meaning="turning velocity", unit="rad/s", scale=math.radians(10.0)),
    )
    LEAST = 0.1

    def motion(self, actions: Floats, seconds: Floats) -> BaseMotion:
        stops = np.asarray((np.abs(actions) < self.LEAST).all(axis=1))
        ahead, turn = (np.where(stops, 0.0, d.scale * actions[:, i] * seconds) for i, d in enumerate(self.dims))
        return BaseMotion(
            ahead=ahead,
            turn=turn,
            seconds=seconds,
            stops=stops,
            steps=np.abs(ahead) / STEP,
            turns=np.abs(turn) / StepsOf30.ANGLE,
        )

    def moves(self, actions: Floats, q: Floats) -> Bools:
        return np.asarray(actions[:, 0] >= self.LEAST)
