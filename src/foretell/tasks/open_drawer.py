"""Open a drawer. SIMPLER's google_robot_open_drawer and its three drawers: same layouts, rule and limit."""

from __future__ import annotations

from foretell.arrays import Bools
from foretell.tasks.drawers import OPEN, DrawerTask, only, pull
from foretell.tasks.state import State
from foretell.tasks.task import Stage
from foretell.tasks.waypoints import Leg


class OpenDrawer(DrawerTask):
    """Pull the drawer open that the instruction names."""

    name = "google_robot_open_drawer"
    words = (
        "open {drawer} drawer",
        "pull the {drawer} drawer open",
        "slide out the {drawer} drawer",
        "open the drawer {where}",
    )
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

    def legs(self, drawer: str) -> tuple[Leg, ...]:
        return pull(drawer)


OpenTopDrawer = only(OpenDrawer, "top", "OpenTopDrawer")
OpenMiddleDrawer = only(OpenDrawer, "middle", "OpenMiddleDrawer")
OpenBottomDrawer = only(OpenDrawer, "bottom", "OpenBottomDrawer")
