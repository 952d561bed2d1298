"""What ties a picture to the task frame: points that are known in both, and lines along its axes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import UsageError
from foretell.files import SMALL, read_file

__all__ = ["Lines", "Point", "read_lines", "read_points", "write_points"]

FARTHEST = 50.0
"""m: whoever gives larger numbers gives millimetres."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of the scene, and where a picture shows it."""

    name: str
    xyz: tuple[float, float, float]
    """m, in the task frame."""
    uv: tuple[float, float] | None = None
    """Pixels from the top left corner; None until somebody clicks it."""
    yaw: float = 0.0
    """Of a marker: how it is turned about the vertical, rad."""


@dataclass(frozen=True)
class Lines:
    """Lines of a picture that run along the axes of the task frame, whatever their length."""

    axes: Ints
    """(m,) 0, 1, 2 for x, y, z."""
    ends: Floats
    """(m, 2, 2) pixels."""


NO_LINES = Lines(np.zeros(0, dtype=int), np.zeros((0, 2, 2)))


def read_points(path: str | Path) -> list[Point]:
    """Points of a CSV file with the columns name, x, y, z and, where they are known, u, v; or of a JSON list of such
    objects."""
    points = []
    for number, row in enumerate(_rows(path, "points"), 1):
        where = f"points: {path}: point {number}"
        x, y, z = (_number(row, key, where) for key in "xyz")
        if max(abs(x), abs(y), abs(z)) > FARTHEST:
            raise UsageError(f"{where} is at {x:g}, {y:g}, {z:g}: points are in metres; are these millimetres?")
        given = [key for key in ("u", "v") if row.get(key) not in (None, "")]
        if len(given) == 1:
            raise UsageError(f"{where} has {given[0]} alone: give u and v, or neither of them")
        uv = (_number(row, "u", where), _number(row, "v", where)) if given else None
        yaw = _number(row, "yaw", where) if row.get("yaw") not in (None, "") else 0.0
        points.append(Point(name=str(row.get("name") or number), xyz=(x, y, z), uv=uv, yaw=yaw))
    names = [point.name for point in points]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"points: {path}: two points are called {doubled!r:.100}")
    return points


def write_points(path: Path, points: Sequence[Point]) -> None:
    """As JSON or CSV, by the ending of the path; `read_points` reads both."""
    if path.suffix.lower() == ".json":
        rows = [_row(point) for point in points]
        path.write_text(json.dumps([{k: v for k, v in row.items() if v != ""} for row in rows], indent=1))
        return
    text = io.StringIO()
    table = csv.DictWriter(text, ["name", "x", "y", "z", "u", "v"], lineterminator="\n")
    table.writeheader()
    table.writerows(_row(point) for point in points)
    path.write_text(text.getvalue())


def _row(point: Point) -> dict[str, Any]:
    u, v = ("", "") if point.uv is None else (round(number, 2) for number in point.uv)
    return {"name": point.name, **dict(zip("xyz", point.xyz, strict=True)), "u": u, "v": v}


def read_lines(path: str | Path) -> Lines:
    """Lines of a CSV file with the columns axis (x, y or z), u1, v1, u2, v2; or of a JSON list of such objects."""
    axes, ends = [], []
    for number, row in enumerate(_rows(path, "lines"), 1):
        where = f"lines: {path}: line {number}"
        if row.get("axis") not in ("x", "y", "z"):
            raise UsageError(f"{where}: axis is {row.get('axis')!r:.100}, it should be x, y or z")
        u1, v1, u2, v2 = (_number(row, key, where) for key in ("u1", "v1", "u2", "v2"))
        if np.hypot(u2 - u1, v2 - v1) < 1:
            raise UsageError(f"{where} is shorter than a pixel: give two points of it that are far apart")
        axes.append("xyz".index(str(row["axis"])))
        ends.append([[u1, v1], [u2, v2]])
    return Lines(np.array(axes), np.array(ends, dtype=float))


def _rows(path: str | Path, field: str) -> list[Mapping[str, Any]]:
    try:
        text = read_file(path, SMALL, follow=True).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{field}: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{field}: cannot read {path}: it is not text") from None
    if Path(path).suffix.lower() == ".json":
        try:
            rows = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{field}: {path} is not valid JSON: {error}") from None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UsageError(f"{field}: {path} should be a list of objects, such as {{name, x, y, z, u, v}}")
    else:
        rows = list(csv.DictReader(io.StringIO(text)))
    if not rows:
        raise UsageError(f"{field}: {path} is empty")
    return rows


def _number(row: Mapping[str, Any], key: str, where: str) -> float:
    if row.get(key) in (None, ""):
        raise UsageError(f"{where} has no {key}")
    try:
        number = float(row[key])
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise UsageError(f"{where}: {key} is {row[key]!r:.100}, it should be a number")
    return number
