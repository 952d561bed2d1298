"""Close a drawer. SIMPLER's google_robot_close_drawer and its three drawers: same layouts, rule and limit."""

from __future__ import annotations

from foretell.arrays import Bools
from foretell.tasks.drawers import DrawerTask, only, panel
from foretell.tasks.state import State
from foretell.tasks.task import Stage
from foretell.tasks.waypoints import Leg, Shift, pointing

AJAR, SHUT = 0.20, 0.05
"""How far the drawer is open at the start; what counts as closed, m."""
PUSH = pointing((-0.45, 0.0, -0.9), (1.0, 0.0, 0.0))
"""How the expert's hand points to push, in the frame of a drawer, whose x points to the robot."""


class CloseDrawer(DrawerTask):
    """Push the drawer shut that the instruction names, the only one that is open."""

    name = "google_robot_close_drawer"
    words = (
        "close {drawer} drawer",
        "push the {drawer} drawer shut",
        "slide in the {drawer} drawer",
        "close the drawer {where}",
    )
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

    def legs(self, drawer: str) -> tuple[Leg, ...]:
        """With the fist against the panel."""
        return (
            Leg(name="fist", way=Shift(), grip=1, within=0.1, turned=1.0, hold=2),
            Leg(name="before", way=panel(drawer, 0.10, 0.06, PUSH), grip=0, within=0.03, turned=0.3),
            Leg(name="down", way=panel(drawer, 0.10, -0.05, PUSH), grip=0, within=0.03, turned=0.3, speed=0.5),
            Leg(name="push", way=panel(drawer, -0.05, -0.05, PUSH), grip=0, within=0.01, turned=0.3, speed=0.3),
        )


CloseTopDrawer = only(CloseDrawer, "top", "CloseTopDrawer")
CloseMiddleDrawer = only(CloseDrawer, "middle", "CloseMiddleDrawer")
CloseBottomDrawer = only(CloseDrawer, "bottom", "CloseBottomDrawer")
