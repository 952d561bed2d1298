"""Move one of three things near another. SIMPLER's google_robot_move_near: same layouts, rules and limit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.policy import Policy
from foretell.rotation import Quat, rotate
from foretell.scenario import Placement, Scenario
from foretell.tasks.by_name import ByName
from foretell.tasks.fractal import BASE, FLOOR, TABLE, FractalTask, lying
from foretell.tasks.groceries import GROCERIES, Grocery
from foretell.tasks.state import State
from foretell.tasks.task import Clutter, Mount, Stage
from foretell.tasks.waypoints import Hand, Leg, Seen, Shift, Vector, Waypoints

ROBOT, SOURCE, TARGET, OTHER = "google_robot", "source", "target", "other"
PARTS = (SOURCE, TARGET, OTHER)
TRIPLETS = (
    ("blue-bottle", "pepsi-can", "toy-orange"),
    ("7up-can", "toy-apple", "kitchen-sponge"),
    ("coke-can", "redbull-can", "toy-apple"),
    ("kitchen-sponge", "blue-bottle", "7up-can"),
    ("toy-orange", "pepsi-can", "redbull-can"),
)
SPOTS = (
    ((-0.33, 0.04), (-0.33, 0.34), (-0.13, 0.19)),
    ((-0.13, 0.04), (-0.33, 0.19), (-0.13, 0.34)),
)
"""Where the three things are dropped, x and y of SIMPLER's world, m."""
ORDERS = tuple((a, b, 3 - a - b) for a, b in itertools.permutations(range(3), 2))
"""Which of the three is to be moved, which is its target, and which is the other."""
ODD: tuple[tuple[str, range, Vector, Quat], ...] = (
    ("blue-bottle", range(6), (-0.001915, 0.004941, 0.087157), (0.519771, 0.480317, 0.508140, 0.490844)),
    ("blue-bottle", range(36, 42), (-0.001602, 0.004044, 0.087166), (0.516507, 0.483948, 0.506391, 0.492527)),
    ("blue-bottle", range(42, 48), (-0.001377, 0.006219, 0.087477), (0.521652, 0.477837, 0.513390, 0.485780)),
    ("toy-orange", range(6, 7), (-0.000147, 0.053529, 0.035204), (0.545093, -0.500417, 0.470888, 0.480335)),
)
"""Layouts in which a thing does not come to rest as usual: the bottle leans otherwise, the orange rolls."""
MOVED, NEAR, CLOSER = 0.03, 0.10, 0.01
"""How far the source must get; how far its box may be from the target's; by how much another thing may be nearer, m."""
KNOCKED, FALLEN = -0.02, -0.15
"""Height that the other thing may lose, and that source and target may, m."""
BY = 0.03
"""How far from its published spot a thing may stand where it is drawn, m."""
BESIDE = 0.145
"""How far from the target's middle the expert puts the source down, m."""


@dataclass(frozen=True)
class Beside:
    """Straight on, with what the hand holds, until that is so far from another part; in the plane."""

    part: str
    other: str
    gap: float

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part, self.other)

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        way = (seen[f"{self.other}/pos"] - seen[f"{self.part}/pos"])[:2]
        far = float(np.linalg.norm(way))
        by = np.append(way / max(far, 1e-9) * max(far - self.gap, 0.0), 0.0)
        return [(hand[0] + by, hand[1])]


class MoveNear(FractalTask):
    """Move the thing that the instruction names first near the one that it names next."""

    name = "google_robot_move_near"
    instruction = "move blue plastic bottle near pepsi can"
    paraphrases = (
        "put the {source} close to the {target}",
        "bring the {source} next to the {target}",
        "place the {source} beside the {target}",
        "take the {source} over to the {target}",
    )
    robots = {ROBOT: Mount(ROBOT, (-0.35, -0.21, BASE), (math.cos(0.045), 0.0, 0.0, -math.sin(0.045)), stand=False)}
    roles = {SOURCE: "MO", TARGET: "RO"}
    clutter = Clutter(x=(0.08, 0.42), y=(-0.45, 0.05), clearance=0.07)
    bystanders = (OTHER,)
    variants = "near"
    aside = (-1.2, 1.2, FLOOR)
    stages = (
        Stage("move", "the source is more than 3 cm from its start, and farther than each other thing from its own"),
        Stage("near", "so moved, its middle is within 10 cm and half the diagonals of both boxes of the target's"),
        Stage("place", "so near, the target is its nearest thing (within 1 cm), and nothing has been knocked down"),
    )

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """A published layout, each thing moved by a little."""
        index = int(rng.integers(len(TRIPLETS) * len(SPOTS) * len(ORDERS)))
        things, spots = _published(index)
        around = np.array(spots) + rng.uniform(-BY, BY, (3, 2))
        return {p: _rest(thing, *spot) for p, thing, spot in zip(PARTS, things, around.tolist(), strict=True)}

    def layouts(self) -> Sequence[Scenario]:
        """For each triplet both arrangements, with each of the three moved near each of the two others."""
        layouts = []
        for index in range(len(TRIPLETS) * len(SPOTS) * len(ORDERS)):
            things, spots = _published(index)
            placements = {
                part: _rest(thing, *spot, index) for part, thing, spot in zip(PARTS, things, spots, strict=True)
            }
            layouts.append(self.layout(index, placements, _asked(placements)))
        return layouts

    def scenario(self, seed: int) -> Scenario:
        drawn = super().scenario(seed)
        return drawn.model_copy(update={"instruction": _asked(drawn.placements)})

    def paraphrased(self, scenario: Scenario) -> Sequence[str]:
        names = {part: GROCERIES[scenario.placements[part].asset].name for part in (SOURCE, TARGET)}
        return [text.format(**names) for text in self.paraphrases]

    # -- rules ------------------------------------------------------------------------------------------------

    def metrics(self, state: State) -> Mapping[str, Floats | Bools]:
        """What SIMPLER reports of an episode, under its names."""
        moves = {part: _plane(state.pos(part) - state.start_pos(part)) for part in PARTS}
        most = np.maximum(moves[TARGET], moves[OTHER])
        correct = (moves[SOURCE] > MOVED) & (most < moves[SOURCE])
        wrong = (most > MOVED) & (most > moves[SOURCE])
        source, target = _middle(state, SOURCE), _middle(state, TARGET)
        apart = _plane(source - target)
        nearest = np.minimum(_plane(source - state.pos(TARGET)), _plane(source - state.pos(OTHER)))
        kept = (
            (self.risen(state, OTHER) > KNOCKED)
            & (source[:, 2] - state.start_pos(SOURCE)[:, 2] > FALLEN)
            & (target[:, 2] - state.start_pos(TARGET)[:, 2] > FALLEN)
        )
        return {
            "all_obj_keep_height": kept,
            "moved_correct_obj": correct,
            "moved_wrong_obj": wrong,
            "near_tgt_obj": apart < half_box(state, TARGET) + half_box(state, SOURCE) + NEAR,
            "is_closest_to_tgt": apart < nearest + CLOSER,
        }

    def reached(self, state: State) -> dict[str, Bools]:
        now = self.metrics(state)
        moved = now["moved_correct_obj"].astype(bool)
        near = moved & now["near_tgt_obj"].astype(bool)
        return {"move": moved, "near": near, "place": self.solved(state)}

    def solved(self, state: State) -> Bools:
        now = self.metrics(state)
        names = ("all_obj_keep_height", "moved_correct_obj", "near_tgt_obj", "is_closest_to_tgt")
        solved: Bools = np.logical_and.reduce([now[name] for name in names])
        return solved

    # -- expert -----------------------------------------------------------------------------------------------

    def expert(self) -> Policy:
        return ByName({thing.name: Waypoints({ROBOT: _legs(thing)}) for thing in GROCERIES.values()})


