"""What is asked of a policy.

Names are imported when somebody asks for them: who only reads the names of events needs no simulator.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.camera import Camera as Camera
    from foretell.tasks.state import State as State
    from foretell.tasks.state import Volume as Volume
    from foretell.tasks.tabletop import TabletopTask as TabletopTask
    from foretell.tasks.task import Clutter as Clutter
    from foretell.tasks.task import Mount as Mount
    from foretell.tasks.task import Stage as Stage
    from foretell.tasks.task import Task as Task

__all__ = ["Camera", "Clutter", "Mount", "Stage", "State", "TabletopTask", "Task", "Volume"]

_WHERE = {
    "Camera": "foretell.camera",
    "Clutter": "foretell.tasks.task",
    "Mount": "foretell.tasks.task",
    "Stage": "foretell.tasks.task",
    "State": "foretell.tasks.state",
    "TabletopTask": "foretell.tasks.tabletop",
    "Task": "foretell.tasks.task",
    "Volume": "foretell.tasks.state",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'foretell.tasks' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
