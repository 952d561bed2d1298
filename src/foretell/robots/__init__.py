"""Robots, and the controllers that turn actions into actuator targets."""

from foretell.robots.controller import Controller, EndEffectorDelta, Grip, JointPosition, controllers
from foretell.robots.panda import Panda
from foretell.robots.robot import Group, Robot, RobotPhysics, Steps

__all__ = [
    "Controller",
    "EndEffectorDelta",
    "Grip",
    "Group",
    "JointPosition",
    "Panda",
    "Robot",
    "RobotPhysics",
    "Steps",
    "controllers",
]
