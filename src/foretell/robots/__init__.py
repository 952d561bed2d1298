"""Robots, and the controllers that turn actions into actuator targets."""

from foretell.robots.controller import Controller, EndEffectorDelta, JointPosition, make_controller
from foretell.robots.panda import ArmPhysics, Panda

__all__ = ["ArmPhysics", "Controller", "EndEffectorDelta", "JointPosition", "Panda", "make_controller"]
