"""Pick the coke can up. SIMPLER's google_robot_pick_coke_can: same layouts, rules and limit."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from foretell.objects.soda import SODA_BOX
from foretell.policy import Policy
from foretell.rotation import Quat
from foretell.scenario import Placement, Scenario
from foretell.tasks.fractal import TABLE, Across, lying
from foretell.tasks.pick import GRID, ROBOT, PickTask, legs, stages
from foretell.tasks.waypoints import Vector, Waypoints

CAN = "can"
RESTS: dict[str, tuple[Vector, Quat]] = {
    "horizontal": ((0.000891, 0.000157, 0.032094), (-0.000025, 0.013940, 0.002488, 0.999900)),
    "vertical": ((0.000157, -0.000891, 0.032094), (0.707018, 0.011616, -0.008101, 0.707052)),
    "standing": ((-0.000348, -0.000295, 0.068941), (0.705632, 0.708574, -0.001850, 0.001749)),
}
"""For each orientation where the can comes to rest, from the point above which it is dropped, m, and how it lies then,
in SIMPLER's world."""


class PickCokeCan(PickTask):
    """Pick up an empty can that lies or stands on a cabinet."""

    name = "google_robot_pick_coke_can"
    instruction = "pick coke can"
    paraphrases = (
        "pick up the coke can",
        "grasp the red can and lift it",
        "take the can of cola from the table",
        "lift the red soda can",
    )
    part = CAN
    roles = {CAN: "MO"}
    touch = ((CAN, "*"), (CAN, ROBOT))
    stages = stages(CAN)
    orientations: tuple[str, ...] = ("horizontal", "vertical", "standing")

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Anywhere between the published spots."""
        x, y = (float(rng.uniform(spots[0], spots[-1])) for spots in GRID)
        return {CAN: _rest(self.orientations[int(rng.integers(len(self.orientations)))], x, y)}

    def layouts(self) -> Sequence[Scenario]:
        """The spots of a grid, along y first, for each orientation."""
        every = itertools.product(self.orientations, *(spots.tolist() for spots in GRID))
        return [self.layout(index, {CAN: _rest(*spot)}) for index, spot in enumerate(every)]

    def expert(self) -> Policy:
        middle, half = SODA_BOX
        return Waypoints({ROBOT: legs(Across(part=CAN, middle=middle, half=half))})


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
