"""Rooms for mobile robots: outlines, obstacles, and distances around them."""

from foretell.rooms.geodesic import DistanceField, Geodesic, ways_of
from foretell.rooms.picture import Trail, plan
from foretell.rooms.room import Room
from foretell.rooms.route import Route, draw_route, route_between
from foretell.rooms.walls import Walls

__all__ = [
    "DistanceField", "Geodesic", "Room", "Route", "Trail", "Walls", "draw_route", "plan", "route_between", "ways_of",
]  # fmt: skip
