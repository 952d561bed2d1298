"""What a seeing policy of SIMPLER's robots reads and returns, for each task: one camera and the hand's own pose in,
metres, radians and a gripper command out. Networks work in shares of a view's `translation` and `rotation`; +1 closes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.registry import resolve
from foretell.spec import ActionSpec, Stream
from foretell.tasks.suites import SIMPLER_WIDOWX

__all__ = ["COKE", "CROPS", "HEIGHT", "VIEWS", "WIDOWX", "WIDTH", "TaskView"]

HEIGHT, WIDTH = 96, 128
"""Of a picture, pixels."""
CROPS = {"widowx": (8, 88, 0, 104), "google_robot": (10, 74, 4, 124)}
"""Top, bottom, left and right of what an eye looks at, pixels: where objects can be in any task of a robot. Sides are
multiples of 4."""
WIDOWX = SIMPLER_WIDOWX.tasks
COKE = "google_robot_pick_coke_can"


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """One task as a network has it."""

    robot: str
    camera: str
    things: tuple[str, str]
    """The object that is moved, and where it goes; the same one twice where it goes nowhere."""
    translation: float
    """An arm motion of 1, m."""
    rotation: float
    """An arm motion of 1, rad."""

    @property
    def own(self) -> dict[str, Stream]:
        """The hand's own pose: 8 numbers."""
        sizes = {"ee_pos": 3, "ee_quat": 4, "gripper": 1}
        return {f"{self.robot}/{name}": Stream((n,)) for name, n in sizes.items()}

    @property
    def pictures(self) -> dict[str, Stream]:
        return {f"{self.camera}/rgb": Stream((HEIGHT, WIDTH, 3))}

    @property
    def poses(self) -> dict[str, Stream]:
        """Where the objects are, which only the teacher sees: 14 numbers."""
        return {f"{thing}/{what}": Stream((n,)) for thing in self.things for what, n in (("pos", 3), ("quat", 4))}

    def scale(self, action: ActionSpec) -> np.ndarray:
        """(7,) what an action is divided by: its parts are then about -1 to 1, and +1 closes the gripper."""
        shut = -1.0 if action.dims[-1].grips == "opening" else 1.0
        return np.array([self.translation] * 3 + [self.rotation] * 3 + [shut])


def _view(task: str) -> TaskView:
    kind = resolve("tasks", task)
    (robot,) = kind.robots
    moved = next(name for name, role in kind.roles.items() if role == "MO")
    goal = next((name for name, role in kind.roles.items() if role == "RO"), moved)
    slow = robot == "widowx"
    return TaskView(
        robot=robot,
        camera="third_view" if slow else "google_robot/overhead",
        things=(moved, goal),
        translation=0.05 if slow else 0.15,
        rotation=0.6,
    )


VIEWS: dict[str, TaskView] = {task: _view(task) for task in (*WIDOWX, COKE)}
