"""Rooms as data: what they hold, what is refused, and which walls damage leaves."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.errors import UsageError
from foretell.rooms import Room
from foretell.rooms.lab import LEGS, box

SQUARE = [[0, 0], [4, 0], [4, 3], [0, 3]]


def kitchen(**changes: Any) -> Room:
    fields = {"name": "kitchen", "outline": SQUARE, "obstacles": [box(2, 1.5, 1, 0.5)], "heights": [0.7]}
    return Room(**{**fields, "spots": {"A": (0.5, 0.5, 0.0)}, **changes})  # type: ignore[arg-type]


def test_walls_are_every_side_with_its_height() -> None:
    room = kitchen()
    assert room.segments.shape == (8, 4)
    np.testing.assert_array_equal(room.segment_heights, [2.5] * 4 + [0.7] * 4)
    np.testing.assert_array_equal(room.walls.owners, [-1] * 4 + [0] * 4)
    assert room.walls.lengths.sum() == pytest.approx(14 + 3)
    ends = {tuple(end) for line in room.segments for end in line.reshape(2, 2)}
    assert {(0, 0), (4, 3), (1.5, 1.25), (2.5, 1.75)} <= ends


def test_corners_go_counter_clockwise_whatever_was_given() -> None:
    assert kitchen(outline=SQUARE[::-1]).walls.lengths.sum() == kitchen().walls.lengths.sum()
    x, y = kitchen(outline=SQUARE[::-1]).outline.T
    assert np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0


def test_a_room_survives_a_file(tmp_path: Path) -> None:
    room = kitchen(colours=["#aabbcc"])
    room.save(tmp_path / "kitchen.json")
    assert Room.load(tmp_path / "kitchen.json") == Room.named(str(tmp_path / "kitchen.json")) == room
    assert pickle.loads(pickle.dumps(room)) == room


def test_the_digest_names_what_a_robot_meets() -> None:
    room = kitchen()
    assert kitchen(name="other", spots={}).digest == room.digest
    assert kitchen(heights=[0.8]).digest != room.digest
    assert kitchen(obstacles=[box(2, 1.5, 1, 0.51)]).digest != room.digest


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        kitchen().outline[0, 0] = 1.0


def test_points_on_the_floor() -> None:
    points = np.array([[0.5, 0.5], [2.0, 1.5], [5.0, 1.0], [2.0, 0.5]])
    np.testing.assert_array_equal(kitchen().open(points), [True, False, False, True])


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"outline": [[0, 0], [2, 2], [2, 0], [0, 2]]},
        r"outline: crosses or touches itself, at the side",
    ),
    ({"outline": [[0, 0], [1, 0]]}, r"outline: should be three corners \[x, y\] or more"),
    ({"outline": [[0, 0], [1, 0], [2, 0]]}, r"outline: encloses nothing"),
    ({"outline": [[0, 0], [1, 0], [1, math.nan]]}, r"outline: should be finite numbers \(given: \[1.0, nan\]\)"),
    ({"outline": "wide"}, r"outline: should be a list of corners .* \(given: 'wide'\)"),
    ({"outline": [[0, 0], [6500, 0], [6500, 10000]]}, r"outline: should be at most 1000 m wide, in metres"),
    ({"obstacles": [box(9, 9, 1, 1)]}, r"obstacles\[0\]: lies outside of the outline \(given: \[\[8.5, 8.5\]"),
    ({"obstacles": [[[1, 1], [2, 2], [2, 1], [1, 2]]]}, r"obstacles\[0\]: crosses or touches itself"),
    ({"heights": [1.0, 2.0]}, r"heights: there should be 1, one per obstacle \(given: 2\)"),
    ({"heights": [-1.0]}, r"heights\[0\]: should be above 0 and at most 20 m \(given: -1.0\)"),
    ({"wall_height": "high"}, r"wall_height: should be above 0 and at most 20 m \(given: 'high'\)"),
    ({"colours": ["red"]}, r'colours\[0\]: should look like "#8899aa" \(given: \'red\'\)'),
    ({"spots": {"A": (2.0, 1.5, 0.0)}}, r"spots.A: lies inside obstacles\[0\] \(given: \[2.0, 1.5\]\)"),
    ({"spots": {"A": (7.0, 1.5, 0.0)}}, r"spots.A: lies outside of the outline \(given: \[7.0, 1.5\]\)"),
    ({"spots": {"A": (1.0, 1.5)}}, r"spots.A: should be \[x, y, yaw\], in metres and radians \(given: \(1.0, 1.5\)\)"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG, ids=lambda value: "")
def test_what_is_wrong_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"^room 'kitchen': {words}"):
        kitchen(**changes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not a room: it is not valid JSON"),
        ("[]", r"room: should be a mapping with name and outline \(given: \[\]\)"),
        ('{"name": "a"}', r"room: outline is missing \(given: name\)"),
        ('{"name": "a", "outline": [], "walls": 3}', "'walls' is no field of a room; known: name, outline"),
        ('{"name": "a", "outline": [[0, 0]], "format": 7}', r"format should be 'foretell-room-1' \(given: 7\)"),
    ],
)
def test_files_that_are_no_room(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "room.json").write_text(text)
    with pytest.raises(UsageError, match=words):
        Room.load(tmp_path / "room.json")


def test_names() -> None:
    with pytest.raises(UsageError, match=r"rooms: 'lab_esy' is not known; did you mean 'lab_easy'\?"):
        Room.named("lab_esy")
    with pytest.raises(UsageError, match=r"nothing.json cannot be read: No such file"):
        Room.named("nothing.json")
    names = [entry["name"] for entry in foretell.catalogue("rooms")]
    assert names == ["lab_easy", "lab_medium", "lab_hard", "apartment"]


def test_the_lab_has_its_measures_and_more_boxes_with_difficulty() -> None:
    rooms = [Room.named(f"lab_{kind}") for kind in ("easy", "medium", "hard")]
    for room in rooms:
        assert room.bounds == (0.0, 0.0, 10.0, 6.5)
        assert {spot for leg in LEGS for spot in leg} == set(room.spots) == set("ABCDE")
    counts = [len(room.obstacles) for room in rooms]
    assert counts == [5, 11, 19]
    for count, entry in zip(counts, foretell.catalogue("rooms")[:3], strict=True):
        assert f"{count} boxes" in entry["about"]


def test_damage_drops_a_share_of_the_length() -> None:
    room = Room.named("lab_hard")
    whole = room.walls.cut()
    assert whole.lengths.max() <= 0.25 + 1e-9
    assert whole.lengths.sum() == pytest.approx(room.walls.lengths.sum())
    np.testing.assert_array_equal(room.damaged(0.0).segments, whole.segments)
    assert len(room.damaged(1.0).segments) == 0
    for share in (0.05, 0.2, 0.5):
        left = room.damaged(share, seed=3).lengths.sum() / whole.lengths.sum()
        assert left == pytest.approx(1 - share, abs=0.25 / whole.lengths.sum() + 1e-9)


def test_damage_grows_and_depends_on_its_seed() -> None:
    room = Room.named("lab_easy")

    def left(share: float, seed: int) -> set[tuple[float, ...]]:
        return {tuple(line) for line in room.damaged(share, seed).segments.tolist()}

    assert left(0.2, 0) < left(0.1, 0)
    assert left(0.1, 0) == left(0.1, 0)
    assert left(0.1, 0) != left(0.1, 1)
    with pytest.raises(UsageError, match=r"damage: .* should be from 0 to 1 \(given: 5\)"):
        room.damaged(5)
