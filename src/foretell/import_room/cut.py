"""Meshes of rooms, cut level at a few heights: what the cuts enclose is the floor."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import UsageError
from foretell.import_object.import_object import TURNS, Up
from foretell.import_object.mesh import read_mesh
from foretell.rooms.floor import need_shapely

__all__ = ["CutMesh", "cut_mesh"]

SMALLEST, LARGEST = 1.0, 200.0
"""Metres along the longest side, outside of which the unit is in doubt."""
PIECES = 10_000
"""That a mesh of a room has at most."""
LEAST = 0.5
"""Square metres of the smallest floor."""
UPRIGHT = 0.6
"""Share of the largest area that outer walls enclose at every height."""
FLAT = 0.01
"""Metres by which walls that are cut may wobble: corners within are left out."""


class CutMesh(NamedTuple):
    """The floor of a mesh."""

    floor: Any
    """A polygon of shapely, m"""
    vertices: Floats
    """(k, 3) of the mesh; z from the floor up, m"""
    notes: list[str]


def cut_mesh(
    path: Path, *, at: tuple[float, ...], gap: float, scale: float | None, up: Up | None, inside: tuple[float, ...]
) -> CutMesh:
    """Cut a mesh at heights `at` (m) above its lowest point. `gap`: holes in walls up to this many metres are closed.
    `inside`: x and y of a point of the floor that is meant; empty: the largest."""
    pieces, unit, notes = read_mesh(path, PIECES)
    turn = (scale or unit) * TURNS[up or ("y" if path.suffix.lower() == ".glb" else "z")]
    triangles = np.concatenate([(piece.vertices @ turn.T)[piece.faces] for piece in pieces])
    sides = np.ptp(triangles.reshape(-1, 3), axis=0)
    _check_size(path, float(sides.max()), scale)
    triangles[..., 2] -= triangles[..., 2].min()
    cuts = {height: _cut(triangles, height) for height in at}
    lines = np.concatenate(list(cuts.values()))
    enclosed = _enclosed(lines, gap)
    where = f"{path}: at {' '.join(f'{height:g}' for height in at)} m above its lowest point"
    if not len(lines):
        raise UsageError(f"{where} there is nothing: the mesh is {sides[2]:.3g} m high; give other heights with --at")
    if not enclosed:
        raise UsageError(
            f"{where} walls enclose no floor of {LEAST:g} m2: this mesh is no room, or its walls have holes wider than "
            f"--gap {gap:g}, or another axis points up (--up)"
        )
    _check_upright(path, {height: _enclosed(cut, gap) for height, cut in cuts.items()})
    floor = max(enclosed, key=lambda part: part.area)
    if inside:
        shapely = need_shapely()
        holding = [part for part in enclosed if shapely.contains_xy(part, *inside)]
        if not holding:
            raise UsageError(f"{where} walls do not enclose inside: {inside[0]:g} {inside[1]:g}")
        floor = holding[0]
    return CutMesh(floor, triangles.reshape(-1, 3), notes)


def _check_size(path: Path, longest: float, scale: float | None) -> None:
    if SMALLEST <= longest <= LARGEST:
        return
    hint = "in millimetres? use --scale 0.001" if longest > LARGEST else "in another unit? use --scale"
    kind = "too large" if longest > LARGEST else "too small"
    given = "" if scale is None else f" with --scale {scale:g}"
    raise UsageError(f"{path}: the mesh is {longest:.4g} m long{given}, {kind} for a room: {hint}")


def _check_upright(path: Path, enclosed: dict[float, list[Any]]) -> None:
    """Raises UsageError where one ring encloses much less at one height than at another, as a ball does. Where several
    things are enclosed at a height, or nothing is, it may be furniture, or a hole in a wall."""
    if not all(len(parts) == 1 and not parts[0].interiors for parts in enclosed.values()):
        return
    areas = {height: float(parts[0].area) for height, parts in enclosed.items()}
    low, high = min(areas, key=lambda h: areas[h]), max(areas, key=lambda h: areas[h])
    if areas[low] < UPRIGHT * areas[high]:
        raise UsageError(
            f"{path}: its walls enclose {areas[low]:.2g} m2 at {low:g} m above its lowest point and "
            f"{areas[high]:.2g} m2 at {high:g} m, and walls of a room stand upright: this mesh is no room, or another "
            "axis points up (--up)"
        )


def _cut(triangles: Floats, height: float) -> Floats:
    """(n, 2, 2) where triangles (t, 3, 3) cross a height."""
    z = triangles[..., 2] - height
    z = np.where(z == 0, 1e-9, z)  # a corner at the very height lies above it
    some = triangles[(z.min(axis=1) < 0) & (z.max(axis=1) > 0)]
    if not len(some):
        return np.empty((0, 2, 2))
    z = some[..., 2] - height
    z = np.where(z == 0, 1e-9, z)
    above = z > 0
    alone = np.where(above.sum(axis=1) == 1, np.argmax(above, axis=1), np.argmin(above, axis=1))
    ends = [_between(some, z, alone, (alone + step) % 3) for step in (1, 2)]
    return np.stack(ends, axis=1)


def _between(triangles: Floats, z: Floats, a: Ints, b: Ints) -> Floats:
    row = np.arange(len(triangles))
    share = z[row, a] / (z[row, a] - z[row, b])
    start, end = triangles[row, a, :2], triangles[row, b, :2]
    return np.asarray(start + share[:, None] * (end - start))


def _enclosed(lines: Floats, gap: float) -> list[Any]:
    """Polygons that lines (n, 2, 2) enclose, with holes where lines enclose something within."""
    shapely = need_shapely()
    if not len(lines):
        return []
    half = max(gap, 0.002) / 2
    walls = shapely.linestrings(lines[np.hypot(*(lines[:, 0] - lines[:, 1]).T) > 1e-9])
    thick = shapely.union_all(shapely.buffer(walls, half, cap_style="square", join_style="mitre"))
    holes = [shapely.Polygon(ring) for part in shapely.get_parts(thick) for ring in part.interiors]
    faces = shapely.get_parts(shapely.union_all(holes).difference(thick)) if holes else []
    grown = [shapely.buffer(face, half, join_style="mitre") for face in faces if face.area >= LEAST]
    flat = [shapely.simplify(face, FLAT) for face in grown]
    return [max(shapely.get_parts(face), key=lambda part: part.area) for face in flat]
