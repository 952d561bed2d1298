"""Episodes in formats of other tools: LeRobot datasets, Rerun recordings, CSV; and demonstrations of the expert."""

from foretell.export.demos import demos
from foretell.export.export import Exported, export

__all__ = ["Exported", "demos", "export"]
