"""A disc among walls, against cases that can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.arrays import Floats
from foretell.planar.motion import KNOTS, collides, travel
from foretell.rooms import Room

RADIUS = 0.175
WALL = (1.0, -5.0, 1.0, 5.0)
"""At x = 1 m."""


def move(
    start: tuple[float, float], by: tuple[float, float], *walls: tuple[float, ...], sliding: bool
) -> tuple[Floats, Floats]:
    """Points and times of one motion."""
    points, times = travel(np.array([start]), np.array([by]), np.array([walls]).reshape(1, -1, 4), RADIUS, sliding)
    return points[0], times[0]


@pytest.mark.parametrize("sliding", [False, True])
def test_nothing_in_the_way(sliding: bool) -> None:
    points, times = move((0.0, 0.0), (0.5, 0.25), WALL, sliding=sliding)
    assert points[-1].tolist() == [0.5, 0.25]
    assert times[0] == 0.0 and times[-1] == 1.0


@pytest.mark.parametrize("sliding", [False, True])
def test_straight_into_a_wall(sliding: bool) -> None:
    points, times = move((0.0, 0.0), (2.0, 0.0), WALL, sliding=sliding)
    assert points[-1] == pytest.approx([1 - RADIUS, 0.0])
    assert times[1] == pytest.approx((1 - RADIUS) / 2)


def test_without_sliding_it_stops_where_it_touches() -> None:
    points, _ = move((0.5, 0.0), (1.0, 1.0), WALL, sliding=False)
    assert points[-1] == pytest.approx([0.825, 0.325])


def test_with_sliding_it_ends_at_the_point_of_the_wall_next_to_where_it_wanted_to_go() -> None:
    points, times = move((0.5, 0.0), (1.0, 1.0), WALL, sliding=True)
    assert points[1] == pytest.approx([0.825, 0.325]) and times[1] == pytest.approx(0.325)
    assert points[-1] == pytest.approx([0.825, 1.0])


@pytest.mark.parametrize("sliding", [False, True])
def test_a_corner_holds_it(sliding: bool) -> None:
    points, _ = move((0.0, 0.0), (2.0, 2.0), WALL, (-5.0, 1.0, 5.0, 1.0), sliding=sliding)
    assert points[-1] == pytest.approx([0.825, 0.825])


def test_it_slides_from_one_wall_into_another() -> None:
    points, _ = move((0.0, 0.0), (2.0, 1.5), WALL, (-5.0, 1.0, 5.0, 1.0), sliding=True)
    assert points[-1] == pytest.approx([0.825, 0.825])


def test_the_end_of_a_wall_is_round() -> None:
    """The middle passes the end at y = 0.17, which is nearer than the radius, or at 0.18."""
    end = (1.0, -3.0, 1.0, 0.0)
    near, _ = move((0.0, 0.17), (2.0, 0.0), end, sliding=False)
    assert near[-1] == pytest.approx([1 - np.sqrt(RADIUS**2 - 0.17**2), 0.17])
    far, _ = move((0.0, 0.18), (2.0, 0.0), end, sliding=False)
    assert far[-1].tolist() == [2.0, 0.18]


@pytest.mark.parametrize("sliding", [False, True])
def test_along_a_wall_that_it_touches_it_is_free(sliding: bool) -> None:
    points, _ = move((0.825, 0.0), (0.0, 0.25), WALL, sliding=sliding)
    assert points[-1] == pytest.approx([0.825, 0.25])
    away, _ = move((0.825, 0.0), (-0.2, 0.1), WALL, sliding=sliding)
    assert away[-1] == pytest.approx([0.625, 0.1])


def test_the_flag_of_a_collision_is_habitats() -> None:
    """Squares of lengths, with 1e-5: a step of 0.25 m may lose 20 um and not more."""
    start, wanted = np.zeros((3, 2)), np.array([[0.25, 0.0]] * 3)
    end = np.array([[0.25, 0.0], [0.249981, 0.0], [0.249979, 0.0]])
    assert collides(start, wanted, end).tolist() == [False, False, True]


@pytest.mark.parametrize("sliding", [False, True])
def test_it_never_enters_a_wall(sliding: bool) -> None:
    """200 discs take 30 random steps each in the hard room."""
    room, rng = Room.named("lab_hard"), np.random.default_rng(0)
    walls = room.segments
    here = rng.uniform((0.2, 0.2), (9.8, 6.3), (3000, 2))
    here = here[room.open(here) & (_gap(here, walls) > RADIUS)][:200]
    for _ in range(30):
        turn, length = rng.uniform(0, 2 * np.pi, len(here)), rng.choice([0.25, 1.5], len(here))
        by = length[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        points, times = travel(here, by, np.broadcast_to(walls, (len(here), *walls.shape)), RADIUS, sliding)
        assert points.shape == (len(here), KNOTS, 2) and (np.diff(times, axis=1) >= 0).all()
        assert (_gap(points.reshape(-1, 2), walls) > RADIUS - 1e-6).all()
        here = points[:, -1]
    assert room.open(here).all()


def test_a_disc_does_not_depend_on_those_beside_it() -> None:
    room, rng = Room.named("lab_medium"), np.random.default_rng(1)
    here, by = rng.uniform(1.0, 6.0, (50, 2)), rng.normal(0, 1, (50, 2))
    walls = np.broadcast_to(room.segments, (50, *room.segments.shape))
    together = travel(here, by, walls, RADIUS, True)
    alone = [travel(here[i : i + 1], by[i : i + 1], walls[i : i + 1], RADIUS, True) for i in range(50)]
    assert (together[0] == np.concatenate([points for points, _ in alone])).all()
    assert (together[1] == np.concatenate([times for _, times in alone])).all()


def _gap(points: Floats, walls: Floats) -> Floats:
    """(n,) m to the nearest wall."""
    a, along = walls[:, :2], walls[:, 2:] - walls[:, :2]
    share = np.clip(np.einsum("nsi,si->ns", points[:, None] - a, along) / np.sum(along**2, axis=1), 0, 1)
    return np.asarray(np.linalg.norm(points[:, None] - a - share[..., None] * along, axis=2).min(axis=1))
