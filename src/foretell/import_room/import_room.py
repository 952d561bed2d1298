"""`foretell import-room MAP.yaml|MESH`: a file that any study can name as a room."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError, suggest
from foretell.files import require_writable
from foretell.import_object.import_object import TURNS, Up
from foretell.import_object.mesh import KINDS
from foretell.import_room.cut import CutMesh, cut_mesh
from foretell.import_room.occupancy import Unknown, read_map
from foretell.notebook import Displayed
from foretell.rooms.floor import Floor, need_shapely
from foretell.rooms.geodesic import Geodesic
from foretell.rooms.picture import plan
from foretell.rooms.room import Room

__all__ = ["ImportedRoom", "import_room"]

PICTURES = (".pgm", ".png", ".bmp", ".ppm")
LOW = 0.05
"""Metres of the lowest obstacle."""
UNKNOWN = ("wall", "floor")


@dataclass(frozen=True, kw_only=True)
class ImportedRoom(Displayed):
    """A room that was imported."""

    name: str
    file: Path
    picture: Path
    size: tuple[float, float]
    """m, along x and y"""
    area: float
    """Square metres of floor"""
    reach: float
    """Square metres of the largest island that the middle of the robot can take"""
    obstacles: int
    corners: int
    spots: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        lists = {"size": list(self.size), "spots": list(self.spots), "notes": list(self.notes)}
        return {**vars(self), "file": str(self.file), "picture": str(self.picture), **lists}

    def text(self) -> str:
        x, y = self.size
        things = f"{self.obstacles} obstacle{'' if self.obstacles == 1 else 's'}, {self.corners} corners"
        lines = [f"{self.name}: {x:.2f} x {y:.2f} m, {self.area:.1f} m2 of floor, {things}, in {self.file}"]
        lines += [f"spots: {', '.join(self.spots)}; a way leads from each to every other"] if self.spots else []
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, f"picture: {self.picture}"])


def import_room(
    source: str | Path,
    *,
    out: str | Path | None = None,
    name: str | None = None,
    spots: Sequence[str] = (),
    inside: tuple[float, ...] = (),
    radius: float = 0.175,
    unknown: Unknown = "wall",
    height: float = 2.5,
    at: tuple[float, ...] = (0.1, 0.35, 0.6),
    gap: float = 0.04,
    scale: float | None = None,
    up: Up | None = None,
) -> ImportedRoom:
    """Make a room of an occupancy map (ROS: YAML and image) or of a mesh (GLB, OBJ, COLLADA or STL).

    `out`: the file; None: the name and .json. A picture (.svg) goes beside it. `spots`: "A=1.2,3.4" or "A=1.2,3.4,90",
    in metres and degrees. `inside`: x and y of a point of the floor that is meant; empty: the largest. `radius`: of the
    robot that must reach every spot, m. Of a map: `unknown`: what unknown cells are; `height`: of walls, m. Of a mesh:
    `at`: heights above its lowest point at which it is cut, m; `gap`: holes in walls that are closed, m; `scale`:
    metres of its unit, None: what the file says, else 1; `up`: the axis that points up, None: y for GLB, else z.
    """
    path = Path(source)
    _check(inside=inside, at=at, unknown=unknown, up=up)
    _check_numbers(radius=radius, height=height, gap=gap, scale=scale)
    name = name or re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._") or "room"
    file = _target(Path(out) if out is not None else Path(f"{name}.json"))
    if path.suffix.lower() in (".yaml", ".yml"):
        floor, notes = read_map(path, unknown, inside)
        heights, wall = [height] * len(floor.interiors), height
    elif path.suffix.lower() in KINDS:
        mesh = cut_mesh(path, at=at, gap=gap, scale=scale, up=up, inside=inside)
        floor, notes = mesh.floor, mesh.notes
        heights, wall = _heights(mesh), min(20.0, max(LOW, float(mesh.vertices[:, 2].max())))
    else:
        raise _no_source(path)
    room = _room(path, name, floor, heights, wall, spots)
    ways = Geodesic(room, radius) if spots else None
    if ways is not None:
        ways.check_spots()
    islands = (ways.floor if ways else Floor(room, radius)).islands
    if len(islands) > 1:
        rest = sum(island.area for island in islands[1:])
        notes.append(f"a robot of radius {radius:g} m cannot reach {rest:.2g} m2 of the floor from the largest part")
    picture = file.with_suffix(".svg")
    try:
        room.save(file)
        picture.write_text(plan(room, title=room.name), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"out: cannot write {file}: {error.strerror}") from None
    x0, y0, x1, y1 = room.bounds
    return ImportedRoom(
        name=room.name, file=file, picture=picture, size=(x1 - x0, y1 - y0), area=floor.area, reach=islands[0].area,
        obstacles=len(room.obstacles), corners=len(room.segments), spots=tuple(room.spots), notes=tuple(notes),
    )  # fmt: skip


def _check(*, inside: tuple[float, ...], at: tuple[float, ...], unknown: str, up: str | None) -> None:
    if len(inside) not in (0, 2) or not all(map(math.isfinite, inside)):
        raise UsageError(f"inside should be x and y, in metres (given: {' '.join(map(str, inside))})")
    if not at or not all(math.isfinite(each) and each > 0 for each in at):
        raise UsageError(f"at should be heights above 0 m (given: {' '.join(map(str, at)) or 'none'})")
    if unknown not in UNKNOWN:
        raise UsageError(f"unknown is {unknown!r:.60}, it must be wall or floor")
    if up is not None and up not in TURNS:
        raise UsageError(f"up is {up!r:.60}, it must be x, y or z")


def _check_numbers(**numbers: float | None) -> None:
    for name, value in numbers.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} is {value}, it must be above 0")


def _target(file: Path) -> Path:
    """The file to write. Raises UsageError where something else is there."""
    if file.suffix != ".json":
        raise UsageError(f"out: {file} should end in .json")
    if file.exists():
        try:
            Room.load(file)
        except UsageError:
            raise UsageError(f"out: {file} exists and is no room: give another name with --out") from None
    if not file.parent.is_dir():
        raise UsageError(f"out: there is no folder {file.parent}")
    require_writable(file, "out")
    return file


def _no_source(path: Path) -> UsageError:
    kind = path.suffix.lower()
    if kind in PICTURES:
        return UsageError(f"{path} is a picture: give the map that names it, such as {path.with_suffix('.yaml')}")
    known = (".yaml", *KINDS)
    return UsageError(f"{path}: a room comes from a map (.yaml) or a mesh ({', '.join(KINDS)}); {suggest(kind, known)}")


def _room(path: Path, name: str, floor: Any, heights: list[float], wall: float, spots: Sequence[str]) -> Room:
    """The floor, a polygon of shapely, as a room: its holes are obstacles."""
    rings = [np.round(np.array(ring.coords)[:-1], 4) for ring in (floor.exterior, *floor.interiors)]
    kept = [i for i, ring in enumerate(rings[1:]) if len(ring) >= 3 and need_shapely().Polygon(ring).area > 1e-4]
    try:
        return Room(
            name=name,
            outline=rings[0],
            obstacles=tuple(rings[1 + i] for i in kept),
            heights=tuple(heights[i] for i in kept),
            wall_height=wall,
            spots=_spots(spots),
        )
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _spots(texts: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    spots: dict[str, tuple[float, float, float]] = {}
    for name, spot in map(_spot, texts):
        if name in spots:
            raise UsageError(f"spots: {name!r:.60} is given twice: each spot needs a name of its own")
        spots[name] = spot
    return spots


def _spot(text: str) -> tuple[str, tuple[float, float, float]]:
    name, _, numbers = text.partition("=")
    try:
        x, y, yaw = (float(number) for number in [*numbers.split(","), "0"][: max(3, numbers.count(",") + 1)])
    except ValueError:
        raise UsageError(f"spots: {text!r:.60} should be NAME=X,Y or NAME=X,Y,YAW, in metres and degrees") from None
    if not name:
        raise UsageError(f"spots: {text!r:.60} should be NAME=X,Y or NAME=X,Y,YAW, in metres and degrees")
    return name, (x, y, round(math.radians(yaw), 6))


def _heights(mesh: CutMesh) -> list[float]:
    """Of each hole in the floor: the highest point of the mesh above it."""
    shapely = need_shapely()
    x, y, z = mesh.vertices.T
    tops: list[float] = []
    for ring in mesh.floor.interiors:
        area = shapely.Polygon(ring).buffer(LOW)
        low_x, low_y, high_x, high_y = area.bounds
        near = np.flatnonzero((x >= low_x) & (x <= high_x) & (y >= low_y) & (y <= high_y))
        within: Floats = z[near][shapely.contains_xy(area, x[near], y[near])]
        tops.append(min(20.0, max(LOW, float(within.max(initial=0.0)))))
    return tops
