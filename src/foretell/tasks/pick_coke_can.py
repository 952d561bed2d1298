"""Pick the coke can up. SIMPLER's google_robot_pick_coke_can: same layouts, rules and limit."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.objects.soda import SODA_BOX
from foretell.policy import Policy
from foretell.rotation import Quat
from foretell.scenario import Placement, Scenario
from foretell.tasks.fractal import GRIPPED, TABLE, Across, FractalTask, lying
from foretell.tasks.state import State
from foretell.tasks.task import Stage
from foretell.tasks.waypoints import Leg, Shift, Vector, Waypoints

ROBOT, CAN = "google_robot", "can"
GRID = np.linspace(-0.35, -0.12, 5), np.linspace(-0.02, 0.42, 5)
"""x and y of SIMPLER's world above which the can is dropped."""
LIFTED, HIGH, OFTEN = 0.01, 0.02, 5
"""How far up the can must get, m; and how far after how many actions for a success that nothing takes back."""
RESTS: dict[str, tuple[Vector, Quat]] = {
    "horizontal": ((0.000891, 0.000157, 0.032094), (-0.000025, 0.013940, 0.002488, 0.999900)),
    "vertical": ((0.000157, -0.000891, 0.032094), (0.707018, 0.011616, -0.008101, 0.707052)),
    "standing": ((-0.000348, -0.000295, 0.068941), (0.705632, 0.708574, -0.001850, 0.001749)),
}
"""For each orientation where the can comes to rest, from the point above which it is dropped, m, and how it lies then,
in SIMPLER's world."""


class PickCokeCan(FractalTask):
    """Pick up an empty can that lies or stands on a cabinet."""

    name = "google_robot_pick_coke_can"
    instruction = "pick coke can"
    paraphrases = (
        "pick up the coke can",
        "grasp the red can and lift it",
        "take the can of cola from the table",
        "lift the red soda can",
    )
    roles = {CAN: "MO"}
    touch = ((CAN, "*"), (CAN, ROBOT))
    stages = (
        Stage("grasp", "both fingers touch the can"),
        Stage("hold", "both fingers touch the can after 5 successive actions", GRIPPED),
        Stage("lift", "since it was grasped the can was more than 1 cm up and touched nothing but the robot"),
        Stage("high", "so lifted, the can is more than 2 cm up"),
    )
    orientations: tuple[str, ...] = ("horizontal", "vertical", "standing")
    memory = 2

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Anywhere between the published spots."""
        x, y = (float(rng.uniform(spots[0], spots[-1])) for spots in GRID)
        return {CAN: _rest(self.orientations[int(rng.integers(len(self.orientations)))], x, y)}

    def layouts(self) -> Sequence[Scenario]:
        """The spots of a grid, along y first, for each orientation."""
        every = itertools.product(self.orientations, *(spots.tolist() for spots in GRID))
        return [self.layout(index, {CAN: _rest(*spot)}) for index, spot in enumerate(every)]

    # -- rules ------------------------------------------------------------------------------------------------

    def remember(self, state: State) -> Floats:
        """Whether the can was lifted since it was grasped; and after how many actions it was high."""
        lifted, often = state.memory.T
        free = state.contacts(CAN, "*") <= state.contacts(CAN, ROBOT)
        up = self.risen(state, CAN)
        lifted = ((lifted > 0) & state.holding(ROBOT, CAN)) | (free & (up > LIFTED))
        return np.column_stack([lifted, often + (lifted & (up > HIGH))])

    def reached(self, state: State) -> dict[str, Bools]:
        held = state.holding(ROBOT, CAN)
        lifted = state.memory[:, 0] > 0
        return {"grasp": held, "hold": held, "lift": lifted, "high": lifted & (self.risen(state, CAN) > HIGH)}

    def solved(self, state: State) -> Bools:
        lifted, often = state.memory.T
        solved: Bools = (lifted > 0) | (often >= OFTEN)
        return solved

    # -- expert -----------------------------------------------------------------------------------------------

    def expert(self) -> Policy:
        middle, half = SODA_BOX
        at = Across(part=CAN, middle=middle, half=half)
        return Waypoints(
            {
                ROBOT: (
                    Leg(name="above", way=replace(at, above=0.08), within=0.02, turned=0.12),
                    Leg(name="down", way=at, within=0.008, turned=0.12, speed=0.4),
                    Leg(name="close", way=Shift(), grip=1, within=0.05, turned=0.5, hold=5),
                    Leg(name="up", way=Shift((0.0, 0.0, 0.08)), grip=1, within=0.02, turned=0.3, speed=0.4),
                )
            }
        )


class PickHorizontalCokeCan(PickCokeCan):
    """Pick up an empty can that lies across the robot's view."""

    name = "google_robot_pick_horizontal_coke_can"
    orientations = ("horizontal",)


class PickVerticalCokeCan(PickCokeCan):
    """Pick up an empty can that lies along the robot's view."""

    name = "google_robot_pick_vertical_coke_can"
    orientations = ("vertical",)


class PickStandingCokeCan(PickCokeCan):
    """Pick up an empty can that stands."""

    name = "google_robot_pick_standing_coke_can"
    orientations = ("standing",)


def _rest(orientation: str, x: float, y: float) -> Placement:
    """The can that was dropped above a spot of SIMPLER's world, come to rest."""
    (dx, dy, z), quat = RESTS[orientation]
    return lying("coke-can", (x + dx, y + dy, TABLE + z), quat)
