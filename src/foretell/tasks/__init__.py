"""What is asked of a policy."""

from foretell.camera import Camera
from foretell.tasks.state import State, Volume
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Clutter, Mount, Stage, Task

__all__ = ["Camera", "Clutter", "Mount", "Stage", "State", "TabletopTask", "Task", "Volume"]