class MoveNearV0(MoveNear):
    """The same task under the name of the original's first textures."""

    name = "google_robot_move_near_v0"


class MoveNearV1(MoveNear):
    """The same task under the name of the original's second textures."""

    name = "google_robot_move_near_v1"


def _legs(thing: Grocery) -> tuple[Leg, ...]:
    """How the expert moves a thing: lifts it a little, carries it to beside the target, and lets go."""
    at = thing.taken(SOURCE)
    return (
        Leg(name="rise", way=Shift((0.0, 0.0, 0.06)), within=0.04, turned=0.3),
        Leg(name="above", way=replace(at, above=0.10), within=0.02, turned=0.12),
        Leg(name="down", way=at, within=0.008, turned=0.12, speed=0.4),
        Leg(name="close", way=Shift(), grip=1, within=0.05, turned=0.5, hold=4),
        Leg(name="up", way=Shift((0.0, 0.0, 0.05)), grip=1, within=0.02, turned=0.3, speed=0.4),
        Leg(name="over", way=Beside(SOURCE, TARGET, BESIDE), grip=1, within=0.015, turned=0.3, speed=0.4, frozen=True),
        Leg(name="lower", way=Shift((0.0, 0.0, -0.047)), grip=1, within=0.012, turned=0.3, speed=0.25),
        Leg(name="open", way=Shift(), within=0.05, turned=0.5, hold=3),
        Leg(name="leave", way=Shift((0.0, 0.0, 0.12)), within=0.03, turned=0.5, speed=0.4),
    )


def _published(index: int) -> tuple[list[Grocery], list[tuple[float, float]]]:
    """The things of a layout and where they are dropped: source, target, other."""
    group, order = divmod(index, len(ORDERS))
    triplet, arrangement = divmod(group, len(SPOTS))
    which = ORDERS[order]
    return [GROCERIES[TRIPLETS[triplet][i]] for i in which], [SPOTS[arrangement][i] for i in which]


def _rest(thing: Grocery, x: float, y: float, index: int | None = None) -> Placement:
    """A thing that was dropped above a spot of SIMPLER's world, come to rest; `index`: as in that published layout."""
    (pos, quat), *_ = thing.rest
    for asset, layouts, odd_pos, odd_quat in ODD:
        if asset == thing.asset and index in layouts:
            pos, quat = odd_pos, odd_quat
    return lying(thing.asset, (x + pos[0], y + pos[1], TABLE + pos[2]), quat)


def _asked(placements: Mapping[str, Placement]) -> str:
    source, target = (GROCERIES[placements[part].asset].name for part in (SOURCE, TARGET))
    return f"move {source} near {target}"


def _plane(offset: Floats) -> Floats:
    """(n,) lengths of vectors (n, 3) in the plane."""
    length: Floats = np.linalg.norm(offset[:, :2], axis=1)
    return length


def _middle(state: State, part: str) -> Floats:
    """(n, 3) centre of mass."""
    com = np.array([GROCERIES[asset].com for asset in state.asset(part)]) * state.size(part)[:, None]
    return state.pos(part) + rotate(state.quat(part), com)


def half_box(state: State, part: str) -> Floats:
    """(n,) half the diagonal of a thing's box in the plane, as SIMPLER turns it: as the thing lies at the start, m."""
    box = np.array([GROCERIES[asset].size for asset in state.asset(part)]) * state.size(part)[:, None]
    return _plane(rotate(state.start_quat(part), box)) / 2
