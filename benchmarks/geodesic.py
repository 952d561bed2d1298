"""Distances that a round robot must drive: the visibility graph that foretell has, beside fast marching on a grid.

    pip install scikit-fmm
    python benchmarks/geodesic.py            # about a minute

Both see the same floor: the room without what the robot's middle cannot take. `graph` is `foretell.rooms.Geodesic`.
`march` solves the eikonal equation from the goal on a grid (scikit-fmm, second order) and reads the distance between
cells. `pulled` then follows the steepest descent to the goal, and pulls the string: it takes the shortest way along
those points that see each other.

Errors are of closed forms (a corner, a corridor, two corners, a circle), and of the graph's distances in the lab, where
no closed form exists. Times are CPU milliseconds, the median of several: `build` once per room, `goal` once per goal,
`point` for each point that is asked for, of 400 at once.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from foretell.rooms import Geodesic, Room
from foretell.rooms.floor import Floor
from foretell.rooms.lab import box

R = 0.175
CELLS = (0.05, 0.02)
"""m"""
MOST = 80
"""Points of a way whose string is pulled, about."""


def bend(start: tuple[float, float], goal: tuple[float, float], centre: tuple[float, float], radius: float) -> float:
    """A string the longer way around a circle: two tangents and an arc."""
    a, b = (math.dist(point, centre) for point in (start, goal))
    angle = 2 * math.pi - math.acos(np.dot(np.subtract(start, centre), np.subtract(goal, centre)) / (a * b))
    arc = angle - math.acos(radius / a) - math.acos(radius / b)
    return math.sqrt(a * a - radius**2) + math.sqrt(b * b - radius**2) + radius * arc


def cases() -> list[tuple[str, Room, tuple[float, float], tuple[float, float], float]]:
    """Name, room, start, goal, and metres by a closed form."""
    hall = box(5, 5, 10, 10)
    turns = np.linspace(0, 2 * math.pi, 96, endpoint=False)
    ring = np.stack([5 + 2 * np.cos(turns), 5 + 2 * np.sin(turns)], axis=1)
    corridor = np.array([[0, 0], [6, 0], [6, 1], [1, 1], [1, 6], [0, 6]])
    far = math.dist((3.0, 1.0), (4.9, 6.0))
    arc = math.pi / 2 + math.atan2(5, 1.9) - math.acos(R / far)
    ends = (4.0, 1.0), (9.0, 6.0)
    corner = Room(name="corner", outline=hall, obstacles=(box(7.5, 2.5, 5, 5),))
    two = Room(name="two corners", outline=hall, obstacles=(box(5, 3, 0.2, 6),))
    passage, disc = Room(name="corridor", outline=corridor), Room(name="circle", outline=hall, obstacles=(ring,))
    across, around = ((5.5, 0.5), (0.5, 5.5)), ((1.0, 5.0), (9.0, 5.0))
    return [
        ("corner", corner, *ends, bend(*ends, (5, 5), R)),
        ("corridor", passage, *across, bend(*across, (1, 1), R)),
        ("two corners", two, (3.0, 1.0), (7.0, 1.0), 2 * (math.sqrt(far**2 - R**2) + R * arc) + 0.2),
        ("circle", disc, *around, bend(*around, (5, 5), 2 + R)),
    ]


class March:
    """Fast marching on a grid."""

    def __init__(self, room: Room, cell: float):
        self.floor, self.cell = Floor(room, R), cell
        x0, y0, x1, y1 = room.bounds
        self.x, self.y = np.arange(x0, x1 + cell, cell), np.arange(y0, y1 + cell, cell)
        grid = np.stack(np.meshgrid(self.x, self.y, indexing="ij"), axis=-1)
        self.blocked = ~self.floor.free(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        self.grid = grid

    def field(self, goal: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
        import skfmm
        from scipy.interpolate import RegularGridInterpolator
        from scipy.ndimage import distance_transform_edt

        away = np.hypot(*(self.grid - goal).transpose(2, 0, 1))
        front = np.ma.MaskedArray(away - 1.5 * self.cell, self.blocked)
        far = skfmm.distance(front, dx=self.cell, order=2) + 1.5 * self.cell
        self.far = np.where(self.blocked | np.ma.getmaskarray(far), np.inf, np.ma.getdata(far))
        # beside a wall the nearest free cell is read
        nearest = distance_transform_edt(~np.isfinite(self.far), return_distances=False, return_indices=True)
        self.read = RegularGridInterpolator(
            (self.x, self.y), self.far[tuple(nearest)], bounds_error=False, fill_value=None
        )
        return lambda points: np.asarray(self.read(points))

    def pulled(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Metres of the way down the field, after its string is pulled."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import dijkstra

        at = [int(np.abs(axis - v).argmin()) for axis, v in zip((self.x, self.y), start, strict=True)]
        way, reach = [np.array(start)], 2
        while np.hypot(*(way[-1] - goal)) > 3 * self.cell and len(way) < 5000:
            i, j = at
            rows = slice(max(0, i - reach), i + reach + 1), slice(max(0, j - reach), j + reach + 1)
            window = self.far[rows]
            k = np.unravel_index(int(np.argmin(window)), window.shape)
            at = [rows[0].start + int(k[0]), rows[1].start + int(k[1])]
            if at == [i, j]:
                break
            way.append(np.array([self.x[at[0]], self.y[at[1]]]))
        points = np.array([*way[:-1][:: max(1, len(way) // MOST)], way[-1], goal])
        a, b = (each.ravel() for each in np.meshgrid(*[np.arange(len(points))] * 2))
        a, b = a[a < b], b[a < b]
        a, b = (each[self.floor.sees(points[a], points[b]) | (b == a + 1)] for each in (a, b))
        lengths = csr_matrix((np.hypot(*(points[a] - points[b]).T), (a, b)), shape=(len(points), len(points)))
        return float(dijkstra(lengths, indices=0)[-1])


def cpu(work: Callable[[], Any], repeats: int) -> float:
    """Median CPU milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


