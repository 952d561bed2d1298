"""Open or close a drawer. SIMPLER's google_robot_open_top_drawer and the like: same layouts, rules and limit.

SIMPLER puts the robot at nine poses before the cabinet. Here the robot stands still, and the cabinet is put where the
robot of that layout has it: the same scene in the frame of the robot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera
from foretell.objects import arena
from foretell.objects.cabinet import DRAWERS, HANDLE
from foretell.policy import Policy
from foretell.rotation import Quat, from_yaw
from foretell.scenario import Placement, Scenario
from foretell.tasks.fractal import BASE, FLOOR, TABLE, FractalTask
from foretell.tasks.state import State
from foretell.tasks.task import Clutter, Mount, Stage
from foretell.tasks.waypoints import Leg, Shift, To, Waypoints, pointing

ROBOT, CABINET = "google_robot", "cabinet"
STANDS = (
    (0.644, -0.179, -0.03),
    (0.765, -0.182, -0.02),
    (0.889, -0.203, -0.06),
    (0.652, 0.009, 0.0),
    (0.752, 0.009, 0.0),
    (0.851, 0.035, 0.0),
    (0.665, 0.224, 0.0),
    (0.765, 0.222, -0.025),
    (0.865, 0.222, -0.025),
)
"""Where the robot stands in SIMPLER's world, m, and its yaw besides half a turn, rad: a0 to c2."""
AT = (-0.295, 0.0, 0.017)
"""Where the cabinet stands in SIMPLER's world, m."""
FEET = (-0.65, 0.0)
"""Where the robot stands in the task frame, m."""
AJAR, OPEN, SHUT = 0.20, 0.15, 0.05
"""Of a drawer that is to be closed at the start; what counts as open, and as closed, m."""
NEAR = 0.01
PARTED = 0.40
"""Action that half shuts the fingers."""
FRONT, EDGE = 0.3125 - HANDLE[0], 0.07 - HANDLE[2]
"""The face of a drawer's panel and its top edge, from the middle of its handle, m."""
# in the frame of a drawer, whose x points to the robot
HOOK = pointing((-0.74, 0.0, -0.67), (1.0, 0.0, 0.0))
PUSH = pointing((-0.45, 0.0, -0.9), (1.0, 0.0, 0.0))


def stood(x: float, y: float, yaw: float) -> Placement:
    """The cabinet as a robot has it that stands at x, y of SIMPLER's world with a yaw."""
    turn = -yaw - math.pi
    dx, dy = AT[0] - x, AT[1] - y
    ahead = (math.cos(turn) * dx - math.sin(turn) * dy, math.sin(turn) * dx + math.cos(turn) * dy)
    w, i, j, k = from_yaw(turn).tolist()
    return Placement(
        asset="station-cabinet", pos=(FEET[0] + ahead[0], FEET[1] + ahead[1], AT[2] - TABLE), quat=(w, i, j, k)
    )


