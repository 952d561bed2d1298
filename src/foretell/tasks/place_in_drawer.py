"""Open a drawer and put a thing into it. SIMPLER's google_robot_place_apple_in_closed_top_drawer: same layouts, rules
and limit; and its google_robot_place_in_closed_drawer with three drawers, where scenarios draw one of seven things.

The first instruction is to open the drawer. The second, to place the thing, comes when the policy declares itself done,
or after half of the time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera
from foretell.objects.cabinet import DRAWERS, HANDLE
from foretell.rotation import Quat, from_yaw, multiply, rotate
from foretell.scenario import Placement
from foretell.tasks.drawers import CABINET, OPEN, ROBOT, STANDS, DrawerTask, Stand, before, cabinet, only, pull
from foretell.tasks.open_drawer import OpenDrawer
from foretell.tasks.pick_object import ITEMS
from foretell.tasks.state import State
from foretell.tasks.task import Stage
from foretell.tasks.waypoints import Hand, Leg, Seen, Shift, To, Vector, pointing

OBJECT, APPLE = "object", "ripe-apple"
"""The part of the scene, and the thing of the published layouts."""
SPOTS = (-0.08, -0.05, -0.02), (-0.02, 0.03, 0.08)
"""x and y of SIMPLER's world above which the thing is dropped."""
TOP = 0.882
"""Height of the cabinet in SIMPLER's world, m."""
RESTS: dict[str, tuple[Vector, Quat]] = {
    **{name: ITEMS[name].flat for name in ("pepsi-can", "coke-can", "sprite-can", "fanta-can", "redbull-can")},
    APPLE: ((0.000168, 0.000946, 0.035876), (0.999910, -0.013274, 0.001727, 0.000219)),
    "ripe-orange": ITEMS["ripe-orange"].flat,
}
"""Asset -> where it comes to rest, from the point above which it is dropped and above the cabinet, m, and how it lies
then, in SIMPLER's world, with a yaw of 0. The apple's rest is the original's."""
ALONG = math.pi / 2
"""Yaw of a thing that is drawn: cans point to the robot, so that its fingers can close on them."""
HALF_WAY = 100
"""The second instruction comes by itself after more actions than this."""
AJAR = 0.05
"""How far the drawer must be open in the end, m."""
INSIDE, HIGH = 0.17, 1.0
"""Where the expert lets go, in the frame of the open drawer along x; and how high above the foot of the cabinet it
carries the thing, m."""
GRASP = pointing((-0.6, 0.0, -0.8), (0.0, 1.0, 0.0))
"""How its hand points then, in the frame of the cabinet, whose x points to the robot."""


@dataclass(frozen=True)
class Onto:
    """To a point beside the thing, the hand pointing as `GRASP` says, however the thing lies. The first instruction
    does not say which thing there is."""

    offset: Vector
    """From the middle of the thing, in the frame of the cabinet, m."""
    parts: tuple[str, ...] = (OBJECT, CABINET)

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        turn = seen[f"{CABINET}/quat"]
        return [(seen[f"{OBJECT}/pos"] + rotate(turn, np.array(self.offset)), multiply(turn, np.array(GRASP)))]


