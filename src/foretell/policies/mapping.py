"""An agent that keeps a map: cells that its depth camera saw free or occupied, and the shortest way over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.policies.navigation import ENOUGH, GOAL, Navigator
from foretell.policy import Chunk
from foretell.robots.locobot import LoCoBot
from foretell.spec import Stream
from foretell.tasks.steer import NEEDED, clear, headings, wrapped

__all__ = ["DepthPlanner"]

CELL, SIDE = 0.2, 112
"""m of a cell, and cells of a side of the map. The robot starts in its middle."""
FREE, HIT, BUMP = -0.4, 1.0, 4.0
"""What a ray that passes a cell, one that ends there, and a collision there add to the evidence of an obstacle."""
SURE = 0.5
"""Evidence from which on a cell counts as occupied."""
CLOSE, CLOSED = 4.0, 60.0
"""Cost of a cell beside an occupied one, and of an occupied one; a free one costs 1, an unknown one 1.3."""
UNKNOWN = 1.3
AHEAD, BLOCKED = 0.3, 1.0
"""m ahead at which a cell with so much evidence forbids a step."""
MARGIN = 8
"""Cells around what was seen that a plan may use."""
TRUSTED = 5.0
"""m that it believes its depth camera."""


@lru_cache(maxsize=64)
def _edges(rows: int, columns: int) -> tuple[Ints, Ints, Floats]:
    """Steps to one of eight neighbours, sorted by the cell they lead to: where those of each cell begin (cells + 1,);
    the cells that they come from (e,), and their lengths in cells (e,)."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    starts, ends, lengths = [], [], []
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        here = np.flatnonzero((row + dy < rows) & (column + dx < columns) & (column + dx >= 0))
        there = here + dy * columns + dx
        starts += [here, there]
        ends += [there, here]
        lengths += [np.full(2 * len(here), math.hypot(dx, dy))]
    start, end, length = np.concatenate(starts), np.concatenate(ends), np.concatenate(lengths)
    order = np.lexsort((start, end))
    begins = np.searchsorted(end[order], np.arange(rows * columns + 1)).astype(np.int32)
    return begins, start[order].astype(np.int32), length[order]


