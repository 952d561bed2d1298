"""Distances around obstacles, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.rooms import Room
from foretell.rooms.geodesic import Geodesic
from foretell.rooms.lab import LEGS, box

R = 0.175


def hall(*obstacles: np.ndarray, size: float = 10.0) -> Room:
    corners = np.array([[0, 0], [size, 0], [size, size], [0, size]])
    return Room(name="hall", outline=corners, obstacles=obstacles)


def between(room: Room, start: tuple[float, float], goal: tuple[float, float], radius: float = R) -> float:
    return float(Geodesic(room, radius).distance(np.array([start]), np.array([goal]))[0])


def around(start: tuple[float, float], goal: tuple[float, float], centre: tuple[float, float], radius: float) -> float:
    """A string from start to goal the longer way around a circle: two tangents and an arc."""
    a, b = (math.dist(point, centre) for point in (start, goal))
    angle = 2 * math.pi - math.acos(np.dot(np.subtract(start, centre), np.subtract(goal, centre)) / (a * b))
    arc = angle - math.acos(radius / a) - math.acos(radius / b)
    return math.sqrt(a * a - radius**2) + math.sqrt(b * b - radius**2) + radius * arc


def test_an_empty_room_is_straight() -> None:
    assert between(hall(), (1, 1), (9, 4)) == pytest.approx(math.hypot(8, 3))


def test_around_a_corner() -> None:
    """A wide box fills the lower right; the string bends around its corner at (5, 5)."""
    room = hall(box(7.5, 2.5, 5, 5))
    start, goal = (4.0, 1.0), (9.0, 6.0)
    assert between(room, start, goal) == pytest.approx(around(start, goal, (5, 5), R), rel=0.002)


def test_a_large_robot_around_a_corner() -> None:
    room = hall(box(7.5, 2.5, 5, 5))
    start, goal = (3.9, 1.0), (9.0, 6.1)
    assert between(room, start, goal, 1.0) == pytest.approx(around(start, goal, (5, 5), 1.0), rel=0.002)


def test_around_two_corners() -> None:
    """A wall 0.2 m thick: up one side, over its end, down the other."""
    room = hall(box(5, 3, 0.2, 6))
    start, goal = (3.0, 1.0), (7.0, 1.0)
    far = math.dist(start, (4.9, 6))
    arc = math.pi / 2 + math.atan2(5, 1.9) - math.acos(R / far)
    assert between(room, start, goal) == pytest.approx(2 * (math.sqrt(far**2 - R**2) + R * arc) + 0.2, rel=0.002)


def test_around_a_circle() -> None:
    turns = np.linspace(0, 2 * math.pi, 96, endpoint=False)
    room = hall(np.stack([5 + 2 * np.cos(turns), 5 + 2 * np.sin(turns)], axis=1))
    start, goal = (1.0, 5.0), (9.0, 5.0)
    assert between(room, start, goal) == pytest.approx(around(start, goal, (5, 5), 2 + R), rel=0.003)


def test_along_a_corridor() -> None:
    """An L of corridors 1 m wide: the string touches the inner corner only."""
    outline = np.array([[0, 0], [6, 0], [6, 1], [1, 1], [1, 6], [0, 6]])
    room = Room(name="corridor", outline=outline)
    start, goal = (5.5, 0.5), (0.5, 5.5)
    assert between(room, start, goal) == pytest.approx(around(start, goal, (1, 1), R), rel=0.002)


def test_no_way_is_infinite() -> None:
    room = hall(box(5, 5, 0.2, 10))
    ways = Geodesic(room, R)
    assert math.isinf(between(room, (1, 1), (9, 9)))
    assert ways.path((1, 1), (9, 9)).shape == (0, 2)
    assert between(room, (1, 1), (4, 9)) == pytest.approx(math.hypot(3, 8))


@pytest.mark.parametrize(("gap", "passes"), [(0.34, False), (0.36, True)])
def test_a_door_must_be_as_wide_as_the_robot(gap: float, passes: bool) -> None:
    half = (10 - gap) / 2
    room = hall(box(5, half / 2, 0.2, half), box(5, 10 - half / 2, 0.2, half))
    assert math.isfinite(between(room, (1, 5), (9, 5))) is passes


def test_distances_of_the_lab_are_sound() -> None:
    """Never below the straight line; the same there and back; the triangle inequality; as long as the path."""
    room = Room.named("lab_hard")
    ways = Geodesic(room, R)
    a, b, c = ways.floor.sample(3 * 60, np.random.default_rng(0)).reshape(3, 60, 2)
    there, back = ways.distance(a, b), ways.distance(b, a)
    assert (there >= np.hypot(*(a - b).T)).all()
    np.testing.assert_allclose(there, back, rtol=1e-9)
    assert (there <= ways.distance(a, c) + ways.distance(c, b) + 1e-9).all()
    for i in range(20):
        path = ways.path(a[i], b[i])
        np.testing.assert_allclose(np.hypot(*np.diff(path, axis=0).T).sum(), there[i], rtol=1e-9)
        assert ways.floor.sees(path[:-1], path[1:]).all()
        np.testing.assert_array_equal(path[[0, -1]], [a[i], b[i]])


def test_agrees_with_every_corner_joined_to_every_other() -> None:
    """The graph has tangents only, and a point asks for few corners: neither may lose a shortest way."""
    from scipy.sparse.csgraph import dijkstra

    ways = Geodesic(Room.named("lab_medium"), R)
    points = ways.floor.sample(30, np.random.default_rng(1))
    nodes = np.concatenate([points, ways.corners])
    a, b = (each.ravel() for each in np.meshgrid(*[np.arange(len(nodes))] * 2))
    sees = ways.floor.sees(nodes[a], nodes[b]) & (a != b)
    lengths = np.zeros((len(nodes), len(nodes)))
    lengths[a[sees], b[sees]] = np.hypot(*(nodes[a] - nodes[b])[sees].T)
    whole = dijkstra(lengths, indices=np.arange(30))[:, :30]
    for i in range(30):
        np.testing.assert_allclose(ways.field(points[i])(points), whole[i], rtol=1e-6, atol=1e-9)


def test_points_do_not_depend_on_their_neighbours() -> None:
    ways = Geodesic(Room.named("lab_hard"), R)
    points = ways.floor.sample(50, np.random.default_rng(2))
    field = ways.field((5.1, 5.7))
    each = [float(field(point[None])[0]) for point in points]
    np.testing.assert_array_equal(field(points), each)


def test_a_point_in_a_wall_goes_to_the_nearest_free_point() -> None:
    ways = Geodesic(hall(box(5, 3, 2, 6)), R)
    pushed = np.array([[0.1, 1.0], [3.9, 3.0], [5.0, 3.0], [-1.0, 1.0]])
    free = np.array([[R, 1.0], [4 - R, 3.0], [3.825, 3.0], [R, 1.0]])
    assert not ways.free(pushed).any()
    snapped = ways.floor.snap(pushed)
    np.testing.assert_allclose(snapped[[0, 1, 3]], free[[0, 1, 3]], atol=1e-9)
    field = ways.field((9, 1))
    np.testing.assert_allclose(field(pushed), field(snapped) + np.hypot(*(pushed - snapped).T), rtol=1e-9)


def test_a_point_in_a_wall_between_islands_goes_to_that_of_the_goal() -> None:
    ways = Geodesic(hall(box(5, 5, 1, 10)), R)
    inside = np.array([[4.6, 5.0]])
    assert np.isfinite(ways.field((1, 5))(inside)).all()
    assert np.isfinite(ways.field((9, 5))(inside)).all()


def test_the_legs_of_the_lab_get_longer_with_boxes() -> None:
    lengths = []
    for name in ("lab_easy", "lab_medium", "lab_hard"):
        room = Room.named(name)
        ways = Geodesic(room, R)
        ends = np.array([[room.spots[a][:2], room.spots[b][:2]] for a, b in LEGS])
        lengths.append(ways.distance(ends[:, 0], ends[:, 1]))
        assert np.isfinite(lengths[-1]).all()
        assert (lengths[-1] > 1.01 * np.hypot(*(ends[:, 0] - ends[:, 1]).T)).all(), "a leg is no straight line"
    assert (np.diff(lengths, axis=0) >= 0).all()
    assert np.diff(np.sum(lengths, axis=1)).min() > 0.3


def test_a_robot_that_fits_nowhere() -> None:
    with pytest.raises(UsageError, match=r"room 'hall': a robot of radius 6 m fits nowhere: the room is 10 x 10 m"):
        Geodesic(hall(), 6.0)
    with pytest.raises(UsageError, match=r"radius of the robot should be from 0 to 100 m \(given: nan\)"):
        Geodesic(hall(), math.nan)


def test_a_point_that_is_no_number_is_far_away() -> None:
    field = Geodesic(hall(), R).field((5, 5))
    points = np.array([[math.nan, 1.0], [math.inf, 1.0], [5.0, 1.0]])
    np.testing.assert_array_equal(field(points), [math.inf, math.inf, 4.0])
    assert field.path(points[0]).shape == (0, 2)
