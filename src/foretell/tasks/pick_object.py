"""Pick one of 14 things up. SIMPLER's google_robot_pick_object: same things, places, rules and limit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foretell.policy import Policy
from foretell.rotation import Quat, from_yaw, multiply, rotate
from foretell.scenario import Placement, Scenario
from foretell.tasks.by_name import ByName
from foretell.tasks.fractal import TABLE, Across, lying
from foretell.tasks.groceries import GROCERIES
from foretell.tasks.pick import GRID, ROBOT, PickTask, legs, stages
from foretell.tasks.waypoints import Vector, Waypoints

OBJECT = "object"
MIDDLE = float(np.mean(GRID[0])), float(np.mean(GRID[1]))
"""Of the area above which the thing is dropped, x and y of SIMPLER's world, m."""
ORIENTATIONS = {"horizontal": ("flat", math.pi), "vertical": ("flat", math.pi / 2), "standing": ("upright", 0.0)}
"""How a thing is put down: on its own z axis or on its y, and its yaw in SIMPLER's world, rad."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A thing to pick up. Rests are measured from the point above which it is dropped, and hold for a yaw of 0."""

    name: str
    """What instructions call it."""
    at: Across
    flat: tuple[Vector, Quat]
    upright: tuple[Vector, Quat]


def _like(asset: str, **rests: tuple[Vector, Quat]) -> Item:
    """A thing that move_near has too."""
    return Item(name=GROCERIES[asset].name, at=GROCERIES[asset].taken(OBJECT), **rests)


def _box(middle: Vector, half: Vector, axis: int | None = None) -> Across:
    return Across(part=OBJECT, middle=middle, half=half, axis=axis)


CUBE = _box((0.0, 0.0, 0.0), (0.015, 0.015, 0.015), axis=0)
CUBE_RESTS: dict[str, tuple[Vector, Quat]] = {
    "flat": ((0.0, 0.0, 0.014993), (1.0, 0.0, 0.0, 0.0)),
    "upright": ((0.0, 0.0, 0.014993), (0.707107, 0.707107, 0.0, 0.0)),
}
ITEMS: dict[str, Item] = {
    "pepsi-can": _like(
        "pepsi-can",
        flat=((-0.000921, 0.000001, 0.032988), (0.999903, -0.000006, -0.013941, 0.0)),
        upright=((0.000004, 0.000004, 0.064281), (0.707127, 0.707086, 0.000019, -0.000019)),
    ),
    "coke-can": _like(
        "coke-can",
        flat=((-0.000891, -0.000157, 0.032094), (0.999900, 0.002488, -0.013940, 0.000025)),
        upright=((-0.000348, -0.000295, 0.068941), (0.705632, 0.708574, -0.001850, 0.001749)),
    ),
    "sprite-can": Item(
        name="sprite can",
        at=_box((0.0004, -0.0005, 0.0002), (0.0335, 0.0616, 0.0335)),
        flat=((-0.000929, 0.000002, 0.033282), (0.999903, -0.000011, -0.013938, 0.0)),
        upright=((0.0, 0.000002, 0.061993), (0.707118, 0.707096, 0.0, 0.0)),
    ),
    "fanta-can": Item(
        name="fanta can",
        at=_box((0.0003, -0.0020, 0.0003), (0.0335, 0.0616, 0.0335)),
        flat=((-0.000927, 0.000001, 0.033185), (0.999903, -0.000006, -0.013945, 0.0)),
        upright=((0.000004, 0.000004, 0.063593), (0.707127, 0.707087, 0.000019, -0.000019)),
    ),
    "redbull-can": _like(
        "redbull-can",
        flat=((0.0, 0.0, 0.028893), (1.0, 0.0, 0.000001, 0.0)),
        upright=((-0.000108, 0.000247, 0.065065), (0.708440, 0.705771, -0.000573, 0.000600)),
    ),
    "blue-bottle": _like(
        "blue-bottle",
        flat=((-0.000004, 0.000587, 0.028587), (0.999950, -0.010006, 0.000003, 0.000031)),
        upright=((0.004974, 0.001792, 0.087121), (0.714671, 0.698902, 0.021328, -0.018076)),
    ),
    "ripe-apple": Item(
        name="apple",
        at=GROCERIES["toy-apple"].taken(OBJECT),
        flat=((0.000132, 0.000962, 0.035868), (0.999910, -0.013320, 0.001730, 0.000510)),
        upright=((0.0, 0.002070, 0.039723), (0.725187, 0.688552, 0.000007, -0.000001)),
    ),
    "ripe-orange": Item(
        name="orange",
        at=GROCERIES["toy-orange"].taken(OBJECT),
        flat=((0.000175, -0.000099, 0.035870), (0.999996, 0.001352, 0.002426, -0.000021)),
        upright=((-0.000001, -0.002837, 0.034954), (0.677781, 0.735264, -0.000004, 0.0)),
    ),
    "kitchen-sponge": _like(
        "kitchen-sponge",
        flat=((0.0, 0.0, 0.018543), (1.0, 0.000003, 0.0, 0.0)),
        upright=((0.0, 0.0, 0.031993), (0.707107, 0.707106, 0.0, 0.0)),
    ),
    "bridge-spoon": Item(
        name="spoon",
        at=_box((0.0134, 0.0, 0.0005), (0.054, 0.0115, 0.0120)),
        flat=((-0.000444, 0.000003, 0.010406), (0.999767, -0.000032, -0.021603, 0.000031)),
        upright=((0.001161, 0.000116, 0.014476), (0.705900, 0.707418, 0.026342, -0.023908)),
    ),
    "bridge-carrot": Item(
        name="carrot",
        at=_box((0.0032, 0.0, -0.0015), (0.055, 0.0160, 0.0165)),
        flat=((0.001529, -0.000001, 0.017979), (0.999072, 0.000001, 0.043070, 0.000012)),
        upright=((0.000749, 0.000001, 0.016419), (0.706903, 0.706933, 0.016277, -0.016390)),
    ),
    "green-block": Item(name="green cube", at=CUBE, **CUBE_RESTS),
    "yellow-block": Item(name="yellow cube", at=CUBE, **CUBE_RESTS),
    "bridge-eggplant": Item(
        name="eggplant",
        at=_box((0.0020, 0.0, -0.0010), (0.035, 0.0180, 0.0185)),
        flat=((-0.003819, 0.002186, 0.018729), (0.990953, -0.049024, -0.102914, 0.070832)),
        upright=((-0.002869, 0.001813, 0.017792), (0.739226, 0.667293, -0.032343, 0.084964)),
    ),
}
"""Asset -> the thing, in SIMPLER's order. The original's rests are known for the coke can, and upright for the redbull
can; the others were measured here, by letting go of the thing just above the table."""