def closed_forms() -> list[dict[str, Any]]:
    """Relative errors of each way in each case."""
    rows = []
    for name, room, start, goal, truth in cases():
        graph = float(Geodesic(room, R).distance(np.array([start]), np.array([goal]))[0])
        row: dict[str, Any] = {"case": name, "metres": truth, "graph": graph / truth - 1}
        for cell in CELLS:
            march = March(room, cell)
            row[f"march {cell:g}"] = float(march.field(goal)(np.array([start]))[0]) / truth - 1
            row[f"pulled {cell:g}"] = march.pulled(start, goal) / truth - 1
        rows.append(row)
    return rows


def times(name: str, repeats: int) -> list[dict[str, Any]]:
    """CPU milliseconds of each way in a room, and how far from the graph it is."""
    room = Room.named(name)
    ways = Geodesic(room, R)
    points = ways.floor.sample(400, np.random.default_rng(0))
    goal = (float(points[0, 0]), float(points[0, 1]))
    truth = ways.field(goal)(points)
    far = (truth > 1.0) & np.isfinite(truth)
    field = ways.field(goal)
    rows = [
        {
            "room": name, "way": "graph", "build": cpu(lambda: Geodesic(room, R), repeats),
            "goal": cpu(lambda: ways.field(goal), repeats), "point": cpu(lambda: field(points), repeats) / len(points),
            "error": 0.0,
        }
    ]  # fmt: skip
    for cell in CELLS:
        march = March(room, cell)
        read = march.field(goal)
        errors = np.abs(read(points)[far] / truth[far] - 1)
        rows.append(
            {
                "room": name, "way": f"march {cell:g}", "build": cpu(lambda c=cell: March(room, c), repeats),
                "goal": cpu(lambda m=march: m.field(goal), repeats),
                "point": cpu(lambda r=read: r(points), repeats) / len(points), "error": float(errors.max()),
            }
        )  # fmt: skip
        some = [tuple(map(float, point)) for point in points[far][:40]]
        lengths = np.array([march.pulled(start, goal) for start in some])
        pull = cpu(lambda m=march, s=some: [m.pulled(start, goal) for start in s], 1) / len(some)
        error = float(np.abs(lengths / truth[far][:40] - 1).max())
        rows.append({**rows[-1], "way": f"pulled {cell:g}", "point": pull, "error": error})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--repeats", type=int, default=9, help="of every timed call")
    options = parser.parse_args()
    errors = closed_forms()
    costs = [row for name in ("lab_easy", "lab_hard", "apartment:0") for row in times(name, options.repeats)]
    if options.json:
        print(json.dumps({"errors": errors, "costs": costs}, indent=2))
        return
    ways = [key for key in errors[0] if key not in ("case", "metres")]
    print(f"{'error against closed forms':28}" + "".join(f"{way:>13}" for way in ways))
    for row in errors:
        print(f"{row['case']:18}{row['metres']:8.3f} m" + "".join(f"{row[way]:>+13.2%}" for way in ways))
    print(f"\n{'CPU ms':28}{'build':>9}{'goal':>9}{'point':>9}{'largest error':>15}")
    for row in costs:
        figures = f"{row['build']:9.1f}{row['goal']:9.2f}{row['point']:9.4f}{row['error']:15.2%}"
        print(f"{row['room']:14}{row['way']:14}{figures}")


if __name__ == "__main__":
    main()
