"""Apartments from seeds, and routes in them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.rooms import Geodesic, Room, draw_route, route_between, ways_of
from foretell.rooms.apartment import apartment
from foretell.rooms.floor import shape_of
from foretell.rooms.furniture import CLEAR
from foretell.rooms.lab import box

R = 0.175


@pytest.mark.parametrize("seed", range(12))
def test_every_room_can_be_reached(seed: int) -> None:
    room = Room.named(f"apartment:{seed}")
    assert len(room.spots) >= 3
    Geodesic(room, CLEAR).check_spots()
    ways = ways_of(room, R)
    ways.check_spots()
    assert ways.floor.islands[0].area > 0.9 * sum(island.area for island in ways.floor.islands)
    bare = sum(abs(box_area(corners)) for corners in room.obstacles)
    assert bare > 4, "it is furnished"


def test_a_way_that_is_narrow_by_a_hair_is_still_one() -> None:
    assert "living room" in Room.named("apartment:101042").spots


def box_area(corners: np.ndarray) -> float:
    x, y = corners.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


def test_furniture_does_not_overlap() -> None:
    room = Room.named("apartment:4")
    blocked = box_area(room.outline) - shape_of(room).area
    assert blocked == pytest.approx(sum(map(box_area, room.obstacles)), rel=1e-3)


def test_rooms_stay_as_they_are() -> None:
    """Rows name a built-in room by its name alone: a room that changes needs another name."""
    names = ("lab_easy", "lab_medium", "lab_hard", "apartment:0", "apartment:1", "apartment:2")
    assert {name: Room.named(name).digest for name in names} == {
        "lab_easy": "d5ba46ab9ddef27e",
        "lab_medium": "e3eb0748107ce883",
        "lab_hard": "2376b734e20f628c",
        "apartment:0": "7a0cc161b3d3cfb7",
        "apartment:1": "a84330ff2276c3eb",
        "apartment:2": "8289032842f88da9",
    }


def test_an_apartment_is_its_seed() -> None:
    apartment.cache_clear()
    first = Room.named("apartment:3")
    apartment.cache_clear()
    again = Room.named("apartment:3")
    assert again == first and again is not first
    assert Room.named("apartment:3").digest != Room.named("apartment:4").digest
    assert Room.named("apartment") == Room.named("apartment:0")


@pytest.mark.parametrize("name", ["apartment:x", "apartment:-1", "apartment:1.5"])
def test_a_seed_is_a_number(name: str) -> None:
    with pytest.raises(UsageError, match=f"rooms: {name} should be apartment:SEED, with a whole number from 0 on"):
        Room.named(name)


def test_routes_pass_the_filters() -> None:
    room = Room.named("apartment:1")
    ways, rng = ways_of(room, R), np.random.default_rng(0)
    routes = [draw_route(room, R, rng) for _ in range(150)]
    ratios = []
    for route in routes:
        start, goal = np.array([route.start[:2]]), np.array([route.goal])
        assert ways.free(start)[0] and ways.free(goal)[0]
        assert 1 <= route.length <= 30
        assert route.length == pytest.approx(float(ways.distance(start, goal)[0]))
        assert -math.pi <= route.start[2] <= math.pi
        ratios.append(route.length / math.dist(route.start[:2], route.goal))
    # a straight way is kept in 20 * 0.02^2 = 0.8 % of the draws
    assert np.mean(np.array(ratios) < 1.01) < 0.05
    assert np.mean(np.array(ratios) > 1.1) > 0.6


def test_routes_come_from_the_generator_alone() -> None:
    room = Room.named("apartment:2")
    first, again, other = (draw_route(room, R, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert first == again != other


def test_a_closet_has_no_routes() -> None:
    closet = Room(name="closet", outline=box(0.5, 0.5, 1, 1))
    with pytest.raises(UsageError, match=r"room 'closet': of 2000 routes none is 1 to 30 m .* too small or too empty"):
        draw_route(closet, R, np.random.default_rng(0))


def test_routes_between_spots() -> None:
    room = Room.named("lab_hard")
    route = route_between(room, R, "A", "B")
    assert route.start == room.spots["A"]
    assert route.goal == room.spots["B"][:2]
    assert route.length == pytest.approx(7.27, abs=0.02)
    with pytest.raises(UsageError, match=r"goal: 'F' is no spot of room 'lab_hard'; known: A, B, C, D, E"):
        route_between(room, R, "A", "F")


def test_spots_that_no_robot_reaches() -> None:
    cut = Room(
        name="cut",
        outline=box(2, 1, 4, 2),
        obstacles=(box(2, 1, 0.2, 2),),
        spots={"A": (0.5, 1, 0), "B": (3.5, 1, 0), "C": (0.1, 1, 0)},
    )
    with pytest.raises(UsageError, match=r"room 'cut': spots.B: no way leads there from A for a robot"):
        route_between(cut, R, "A", "B")
    with pytest.raises(UsageError, match=r"spots.C: a robot of radius 0.175 m touches a wall there \(given"):
        route_between(cut, R, "A", "C")


def test_what_to_install_where_shapely_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(UsageError, match=r"need shapely: pip install 'foretell\[navigation\]'"):
        Geodesic(Room.named("lab_easy"), R)
    assert len(Room.named("lab_easy").damaged(0.1).segments) > 0  # data needs nothing
