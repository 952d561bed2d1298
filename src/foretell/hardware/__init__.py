"""Robots as worlds: `world: robot` runs a study on hardware, with a person who sets the scene and judges."""

from foretell.hardware.file import RobotFile

__all__ = ["RobotFile"]
