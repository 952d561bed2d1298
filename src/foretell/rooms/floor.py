"""Floors: where the middle of a round robot may be, by shapely."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.errors import UsageError
from foretell.rooms.room import Room

__all__ = ["EDGE", "Floor", "need_shapely", "shape_of"]

ARC = 8
"""Chords of a quarter circle around a corner: the path along them is 0.16 % shorter than the arc."""
SLACK = 1e-4
"""Metres by which a line may leave the floor: it may run along its edge."""
EDGE = 1e-9
"""Metres by which a point that lies on the edge by computation may be off it."""


def need_shapely() -> Any:
    """shapely. Raises UsageError with what to install where it is missing."""
    try:
        import shapely
    except ImportError:
        raise UsageError("distances in rooms need shapely: pip install 'foretell[navigation]'") from None
    return shapely


def shape_of(room: Room) -> Any:
    """The outline without the obstacles, as a shape of shapely."""
    shapely = need_shapely()
    whole = shapely.Polygon(room.outline)
    return whole.difference(shapely.union_all([shapely.Polygon(corners) for corners in room.obstacles]))


class Floor:
    """The part of a room that the middle of a disc of `radius` metres can take. It may fall into islands."""

    def __init__(self, room: Room, radius: float):
        if not (math.isfinite(radius) and 0 <= radius <= 100):
            raise UsageError(f"radius of the robot should be from 0 to 100 m (given: {radius})")
        self.room, self.radius = room, float(radius)
        shapely = need_shapely()
        space = shape_of(room).buffer(-self.radius, quad_segs=ARC)
        self.islands = tuple(part for part in shapely.get_parts(space) if part.area > 0)
        """Shapes of shapely that no path connects, the largest first."""
        self.islands = tuple(sorted(self.islands, key=lambda island: -island.area))
        if not self.islands:
            raise UsageError(
                f"room {room.name!r:.100}: a robot of radius {self.radius:g} m fits nowhere: "
                f"the room is {room.bounds[2] - room.bounds[0]:.3g} x {room.bounds[3] - room.bounds[1]:.3g} m"
            )
        self.shape = shapely.MultiPolygon(list(self.islands))
        wide = self.shape.buffer(SLACK, join_style="mitre")
        self._wide, self._edge = wide, wide.boundary
        self._ample = [island.buffer(EDGE, join_style="mitre") for island in self.islands]
        for shape in (self._edge, self._wide, *self._ample):
            shapely.prepare(shape)
        self._shapely = shapely

    def free(self, points: Floats) -> Bools:
        """(n,) whether the robot can stand with its middle at points (n, 2)."""
        return np.asarray(self.island(points) >= 0)

    def island(self, points: Floats) -> Any:
        """(n,) the number of the island on which points (n, 2) lie, -1 for those on none."""
        points = np.asarray(points, dtype=float).reshape(-1, 2)
        number = np.full(len(points), -1)
        for i, island in enumerate(self._ample):
            number[self._shapely.intersects_xy(island, points[:, 0], points[:, 1])] = i
        return number

    def snap(self, points: Floats, island: int | None = None) -> Floats:
        """(n, 2) the nearest free points, as Habitat takes them, of one island or of any; free ones stay."""
        points = np.array(points, dtype=float).reshape(-1, 2)
        off = np.flatnonzero(~self.free(points))
        if len(off):
            shape = self.shape if island is None else self.islands[island]
            ends = self._shapely.shortest_line(self._shapely.points(points[off]), shape)
            points[off] = self._shapely.get_coordinates(ends).reshape(-1, 2, 2)[:, 1]
        return points

    def sees(self, starts: Floats, ends: Floats) -> Bools:
        """(n,) whether the robot can drive straight from free points (n, 2) to free points (n, 2)."""
        lines = self._shapely.linestrings(np.stack([starts, ends], axis=1))
        return np.asarray(~self._shapely.intersects(self._edge, lines))

    @cached_property
    def reach(self) -> Floats:
        """(islands,) metres from the middle of each island to its farthest corner: Habitat's island radius."""
        middles = [np.array(island.centroid.coords[0]) for island in self.islands]
        corners = [np.array(island.exterior.coords) for island in self.islands]
        return np.array([np.hypot(*(c - m).T).max() for c, m in zip(corners, middles, strict=True)])

    @cached_property
    def corners(self) -> tuple[Floats, Floats, Floats]:
        """(v, 2) where shortest paths may turn: corners of the floor that point into it, such as those around a box;
        and the ones before and after them along the edge."""
        before, at, after = [], [], []
        for island in self.islands:
            # free space is to the left of every edge
            shape = self._shapely.orient_polygons(island)
            for ring in (shape.exterior, *shape.interiors):
                points = np.array(ring.coords)[:-1]
                before.append(np.roll(points, 1, axis=0))
                at.append(points)
                after.append(np.roll(points, -1, axis=0))
        b, a, c = np.concatenate(before), np.concatenate(at), np.concatenate(after)
        into = (a - b)[:, 0] * (c - a)[:, 1] - (a - b)[:, 1] * (c - a)[:, 0] < 0
        return a[into], b[into], c[into]

    def sample(self, count: int, rng: np.random.Generator, island: int | None = None) -> Floats:
        """(count, 2) free points, each as likely as any other."""
        shape = self.shape if island is None else self.islands[island]
        x0, y0, x1, y1 = shape.bounds
        self._shapely.prepare(shape)
        points = np.empty((0, 2))
        while len(points) < count:
            tries = rng.uniform([x0, y0], [x1, y1], (2 * count + 16, 2))
            points = np.concatenate([points, tries[self._shapely.contains_xy(shape, tries[:, 0], tries[:, 1])]])
        return points[:count]
