"""Printed boards and markers: their corners in a picture, and where these are in the task frame.

A board lies flat. Its own frame has x to the right and y up, as it is printed, and z out of the paper. The origin is
the first inner corner of a checkerboard (top left), the top left corner of a ChArUco board, and the middle of a marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError, suggest
from foretell.match.opencv import opencv
from foretell.match.points import Point

__all__ = ["board_points"]

KINDS = (
    "checkerboard:COLUMNSxROWS:SQUARE",
    "charuco:COLUMNSxROWS:SQUARE:MARKER[:DICTIONARY]",
    "aruco:SIDE[:DICTIONARY]",
)
USUAL = "4X4_50"
HALF = 0.5
"""OpenCV counts pixels from the middle of the first one, and we from its corner."""


def board_points(image: np.ndarray, board: str, at: Sequence[float], markers: Sequence[Point]) -> list[Point]:
    """The corners of a board in a picture (height, width, 3). `at`: where its origin is (m) and how it is turned about
    the vertical (rad). `markers`: of ArUco markers, where each is, by the name of its number; none: one marker, which
    is at `at`."""
    kind, *fields = board.split(":")
    grey = opencv().cvtColor(np.ascontiguousarray(image), opencv().COLOR_RGB2GRAY)
    if kind == "checkerboard" and len(fields) == 2:
        return _checkerboard(grey, board, *_size(board, fields[0]), _length(board, fields[1]), at)
    if kind == "charuco" and len(fields) in (3, 4):
        lengths = _length(board, fields[1]), _length(board, fields[2])
        return _charuco(grey, board, _size(board, fields[0]), lengths, _dictionary(fields[3:]), at)
    if kind == "aruco" and len(fields) in (1, 2):
        return _aruco(grey, _length(board, fields[0]), _dictionary(fields[1:]), at, markers)
    raise UsageError(f"board: {board!r:.100} should be {', '.join(KINDS[:-1])} or {KINDS[-1]}; lengths are in metres")


def _checkerboard(grey: Any, board: str, columns: int, rows: int, square: float, at: Sequence[float]) -> list[Point]:
    cv2 = opencv()
    seen, corners = cv2.findChessboardCornersSB(grey, (columns, rows), flags=cv2.CALIB_CB_ACCURACY)
    if not seen:
        raise UsageError(
            f"board: there is no {board} in the picture: COLUMNSxROWS counts inner corners, all of them must be seen, "
            "and the board needs a white rim"
        )
    down, across = np.divmod(np.arange(columns * rows), columns)
    own = np.column_stack([across * square, -down * square, np.zeros(columns * rows)])
    names = [f"corner {number}" for number in range(columns * rows)]
    return _points(names, own, corners.reshape(-1, 2), at)


def _charuco(
    grey: Any, board: str, size: tuple[int, int], lengths: tuple[float, float], dictionary: Any, at: Sequence[float]
) -> list[Point]:
    aruco = opencv().aruco
    if not lengths[1] < lengths[0]:
        raise UsageError(f"board: {board!r:.100}: a marker is smaller than the square that it stands in")
    known = aruco.CharucoBoard(size, *lengths, dictionary)
    corners, ids, _, _ = aruco.CharucoDetector(known).detectBoard(grey)
    if ids is None or len(ids) < 4:
        count = 0 if ids is None else len(ids)
        raise UsageError(f"board: the picture shows {count} corners of {board}, and a pose needs 4 or more")
    own = np.asarray(known.getChessboardCorners(), dtype=float)[ids.ravel()] * [1, -1, 1]
    return _points([f"corner {number}" for number in ids.ravel().tolist()], own, corners.reshape(-1, 2), at)


def _aruco(grey: Any, side: float, dictionary: Any, at: Sequence[float], markers: Sequence[Point]) -> list[Point]:
    cv2 = opencv()
    settings = cv2.aruco.DetectorParameters()
    settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    corners, ids, _ = cv2.aruco.ArucoDetector(dictionary, settings).detectMarkers(grey)
    numbers = [] if ids is None else ids.ravel().tolist()
    if not numbers:
        raise UsageError("board: the picture shows no ArUco marker of this dictionary; each needs a white rim")
    places = {marker.name: (*marker.xyz, marker.yaw) for marker in markers}
    if not places and len(numbers) > 1:
        raise UsageError(
            f"board: the picture shows the markers {', '.join(map(str, sorted(numbers)))}: say where each is, in a "
            "file with the columns name (its number), x, y, z, yaw (--points)"
        )
    own = side / 2 * np.array([[-1, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0]])
    points = []
    for number, four in zip(numbers, corners, strict=True):
        place = places.get(str(number), None if places else at)
        if place is not None:
            names = [f"marker {number} {corner}" for corner in ("top left", "top right", "bottom right", "bottom left")]
            points += _points(names, own, four.reshape(-1, 2), place)
    if not points:
        seen = ", ".join(map(str, sorted(numbers)))
        raise UsageError(f"board: the picture shows the markers {seen}, and the points name {', '.join(places)}")
    return points


def _points(names: Sequence[str], own: Floats, uv: np.ndarray, at: Sequence[float]) -> list[Point]:
    x, y, z, yaw = at
    cos, sin = np.cos(yaw), np.sin(yaw)
    placed = own @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]]) + [x, y, z]
    return [
        Point(name=name, xyz=tuple(p), uv=tuple(q))
        for name, p, q in zip(names, placed.tolist(), (uv.astype(float) + HALF).tolist(), strict=True)
    ]


def _size(board: str, text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    if not (columns.isdigit() and rows.isdigit() and int(columns) > 1 and int(rows) > 1):
        raise UsageError(f"board: {board!r:.100}: {text!r:.100} should be COLUMNSxROWS, such as 9x6")
    return int(columns), int(rows)


def _length(board: str, text: str) -> float:
    try:
        length = float(text)
    except ValueError:
        length = -1.0
    if not 0 < length < 2:
        raise UsageError(f"board: {board!r:.100}: {text!r:.100} should be a length in metres, such as 0.025")
    return length


def _dictionary(fields: Sequence[str]) -> Any:
    aruco = opencv().aruco
    name = (fields[0] if fields else USUAL).upper().removeprefix("DICT_")
    known = [key.removeprefix("DICT_") for key in dir(aruco) if key.startswith("DICT_")]
    if name not in known:
        raise UsageError(f"board: dictionary {name!r:.100} is not known; {suggest(name, known)}")
    return aruco.getPredefinedDictionary(getattr(aruco, f"DICT_{name}"))
