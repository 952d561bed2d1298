"""Occupancy maps as ROS keeps them: a YAML file and an image, read as its map server reads them.

A pixel says how likely a cell is occupied: dark is occupied, or light where `negate` is 1. Above `occupied_thresh` it
is a wall, below `free_thresh` it is floor, and between them nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.document import load_yaml
from foretell.errors import UsageError, suggest
from foretell.files import read_file
from foretell.rooms.floor import need_shapely

__all__ = ["Unknown", "read_map"]

Unknown = Literal["wall", "floor"]
OCCUPIED, FREE = 0.65, 0.25
"""Thresholds of Nav2's map server where a map has none."""
MODES = ("trinary", "scale", "raw")
MOST_BYTES = 256 << 20
MOST_PIXELS = 64 << 20


def read_map(path: Path, unknown: Unknown, inside: tuple[float, ...]) -> tuple[Any, list[str]]:
    """The floor of a map as a polygon of shapely in the map's frame (m), and notes. `unknown`: what cells are that
    nobody knows. `inside`: x and y of a point of the floor that is meant; empty: the largest."""
    about = load_yaml(path)
    if not isinstance(about, Mapping):
        raise UsageError(f"{path} is not a map: it should have image, resolution and origin (given: {about!r:.60})")
    resolution, origin = _resolution(path, about), _origin(path, about)
    floor, notes = _floor(path, about, unknown)
    cells, edge = _connected(path, floor, resolution, origin, inside)
    if edge:
        notes.append(
            f"the floor reaches the edge of the image: {edge * resolution:.2g} m of the outline are no wall of the map"
        )
    return _placed(_outlined(cells), resolution, origin), notes


def _need(path: Path, about: Mapping[Any, Any], field: str, example: str) -> Any:
    if about.get(field) is None:
        known = ", ".join(map(str, about)) or "nothing"
        raise UsageError(f"{path}: {field} is missing: a map says, for example, {example} (given: {known:.200})")
    return about[field]


