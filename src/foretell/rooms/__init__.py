"""Rooms for mobile robots: outlines, obstacles, and distances around them."""

from foretell.rooms.room import Room
from foretell.rooms.walls import Walls

__all__ = ["Room", "Walls"]