class DepthPlanner(Navigator):
    """Maps what its depth camera sees and plans on the map: 64 rays over 45 degrees, GPS, compass and bumper."""

    reads = {
        **GOAL,
        "locobot/depth_rays": Stream((LoCoBot.COLUMNS,)),
        "locobot/gps": Stream((2,)),
        "locobot/compass": Stream((1,)),
        "locobot/bump": Stream((1,)),
    }
    EVERY = 4
    """Actions between two plans; a collision, or a wall close ahead, asks for one at once."""

    def __init__(self) -> None:
        super().__init__()
        from foretell.planar.rays import columns

        self._angles = columns(LoCoBot.COLUMNS, LoCoBot.VIEW)
        self._field: dict[int, Floats] = {}

    def fresh(self) -> Mapping[str, Any]:
        return {**super().fresh(), "map": np.zeros((SIDE, SIDE), dtype=np.float32), "age": 0}

    def reset(self, slots: Ints, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        super().reset(slots, instructions, seeds)
        for slot in slots.tolist():
            self._field.pop(slot, None)

    def act(self, slots: Ints, observations: Mapping[str, Any]) -> Chunk:
        distance, bearing = np.asarray(observations["goal/polar"]).T
        depth, bump = np.asarray(observations["locobot/depth_rays"]), observations["locobot/bump"][:, 0] > 0
        x, y = np.asarray(observations["locobot/gps"]).T
        pose = np.stack([x, y, observations["locobot/compass"][:, 0]], axis=1)
        ranges = depth / np.cos(self._angles)
        room = self.free(slots)
        room[:, 0] = clear(ranges, self._angle, self._angles)[:, 0] + LoCoBot.CAMERA[0]
        room[bump, 0] = 0.0
        wanted = np.empty(len(slots))
        for row, slot in enumerate(slots.tolist()):
            self._see(slot, pose[row], ranges[row], bool(bump[row]))
            goal = pose[row, :2] + distance[row] * _along(pose[row, 2] + bearing[row])
            if slot not in self._field or bump[row] or room[row, 0] < NEEDED or self._memory["age"][slot] >= self.EVERY:
                self._field[slot], self._memory["age"][slot] = self._plan(slot, pose[row], goal), 0
            self._memory["age"][slot] += 1
            near = distance[row] < 2 * CELL
            wanted[row] = bearing[row] if near else self._next(self._field[slot], pose[row])
        room = self._around(slots, pose, room)
        return self.settled(slots, self.go(wrapped(wanted), distance < ENOUGH, room), room)

    def _see(self, slot: int, pose: Floats, ranges: Floats, bump: bool) -> None:
        """Enter rays (rays,) into a slot's map."""
        evidence = self._memory["map"][slot]
        eye = pose[:2] + LoCoBot.CAMERA[0] * _along(pose[2])
        along = _along(pose[2] + self._angles)
        seen = np.minimum(ranges, TRUSTED)
        steps = np.arange(0.0, TRUSTED, CELL / 2)
        passed = (eye + steps[:, None, None] * along)[steps[:, None] < seen - CELL / 2]
        evidence.ravel()[np.unique(_cells(passed))] += FREE
        ends = (eye + (ranges + 0.05)[:, None] * along)[ranges < TRUSTED]
        evidence.ravel()[np.unique(_cells(ends))] += HIT - FREE
        if bump:
            ahead = pose[:2] + (LoCoBot.RADIUS + 0.08) * _along(pose[2])
            evidence.ravel()[_cells(ahead[None])] += BUMP
        np.clip(evidence, -3.0, 5.0, out=evidence)

    def _plan(self, slot: int, pose: Floats, goal: Floats) -> Floats:
        """(SIDE, SIDE) cost of the way from each cell to the goal; inf far from all that was seen."""
        from scipy.ndimage import maximum_filter
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import dijkstra

        end = int(_cells(goal[None])[0])
        part = _within(self._memory["map"][slot], [end, int(_cells(pose[None, :2])[0])])
        evidence = self._memory["map"][slot][part]
        taken = evidence >= SURE
        cost = np.where(evidence < 0, 1.0, UNKNOWN)
        cost[maximum_filter(taken, 3)] = CLOSE
        cost[taken] = CLOSED
        begins, start, length = _edges(*cost.shape)
        graph = csr_matrix((length * cost.ravel()[start], start, begins), shape=(cost.size, cost.size))
        row, column = divmod(end, SIDE)
        far = dijkstra(graph, indices=(row - part[0].start) * cost.shape[1] + column - part[1].start)
        field = np.full((SIDE, SIDE), np.inf)
        field[part] = far.reshape(cost.shape)
        return field

    def _next(self, field: Floats, pose: Floats) -> float:
        """rad to the left: down the field, some cells ahead."""
        row, column = divmod(int(_cells(pose[None, :2])[0]), SIDE)
        for _ in range(4):
            top, left = max(row - 1, 0), max(column - 1, 0)
            around = field[top : row + 2, left : column + 2]
            down = np.unravel_index(int(np.argmin(around)), around.shape)
            row, column = top + int(down[0]), left + int(down[1])
        middle = (np.array([column, row]) + 0.5 - SIDE / 2) * CELL
        dx, dy = middle - pose[:2]
        return math.atan2(dy, dx) - float(pose[2])

    def _around(self, slots: Ints, pose: Floats, room: Floats) -> Floats:
        """Room (n, k) in each direction, by the map as well: no step into an occupied cell."""
        turn = headings(self._angle)
        for row, slot in enumerate(slots.tolist()):
            ahead = pose[row, :2] + AHEAD * _along(pose[row, 2] + turn)
            taken = self._memory["map"][slot].ravel()[_cells(ahead)] >= BLOCKED
            room[row, taken] = 0.0
        return room


def _within(evidence: Any, cells: list[int]) -> tuple[slice, slice]:
    """Rows and columns of a map that have all that was seen and some cells, with room to go around."""
    seen = evidence != 0
    seen.ravel()[cells] = True
    parts = []
    for axis in (1, 0):
        at = np.flatnonzero(seen.any(axis=axis))
        low, high = max(0, at[0] - MARGIN), min(SIDE, at[-1] + MARGIN + 1)
        parts.append(slice(low // 8 * 8, min(SIDE, -(-high // 8) * 8)))  # few sizes, so that graphs are kept
    return parts[0], parts[1]


def _along(angle: Any) -> Floats:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _cells(points: Floats) -> Ints:
    """(n,) numbers of the cells of points (n, 2); what lies beyond the map is at its edge."""
    at = np.clip(np.floor(points / CELL + SIDE / 2).astype(int), 0, SIDE - 1)
    return np.asarray(at[:, 1] * SIDE + at[:, 0])
