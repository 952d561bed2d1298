"""What is asked of a policy."""

from foretell.tasks.task import Camera, Mount, Stage, State, Task

__all__ = ["Camera", "Mount", "Stage", "State", "Task"]
