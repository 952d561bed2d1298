"""What is asked of a policy."""

from foretell.tasks.task import Camera, Clutter, Mount, Stage, State, Task

__all__ = ["Camera", "Clutter", "Mount", "Stage", "State", "Task"]
