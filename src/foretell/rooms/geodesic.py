"""Geodesic distance: the length of the shortest way that a round robot can drive, at any angle.

A shortest way is a taut string. It turns only at corners of the floor that point into it, and it touches the edge there
without crossing it. So the graph of such corners, joined where one sees the other along a tangent, holds every shortest
way. Corners are the ends of short chords around what the robot must not touch: see `ARC` in `floor`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.rooms.floor import Floor
from foretell.rooms.room import Room

__all__ = ["DistanceField", "Geodesic", "ways_of"]

FIRST = 3
"""Corners that are tried for each point, the shortest way first; then four times as many."""
GRAZE = 1e-10
"""Square metres: a line along a wall is one of its tangents, whatever the last bits say."""
BLOCK = 1_000_000
"""Pairs that are compared at a time: bounds memory."""


@lru_cache(maxsize=32)
def ways_of(room: Room, radius: float) -> Geodesic:
    """`Geodesic(room, radius)`, made once."""
    return Geodesic(room, radius)


class Geodesic:
    """Shortest ways in a room for a robot of a radius (m)."""

    def __init__(self, room: Room, radius: float):
        self.room, self.radius = room, float(radius)
        self.floor = Floor(room, radius)
        self.corners, before, after = self.floor.corners
        self._lines = np.stack([_line(self.corners, near) for near in (before, after)])
        self._edges = self._graph()

    def free(self, points: Floats) -> Bools:
        """(n,) whether the robot can stand with its middle at points (n, 2)."""
        return self.floor.free(points)

    def field(self, goal: Iterable[float]) -> DistanceField:
        """Distances to one goal, to be asked for many points."""
        return DistanceField(self, np.array([*goal][:2], dtype=float))

    def distance(self, starts: Floats, goals: Floats) -> Floats:
        """(n,) metres from points (n, 2) to points (n, 2); inf where no way leads. See `DistanceField` on points that
        are not free."""
        starts, goals = (np.asarray(points, dtype=float).reshape(-1, 2) for points in (starts, goals))
        starts, goals = np.broadcast_arrays(starts, goals)
        each, which = np.unique(goals, axis=0, return_inverse=True)
        result = np.empty(len(starts))
        for i, goal in enumerate(each):
            mine = which.ravel() == i
            result[mine] = self.field(goal)(starts[mine])
        return result

    def path(self, start: Iterable[float], goal: Iterable[float]) -> Floats:
        """(k, 2) the corners of the shortest way, both ends included; none where no way leads."""
        return self.field(goal).path(start)

    def check_spots(self, *names: str) -> None:
        """Raises UsageError where the robot cannot stand at a spot of the room, or cannot drive from the first to
        another. Without names: all of them."""
        chosen = names or tuple(self.room.spots)
        points = np.array([self.room.spots[name][:2] for name in chosen]).reshape(-1, 2)
        for name, point, island in zip(chosen, points.tolist(), self.floor.island(points), strict=True):
            if island < 0:
                expected = f"a robot of radius {self.radius:g} m touches a wall there"
                raise self.room.wrong(f"spots.{name}", expected, point)
            if island != self.floor.island(points[:1])[0]:
                expected = f"no way leads there from {chosen[0]} for a robot of radius {self.radius:g} m"
                raise self.room.wrong(f"spots.{name}", expected, point)

    def _graph(self) -> Any:
        """Sparse matrix of the distances between corners that see each other along a tangent."""
        from scipy.sparse import csr_matrix

        count = len(self.corners)
        rows, columns = list[Ints](), list[Ints]()
        size = max(1, BLOCK // max(1, count))
        for first in range(0, count, size):
            some = np.arange(first, min(count, first + size))
            both = self.tangent(self.corners[some]) & self.tangent(self.corners, some).T
            a, b = np.nonzero(both & (np.arange(count) > some[:, None]))
            a = some[a]
            sight = self.floor.sees(self.corners[a], self.corners[b])
            rows.append(a[sight])
            columns.append(b[sight])
        if not count:
            return csr_matrix((0, 0))
        start, end = np.concatenate(rows), np.concatenate(columns)
        lengths = np.hypot(*(self.corners[start] - self.corners[end]).T)
        ends = (np.append(start, end), np.append(end, start))
        return csr_matrix((np.tile(lengths, 2), ends), shape=(count, count))

    def tangent(self, points: Floats, corners: Ints | None = None) -> Bools:
        """(n, k) whether a line from points (n, 2) to corners (k,), or to all, leaves the wall there on one side."""
        lines = self._lines if corners is None else self._lines[:, corners]
        x, y = points[:, :1], points[:, 1:]
        # no matrix product: its last bits depend on how many points are asked for at once
        before, after = x * lines[0, :, 0], x * lines[1, :, 0]
        for left, line in ((before, lines[0]), (after, lines[1])):
            left += y * line[:, 1]
            left -= line[:, 2]
        before *= after
        return np.asarray(before >= -GRAZE)


class DistanceField:
    """Distances to one goal.

    A point that is not free is taken to the nearest free point that leads to the goal, as Habitat does, and the
    distance has the way to it: noise may push a robot a little into a wall. A free point on another island is
    infinitely far away, and so is one that is not finite. A distance is never below the straight line.
    """

    def __init__(self, ways: Geodesic, goal: Floats):
        from scipy.sparse.csgraph import dijkstra

        self.goal, self._ways = goal, ways
        floor, corners = ways.floor, ways.corners
        self._end = floor.snap(goal[None])[0]
        self._beyond = float(np.hypot(*(goal - self._end)))
        self.island = int(floor.island(self._end[None])[0])
        count = len(corners)
        if not count:
            self._far, self._next = np.empty(0), np.empty(0, dtype=int)
            return
        each = np.flatnonzero(ways.tangent(self._end[None])[0])
        each = each[floor.sees(np.broadcast_to(self._end, (len(each), 2)), corners[each])]
        edges = _with_goal(ways._edges, each, np.hypot(*(corners[each] - self._end).T))
        far, following = dijkstra(edges, directed=True, indices=count, return_predecessors=True)
        self._far, self._next = far[:count], following[:count]

    def __call__(self, points: Floats) -> Floats:
        """(n,) metres from points (n, 2)."""
        points = np.asarray(points, dtype=float).reshape(-1, 2)
        finite = np.isfinite(points).all(axis=1)
        result = np.full(len(points), math.inf)
        result[finite] = self._first(points[finite])[0]
        return result

    def path(self, start: Iterable[float]) -> Floats:
        """(k, 2) the corners of the shortest way from a point, both ends included; none where no way leads."""
        begin = np.array([*start][:2], dtype=float)
        if not math.isfinite(self(begin[None])[0]):
            return np.empty((0, 2))
        _, corner, snapped = self._first(begin[None])
        way, at = [begin, snapped[0]], int(corner[0])
        while 0 <= at < len(self._far):
            way.append(self._ways.corners[at])
            at = int(self._next[at])
        points = np.array([*way, self._end, self.goal])
        return np.asarray(points[np.append(True, np.hypot(*np.diff(points, axis=0).T) > 1e-9)])

    def _first(self, points: Floats) -> tuple[Floats, Ints, Floats]:
        """Of finite points (n, 2): (n,) distances, the corners (n,) of the first turns (-1: the way is straight), and
        (n, 2) snapped points."""
        floor, corners = self._ways.floor, self._ways.corners
        at = floor.snap(points, self.island)
        off = np.hypot(*(points - at).T)
        straight = np.hypot(*(at - self._end).T)
        result, first = np.full(len(points), math.inf), np.full(len(points), -1)
        same = (off > 0) | (floor.island(at) == self.island)
        todo = np.flatnonzero(same)
        clear = floor.sees(at[todo], np.broadcast_to(self._end, (len(todo), 2)))
        result[todo[clear]] = straight[todo[clear]]
        todo = todo[~clear]
        size = max(1, BLOCK // max(1, len(corners)))
        for begin in range(0, len(todo), size):
            some = todo[begin : begin + size]
            result[some], first[some] = self._around(at[some])
        whole = result + off + self._beyond
        return np.asarray(np.maximum(whole, np.hypot(*(points - self.goal).T))), first, at

    def _around(self, at: Floats) -> tuple[Floats, Ints]:
        """(n,) distances from free points (n, 2) that do not see the goal, and the corners of the first turns."""
        corners, count = self._ways.corners, len(self._ways.corners)
        result, first = np.full(len(at), math.inf), np.full(len(at), -1)
        if not count:
            return result, first
        x, y = at[:, :1] - corners[:, 0], at[:, 1:] - corners[:, 1]
        x *= x
        y *= y
        x += y
        whole = np.sqrt(x, out=x)
        whole += self._far
        whole[~self._ways.tangent(at)] = math.inf
        todo, width = np.arange(len(at)), FIRST
        while len(todo) and width < 2 * count:
            rows = whole[todo]
            order = np.argpartition(rows, min(width, count) - 1, axis=1)[:, :width]
            order = np.take_along_axis(order, np.argsort(np.take_along_axis(rows, order, axis=1), axis=1), axis=1)
            nearest = self._seen(at[todo], order)
            ready = np.flatnonzero(nearest >= 0)
            first[todo[ready]] = nearest[ready]
            result[todo[ready]] = rows[ready, nearest[ready]]
            todo, width = todo[nearest < 0], 4 * width
        first[np.isinf(result)] = -1
        return result, first

    def _seen(self, at: Floats, corners: Ints) -> Ints:
        """(n,) the first of corners (n, k) to which one can drive straight from points (n, 2); -1 where none is."""
        row, each = np.repeat(np.arange(len(at)), corners.shape[1]), corners.ravel()
        keep = np.flatnonzero(self._ways.floor.sees(at[row], self._ways.corners[each]))[::-1]
        nearest = np.full(len(at), -1)
        nearest[row[keep]] = each[keep]  # backwards, so that the first of a row stays
        return nearest


def _line(corners: Floats, near: Floats) -> Floats:
    """(v, 3) normals and offsets of the lines through corners (v, 2) and points near them (v, 2)."""
    along = (near - corners) / np.hypot(*(near - corners).T)[:, None]
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1)
    return np.append(normal, np.sum(normal * corners, axis=1)[:, None], axis=1)


def _with_goal(edges: Any, corners: Ints, lengths: Floats) -> Any:
    """The graph with one more node, the goal, from which edges lead to these corners (k,) of these lengths (k,)."""
    from scipy.sparse import csr_matrix

    count = edges.shape[0]
    data = np.append(edges.data, lengths)
    indices = np.append(edges.indices, corners)
    return csr_matrix((data, indices, np.append(edges.indptr, len(data))), shape=(count + 1, count + 1))