class DrawerTask(FractalTask):
    """Base of the drawer tasks. Subclasses say which drawer, and what is to be done with it."""

    drawer: str
    begins = 0.0
    """How far the drawer is open at the start, m."""
    robots = {ROBOT: Mount(ROBOT, (*FEET, BASE), stand=False)}
    time_limit = 113 / 3
    roles = {CABINET: "RO"}
    fixed = {"RO_Size": "the drawers fit no cabinet of another size"}
    table = CABINET
    clutter: Clutter | None = None
    film = Camera(pos=(-0.35, -1.35, 0.45), target=(0.0, -0.1, -0.15), fovy=50.0)

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Near a published robot pose: by NEAR metres and radians at most."""
        stand = np.array(STANDS[int(rng.integers(len(STANDS)))])
        x, y, yaw = (stand + rng.uniform(-NEAR, NEAR, 3)).tolist()
        return {CABINET: stood(x, y, yaw)}

    def start(self, rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
        return {CABINET: tuple(self.begins if name == self.drawer else 0.0 for name in DRAWERS)}

    def layouts(self) -> Sequence[Scenario]:
        """The robot poses a0, a1, a2, b0, ... c2."""
        return [self.layout(index, {CABINET: stood(*stand)}) for index, stand in enumerate(STANDS)]

    def build(self, spec: mujoco.MjSpec) -> None:
        arena.room(spec, FLOOR)
        spec.visual.map.znear = 0.016  # of the extent, 2 cm: the camera sits behind the face of the head
        spec.stat.center = [0.0, 0.0, -0.3]

    def opening(self, state: State) -> Floats:
        """(n,) how far the drawer is open, m."""
        return state.joint(f"{CABINET}/{self.drawer}")

    def panel(self, ahead: float, up: float, facing: Quat | None = None) -> To:
        """To a point before the panel of the drawer, above the middle of its top edge, m."""
        return To(f"{CABINET}/{self.drawer}_handle", (FRONT + ahead, 0.0, EDGE + up), facing)


class OpenTopDrawer(DrawerTask):
    """Pull the top drawer open."""

    name = "google_robot_open_top_drawer"
    instruction = "open top drawer"
    paraphrases = ("pull the top drawer open", "slide out the top drawer", "open the drawer at the top")
    drawer = "top"
    stages = (
        Stage("move", "the drawer is open by more than 1 cm"),
        Stage("half", "the drawer is open by more than 7.5 cm"),
        Stage("open", "the drawer is open by at least 15 cm"),
    )

    def reached(self, state: State) -> dict[str, Bools]:
        out = self.opening(state)
        return {"move": out > 0.01, "half": out > OPEN / 2, "open": out >= OPEN}

    def solved(self, state: State) -> Bools:
        return self.opening(state) >= OPEN

    def expert(self) -> Policy:
        """With the fingers half open over the edge of the panel, shut, and back."""
        return Waypoints(
            {
                ROBOT: (
                    Leg(name="part", way=Shift(), grip=PARTED, within=0.1, turned=1.0),
                    Leg(name="before", way=self.panel(0.058, 0.024, HOOK), grip=0, within=0.02, turned=0.12),
                    Leg(
                        name="over", way=self.panel(-0.031, -0.056, HOOK), grip=0, within=0.008, turned=0.12, speed=0.3
                    ),
                    Leg(name="shut", way=Shift(), within=0.05, hold=4, grip=1, turned=0.4),
                    Leg(name="pull", way=Shift((-0.28, 0.0, 0.0)), within=0.02, speed=0.3, grip=1, turned=0.4),
                )
            }
        )


class OpenMiddleDrawer(OpenTopDrawer):
    """Pull the middle drawer open."""

    name = "google_robot_open_middle_drawer"
    instruction = "open middle drawer"
    paraphrases = ("pull the middle drawer open", "slide out the middle drawer", "open the drawer in the middle")
    drawer = "middle"


class OpenBottomDrawer(OpenTopDrawer):
    """Pull the bottom drawer open."""

    name = "google_robot_open_bottom_drawer"
    instruction = "open bottom drawer"
    paraphrases = ("pull the bottom drawer open", "slide out the bottom drawer", "open the drawer at the bottom")
    drawer = "bottom"


class CloseTopDrawer(DrawerTask):
    """Push the top drawer shut."""

    name = "google_robot_close_top_drawer"
    instruction = "close top drawer"
    paraphrases = ("push the top drawer shut", "slide in the top drawer", "close the drawer at the top")
    drawer = "top"
    begins = AJAR
    stages = (
        Stage("move", "the drawer is pushed in by more than 1 cm"),
        Stage("half", "the drawer is open by less than 12.5 cm"),
        Stage("close", "the drawer is open by at most 5 cm"),
    )

    def reached(self, state: State) -> dict[str, Bools]:
        out = self.opening(state)
        return {"move": out < AJAR - 0.01, "half": out < (AJAR + SHUT) / 2, "close": out <= SHUT}

    def solved(self, state: State) -> Bools:
        return self.opening(state) <= SHUT

    def expert(self) -> Policy:
        """With the fist against the panel."""
        return Waypoints(
            {
                ROBOT: (
                    Leg(name="fist", way=Shift(), grip=1, within=0.1, turned=1.0, hold=2),
                    Leg(name="before", way=self.panel(0.10, 0.06, PUSH), grip=0, within=0.03, turned=0.3),
                    Leg(name="down", way=self.panel(0.10, -0.05, PUSH), grip=0, within=0.03, turned=0.3, speed=0.5),
                    Leg(name="push", way=self.panel(-0.05, -0.05, PUSH), grip=0, within=0.01, turned=0.3, speed=0.3),
                )
            }
        )


class CloseMiddleDrawer(CloseTopDrawer):
    """Push the middle drawer shut."""

    name = "google_robot_close_middle_drawer"
    instruction = "close middle drawer"
    paraphrases = ("push the middle drawer shut", "slide in the middle drawer", "close the drawer in the middle")
    drawer = "middle"


class CloseBottomDrawer(CloseTopDrawer):
    """Push the bottom drawer shut."""

    name = "google_robot_close_bottom_drawer"
    instruction = "close bottom drawer"
    paraphrases = ("push the bottom drawer shut", "slide in the bottom drawer", "close the drawer at the bottom")
    drawer = "bottom"
