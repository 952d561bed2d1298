"""Datasets of robot trajectories in public formats, read and written without the package that defines them."""

from foretell.datasets.lerobot_read import LeRobotData, is_lerobot
from foretell.datasets.lerobot_write import LeRobotWriter

__all__ = ["LeRobotData", "LeRobotWriter", "is_lerobot"]
