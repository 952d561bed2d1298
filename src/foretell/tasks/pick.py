"""Pick an object up: what SIMPLER's tasks of this kind share, with the Google Robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.tasks.fractal import GRIPPED, Across, FractalTask
from foretell.tasks.state import State
from foretell.tasks.task import Stage
from foretell.tasks.waypoints import Leg, Shift

__all__ = ["GRID", "ROBOT", "PickTask", "legs", "stages"]

ROBOT = "google_robot"
GRID = np.linspace(-0.35, -0.12, 5), np.linspace(-0.02, 0.42, 5)
"""x and y of SIMPLER's world above which the object is dropped."""
LIFTED, HIGH, OFTEN = 0.01, 0.02, 5
"""How far up the object must get, m; and how far after how many actions for a success that nothing takes back."""


def stages(part: str) -> tuple[Stage, ...]:
    """The stages of a task, in words."""
    return (
        Stage("grasp", f"both fingers touch the {part}"),
        Stage("hold", f"both fingers touch the {part} after 5 successive actions", GRIPPED),
        Stage("lift", f"since it was grasped the {part} was more than 1 cm up and touched nothing but the robot"),
        Stage("high", f"so lifted, the {part} is more than 2 cm up"),
    )


def legs(at: Across) -> tuple[Leg, ...]:
    """How the expert picks a thing up."""
    return (
        Leg(name="above", way=replace(at, above=0.08), within=0.02, turned=0.12),
        Leg(name="down", way=at, within=0.008, turned=0.12, speed=0.4),
        Leg(name="close", way=Shift(), grip=1, within=0.05, turned=0.5, hold=5),
        Leg(name="up", way=Shift((0.0, 0.0, 0.08)), grip=1, within=0.02, turned=0.3, speed=0.4),
    )


class PickTask(FractalTask):
    """Base of the tasks that pick something up. Subclasses say what, and how it lies."""

    part: str
    memory = 2

    def remember(self, state: State) -> Floats:
        """Whether the object was lifted since it was grasped; and after how many actions it was high."""
        lifted, often = state.memory.T
        free = state.contacts(self.part, "*") <= state.contacts(self.part, ROBOT)
        up = self.risen(state, self.part)
        lifted = ((lifted > 0) & state.holding(ROBOT, self.part)) | (free & (up > LIFTED))
        return np.column_stack([lifted, often + (lifted & (up > HIGH))])

    def reached(self, state: State) -> dict[str, Bools]:
        held = state.holding(ROBOT, self.part)
        lifted = state.memory[:, 0] > 0
        return {"grasp": held, "hold": held, "lift": lifted, "high": lifted & (self.risen(state, self.part) > HIGH)}

    def solved(self, state: State) -> Bools:
        lifted, often = state.memory.T
        solved: Bools = (lifted > 0) | (often >= OFTEN)
        return solved