class PickObject(PickTask):
    """Pick up the thing that the instruction names; nothing else stands on the cabinet."""

    name = "google_robot_pick_object"
    instruction = "pick pepsi can"
    paraphrases = ("pick up the {object}", "grasp the {object} and lift it", "lift the {object} off the table")
    part = OBJECT
    roles = {OBJECT: "MO"}
    touch = ((OBJECT, "*"), (OBJECT, ROBOT))
    stages = stages(OBJECT)

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Any of the things in any of the orientations, anywhere between the spots of the coke can."""
        asset, orientation = list(ITEMS)[int(rng.integers(len(ITEMS)))], list(ORIENTATIONS)[int(rng.integers(3))]
        x, y = (float(rng.uniform(spots[0], spots[-1])) for spots in GRID)
        return {OBJECT: _rest(asset, orientation, x, y)}

    def layouts(self) -> Sequence[Scenario]:
        """Each thing in each orientation, in the middle. SIMPLER only draws: these layouts are ours."""
        layouts = []
        for index, (asset, orientation) in enumerate(itertools.product(ITEMS, ORIENTATIONS)):
            placements = {OBJECT: _rest(asset, orientation, *MIDDLE)}
            layouts.append(self.layout(index, placements, _asked(placements)))
        return layouts

    def scenario(self, seed: int) -> Scenario:
        drawn = super().scenario(seed)
        return drawn.model_copy(update={"instruction": _asked(drawn.placements)})

    def paraphrased(self, scenario: Scenario) -> Sequence[str]:
        name = ITEMS[scenario.placements[OBJECT].asset].name
        return [text.format(object=name) for text in self.paraphrases]

    def expert(self) -> Policy:
        return ByName({item.name: Waypoints({ROBOT: legs(item.at)}) for item in ITEMS.values()})


def _asked(placements: Mapping[str, Placement]) -> str:
    return f"pick {ITEMS[placements[OBJECT].asset].name}"


def _rest(asset: str, orientation: str, x: float, y: float) -> Placement:
    """A thing that was dropped above a spot of SIMPLER's world, come to rest."""
    side, yaw = ORIENTATIONS[orientation]
    pos, quat = ITEMS[asset].flat if side == "flat" else ITEMS[asset].upright
    turn = from_yaw(yaw)
    by = rotate(turn, np.array(pos))
    return lying(asset, (x + by[0], y + by[1], TABLE + by[2]), multiply(turn, np.array(quat)).tolist())