class PlaceInDrawer(DrawerTask):
    """Open the drawer that the instruction names and put the thing from the top of the cabinet into it."""

    name = "google_robot_place_in_closed_drawer"
    words = OpenDrawer.words
    stands = STANDS[::3]
    time_limit = 200 / 3
    roles = {OBJECT: "MO", CABINET: "RO"}
    touch = tuple((OBJECT, f"{CABINET}/{drawer}_floor") for drawer in DRAWERS)
    things: tuple[str, ...] = tuple(RESTS)
    """Assets of which a scenario draws one."""
    stages = (
        Stage("open", "the drawer is open by at least 15 cm"),
        Stage("grasp", "both fingers touch the thing"),
        Stage("inside", "the thing touches the floor of the drawer"),
        Stage("place", "it has done so, the drawer is open by at least 5 cm, and placing is what is asked for"),
    )
    memory = 2
    film = Camera(pos=(-0.45, -1.25, 0.65), target=(0.0, -0.05, -0.10), fovy=50.0)

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Near a published robot pose, a thing anywhere between the published spots."""
        stand = self.stand(rng)
        x, y = (float(rng.uniform(spots[0], spots[-1])) for spots in SPOTS)
        asset = self.things[int(rng.integers(len(self.things)))]
        return _set(stand, x, y, asset, 0.0 if asset == APPLE else ALONG)

    def spots(self) -> list[dict[str, Placement]]:
        """The robot poses a0, b0, c0, each with the apple at nine spots, along y first."""
        return [_set(*spot) for spot in itertools.product(self.stands, *SPOTS)]

    # -- rules ------------------------------------------------------------------------------------------------

    def placing(self, state: State) -> Bools:
        """(n,) whether placing is what is asked for."""
        late: Bools = state.memory[:, 0] > HALF_WAY
        return late | (state.subtask > 0)

    def instructions(self, state: State) -> Sequence[str]:
        drawers = [self.drawers[index] for index in self.asked(state).tolist()]
        things = [ITEMS[asset].name if asset in ITEMS else asset for asset in state.asset(OBJECT)]
        every = zip(self.placing(state).tolist(), state.instruction, things, drawers, strict=True)
        return [f"place {thing} into {drawer} drawer" if now else first for now, first, thing, drawer in every]

    def on_terminate(self, state: State) -> Bools:
        return ~self.placing(state)

    def remember(self, state: State) -> Floats:
        """How many actions were made; after how many of them the thing touched the floor of the drawer."""
        actions, inside = state.memory.T
        return np.column_stack([actions + 1, inside + self.inside(state)])

    def inside(self, state: State) -> Bools:
        """(n,) whether the thing touches the floor of the drawer."""
        floors = {drawer: state.contacts(OBJECT, f"{CABINET}/{drawer}_floor") for drawer in self.drawers}
        return self.of_drawer(state, {drawer: points.astype(float) for drawer, points in floors.items()}) > 0

    def reached(self, state: State) -> dict[str, Bools]:
        return {
            "open": self.opening(state) >= OPEN,
            "grasp": state.holding(ROBOT, OBJECT),
            "inside": self.inside(state),
            "place": self.solved(state),
        }

    def solved(self, state: State) -> Bools:
        solved: Bools = self.placing(state) & (self.opening(state) >= AJAR) & (state.memory[:, 1] > 0)
        return solved

    # -- expert -----------------------------------------------------------------------------------------------

    def legs(self, drawer: str) -> tuple[Leg, ...]:
        """Open, then with the thing from the top of the cabinet into the drawer."""
        handle, (x, _, z) = f"{CABINET}/{drawer}_handle", HANDLE
        inside, high = INSIDE - x, HIGH - DRAWERS[drawer] - z
        up, across, down = (0.6, 0.8, 0.8) if drawer == "bottom" else (0.4, 0.5, 0.6)  # it is a long way down there
        return (
            *pull(drawer),
            Leg(name="rise", way=To(CABINET, (0.40, 0.0, HIGH), GRASP), grip=0, within=0.06, turned=0.4),
            Leg(name="above", way=Onto((0.06, 0.0, 0.09)), within=0.03, turned=0.15),
            Leg(name="down", way=Onto((0.0, 0.0, -0.006)), within=0.012, turned=0.15, speed=0.4),
            Leg(name="close", way=Shift(), grip=1, within=0.05, turned=0.5, hold=5),
            Leg(name="up", way=Shift((0.0, 0.0, 0.10)), grip=1, within=0.03, turned=0.4, speed=up),
            Leg(name="across", way=To(handle, (inside, 0.0, high)), grip=1, within=0.04, turned=0.5, speed=across),
            Leg(name="lower", way=To(handle, (inside, 0.0, 0.01)), grip=1, within=0.04, turned=0.5, speed=down),
            Leg(name="drop", way=Shift(), grip=-1, within=0.1, turned=1.0, hold=3),
            Leg(name="leave", way=Shift((0.0, 0.0, 0.15)), grip=0, within=0.03, turned=0.5, speed=0.4),
        )


PlaceInTopDrawer = only(PlaceInDrawer, "top", "PlaceInTopDrawer")
PlaceInMiddleDrawer = only(PlaceInDrawer, "middle", "PlaceInMiddleDrawer")
PlaceInBottomDrawer = only(PlaceInDrawer, "bottom", "PlaceInBottomDrawer")


class PlaceAppleInTopDrawer(PlaceInDrawer):
    """Open the top drawer and put the apple into it."""

    things = (APPLE,)
    name = "google_robot_place_apple_in_closed_top_drawer"
    drawers = ("top",)


def _set(stand: Stand, x: float, y: float, asset: str = APPLE, yaw: float = 0.0) -> dict[str, Placement]:
    """Cabinet and thing before the robot. The thing was dropped above a spot of SIMPLER's world and came to rest."""
    pos, quat = RESTS[asset]
    dx, dy, dz = rotate(from_yaw(yaw), np.array(pos)).tolist()
    turned = multiply(from_yaw(yaw), np.array(quat)).tolist()
    return {CABINET: cabinet(stand), OBJECT: before(stand, asset, (x + dx, y + dy, TOP + dz), turned)}