def _number(path: Path, field: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UsageError(f"{path}: {field}: should be a number from {low:g} to {high:g} (given: {value!r:.60})")
    return float(value)


def _resolution(path: Path, about: Mapping[Any, Any]) -> float:
    value = _need(path, about, "resolution", "`resolution: 0.05` (metres of a pixel)")
    return _number(path, "resolution", value, 0.001, 10)


def _origin(path: Path, about: Mapping[Any, Any]) -> tuple[float, float, float]:
    value = _need(path, about, "origin", "`origin: [0, 0, 0]` (x, y and yaw of its lower left corner)")
    if not isinstance(value, list) or len(value) not in (2, 3):
        raise UsageError(f"{path}: origin: should be [x, y, yaw], in metres and radians (given: {value!r:.60})")
    x, y, yaw = (_number(path, f"origin[{i}]", each, -1e6, 1e6) for i, each in enumerate([*value, 0.0][:3]))
    return x, y, yaw


def _floor(path: Path, about: Mapping[Any, Any], unknown: Unknown) -> tuple[Bools, list[str]]:
    """(height, width) which cells are floor; the first row is the lowest."""
    mode = about.get("mode", "trinary")
    if mode not in MODES:
        raise UsageError(f"{path}: mode: {mode!r:.60} is not known; {suggest(str(mode), MODES)}")
    high = _number(path, "occupied_thresh", about.get("occupied_thresh", OCCUPIED), 0, 1)
    low = _number(path, "free_thresh", about.get("free_thresh", FREE), 0, 1)
    negate = about.get("negate", 0)
    if negate not in (0, 1):
        raise UsageError(f"{path}: negate: should be 0 or 1 (given: {negate!r:.60})")
    if low > high:
        raise UsageError(f"{path}: free_thresh {low:g} should be at most occupied_thresh {high:g}")
    grey, seen = _pixels(path, str(_need(path, about, "image", "`image: map.pgm`")))
    if mode == "raw":
        occupied, known = grey * 255 / 100, grey * 255 <= 100
    else:
        occupied, known = (grey if negate else 1 - grey), seen
    free, wall = known & (occupied < low), known & (occupied > high)
    doubt = ~free & ~wall
    notes = [f"{field} is not given: {value:g}" for field, value in (("occupied_thresh", high), ("free_thresh", low))
             if field not in about]  # fmt: skip
    if doubt.any():
        notes.append(f"{doubt.mean():.0%} of the cells are unknown: they count as {unknown}")
    cells = free | doubt if unknown == "floor" else free
    if not cells.any():
        words = f"{wall.sum()} cells are walls and {doubt.sum()} unknown; negate is {int(negate)}"
        raise UsageError(f"{path}: the map has no floor: {words}, free_thresh {low:g}")
    return np.ascontiguousarray(cells[::-1]), notes


def _pixels(path: Path, name: str) -> tuple[Floats, Bools]:
    """(height, width) grey from 0 to 1, and whether a pixel is opaque."""
    import io

    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise UsageError("maps need Pillow: pip install 'foretell[navigation]'") from None
    file = path.parent / name
    try:
        data = read_file(file, MOST_BYTES, follow=True)
    except OSError as error:
        raise UsageError(f"{path}: image: {file} cannot be read: {error.strerror or error}") from None
    try:
        with Image.open(io.BytesIO(data), formats=("PPM", "PNG", "BMP")) as image:
            if image.width * image.height > MOST_PIXELS:
                size = f"{image.width}x{image.height}"
                raise UsageError(f"{path}: image: {file} has {size} pixels; at most {MOST_PIXELS:,} are read")
            if image.mode.startswith(("I", "F")):
                return np.asarray(image, dtype=float) / 65535, np.ones((image.height, image.width), dtype=bool)
            rgba = np.asarray(image.convert("RGBA"))
    except UsageError:
        raise
    except UnidentifiedImageError:  # its own words name an object in memory
        raise UsageError(f"{path}: image: {file} is no PGM, PNG or BMP picture") from None
    except Exception as error:  # a reader of pictures may raise anything on a broken file
        raise UsageError(f"{path}: image: {file} is no PGM, PNG or BMP picture: {error!s:.100}") from None
    return rgba[..., :3].mean(axis=2) / 255, rgba[..., 3] == 255


def _connected(
    path: Path, floor: Bools, resolution: float, origin: tuple[float, float, float], inside: tuple[float, ...]
) -> tuple[Bools, int]:
    """The cells of the floor that is meant, and how many sides of cells it has in common with the image's edge."""
    from scipy.ndimage import label

    pieces, _ = label(floor)
    if inside:
        x, y, yaw = origin
        dx, dy = inside[0] - x, inside[1] - y
        column = math.floor((math.cos(yaw) * dx + math.sin(yaw) * dy) / resolution)
        row = math.floor((math.cos(yaw) * dy - math.sin(yaw) * dx) / resolution)
        height, width = floor.shape
        if not (0 <= row < height and 0 <= column < width and floor[row, column]):
            raise UsageError(f"{path}: inside: {inside[0]:g} {inside[1]:g} is not on the floor of the map")
        number = pieces[row, column]
    else:
        number = int(np.argmax(np.bincount(pieces.ravel())[1:])) + 1
    cells = pieces == number
    return cells, int(cells[0].sum() + cells[-1].sum() + cells[:, 0].sum() + cells[:, -1].sum())


def _outlined(cells: Bools) -> Any:
    """Cells as one polygon, a cell being 1 long: straight walls as they are, slanted ones through the middles of their
    steps, and simplified by at most half a cell."""
    shapely = need_shapely()
    padded = np.pad(cells, ((0, 0), (1, 1))).astype(np.int8)
    row, start = np.nonzero(np.diff(padded, axis=1) == 1)
    _, stop = np.nonzero(np.diff(padded, axis=1) == -1)
    whole = shapely.union_all(shapely.box(start, row, stop, row + 1))
    if whole.geom_type != "Polygon":  # cells that are joined by a side are one polygon
        whole = max(whole.geoms, key=lambda part: part.area)
    whole = shapely.simplify(whole, 0)  # no corners along straight walls
    rings = [_slanted(np.array(ring.coords)[:-1]) for ring in (whole.exterior, *whole.interiors)]
    smooth = shapely.make_valid(shapely.Polygon(rings[0], rings[1:]))
    smooth = shapely.simplify(smooth, 0.5)
    return max(shapely.get_parts(smooth), key=lambda part: part.area)


def _slanted(ring: Floats) -> Floats:
    """(k, 2) without the corners of steps: a side of one cell between a left and a right turn becomes its middle. So
    slanted walls lose their stairs, and straight ones, also of one cell, keep their ends."""
    along = np.roll(ring, -1, axis=0) - ring
    before = np.roll(along, 1, axis=0)
    turn = np.sign(before[:, 0] * along[:, 1] - before[:, 1] * along[:, 0])
    step = (np.hypot(*along.T) < 1.5) & (turn * np.roll(turn, -1) < 0)
    middles = ring + along / 2
    points = []
    for i, corner in enumerate(ring):
        if step[i]:
            points.append(middles[i])
        elif not step[i - 1]:
            points.append(corner)
    return np.array(points) if len(points) >= 3 else ring


def _placed(shape: Any, resolution: float, origin: tuple[float, float, float]) -> Any:
    """From cells to metres in the map's frame."""
    shapely = need_shapely()
    x, y, yaw = origin
    turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
    return shapely.transform(shape, lambda points: resolution * points @ turn + (x, y))
