"""`foretell import-object MESH`: a folder that any task can place as an object."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.import_object.mesh import Piece, read_mesh
from foretell.import_object.parts import Weighed, closed, convex_parts, weigh
from foretell.import_object.picture import picture_of
from foretell.notebook import Displayed
from foretell.objects.imported import FILE, FORMAT, MOST_PARTS, MOST_WORDS, imported
from foretell.objects.png import write_png

__all__ = ["ImportedObject", "import_object"]

DENSITY = 500.0
"""kg/m^3 where neither mass nor density is given: wood, or a box that is not full."""
LIGHT, HEAVY = 10.0, 25_000.0
"""kg/m^3: foam, and more than any metal. What is outside has a wrong mass or a wrong size."""
FINE, COARSE = 0.01, 1.0
"""Concavity that CoACD takes."""
SMALLEST, LARGEST = 0.005, 1.0
"""Metres along the longest side, outside of which the unit is in doubt."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
Up = Literal["x", "y", "z"]
TURNS = {
    "x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "z": np.eye(3),
}
"""Axis of the file that points up -> how the file is turned."""


@dataclass(frozen=True, kw_only=True)
class ImportedObject(Displayed):
    """An object that was imported."""

    name: str
    folder: Path
    asset: str
    """For `Placement(asset=...)`."""
    size: tuple[float, float, float]
    """m"""
    mass: float
    """kg"""
    parts: int
    looks: int
    picture: Path | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        picture = None if self.picture is None else str(self.picture)
        return {**vars(self), "folder": str(self.folder), "picture": picture, "notes": list(self.notes)}

    def text(self) -> str:
        x, y, z = (1000 * side for side in self.size)
        parts = "its convex hull" if self.parts == 1 else f"{self.parts} convex parts"
        lines = [f"{self.name}: {x:.0f} x {y:.0f} x {z:.0f} mm, {1000 * self.mass:.1f} g, {parts}, in {self.folder}"]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"picture: {self.picture}"] if self.picture is not None else []
        return "\n".join([*lines, f"a study runs on it with `scenarios: {{objects: {self.folder}}}`"])


def import_object(
    mesh: str | Path,
    *,
    out: str | Path = "objects",
    name: str | None = None,
    words: str | None = None,
    scale: float | None = None,
    up: Up | None = None,
    mass: float | None = None,
    density: float | None = None,
    friction: float = 1.0,
    parts: int = 16,
    threshold: float = 0.05,
    notify: Callable[[str], None] = lambda text: None,
) -> ImportedObject:
    """Make an object of a mesh (GLB, OBJ, COLLADA or STL), in a folder of its name within `out`.

    `scale`: metres of the file's unit; None: what the file says, else 1. `up`: the axis of the file that points up;
    None: y for GLB, z for others. `mass` in kg, or `density` in kg/m^3. `friction`: sliding friction. `parts`: how many
    convex parts at most; 1 is the convex hull. `threshold`: how far parts may stray from the shape, CoACD's concavity.
    `name`: the folder's, and the unit of evaluation; None: the file's. `words`: the name as an instruction says it.
    `notify` is called with a message about slow steps.
    """
    path = Path(mesh)
    _check_numbers(scale=scale, mass=mass, density=density, friction=friction, threshold=threshold)
    if mass is not None and density is not None:
        raise UsageError("give mass or density, not both")
    if not 1 <= parts <= MOST_PARTS:
        raise UsageError(f"parts is {parts}, it must be from 1 to {MOST_PARTS}")
    if not FINE <= threshold <= COARSE:
        raise UsageError(f"threshold is {threshold:g}, it must be from {FINE:g} to {COARSE:g}")
    if density is not None and not LIGHT <= density <= HEAVY:
        raise UsageError(f"density is {density:g}, it must be from {LIGHT:g} to {HEAVY:,.0f} kg/m^3")
    if words is not None and not (words.strip() and words.isprintable() and len(words) <= MOST_WORDS):
        raise UsageError(f"words are {words!r:.80}, they must be up to {MOST_WORDS} letters without control characters")
    if up is not None and up not in TURNS:
        raise UsageError(f"up is {up!r}, it must be x, y or z")
    name = _name(path, name)
    folder = _target(Path(out), name)
    pieces, unit, notes = read_mesh(path)
    turn = TURNS[up or ("y" if path.suffix.lower() == ".glb" else "z")]
    pieces = [_moved(piece, (scale or unit) * turn) for piece in pieces]
    corners = np.concatenate([piece.vertices[np.unique(piece.faces)] for piece in pieces])
    sides = np.ptp(corners, axis=0)
    notes += _check_size(sides, scale, path)
    middle = (corners.max(axis=0) + corners.min(axis=0)) / 2
    pieces = [_moved(piece, np.eye(3), -middle) for piece in pieces]
    try:
        whole, mended = closed(pieces)
        convex, other = convex_parts(whole, parts, threshold, notify)
        weighed = weigh(convex, mass, density or DENSITY)
        _check_density(weighed)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    notes += [note for note in (mended, other) if note]
    if mass is None and density is None:
        notes.append(f"neither mass nor density is given: its density is taken as {DENSITY:g} kg/m^3")
    about = {
        "format": FORMAT,
        "name": name,
        "words": words or re.sub(r"[._-]+", " ", name),
        "size": sides.tolist(),
        "mass": weighed.mass,
        "com": weighed.com,
        "inertia": weighed.inertia,
        "axes": weighed.axes,
        "friction": friction,
    }
    if folder.exists():
        notes.append(f"{folder} was there before, and is replaced: studies that ran on it keep their rows")
    source = {"file": path.name, "sha256": _digest(path.read_bytes()), "scale": scale or unit, "up": up, "notes": notes}
    source |= {"volume": weighed.volume, "threshold": threshold, "parts": parts}
    return _write(folder, about, source, convex, pieces, weighed, notes)


def _check_numbers(**numbers: float | None) -> None:
    for name, value in numbers.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} is {value}, it must be above 0")


def _name(path: Path, name: str | None) -> str:
    if name is None:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._")[:60]
        if not name:
            raise UsageError(f"{path.name!r:.80} gives no name for the object: give one with --name")
    if not NAME.fullmatch(name):
        raise UsageError(
            f"name {name!r:.80} should be up to 60 letters, digits, dots, dashes, the first a letter or digit"
        )
    return name


def _target(out: Path, name: str) -> Path:
    """The folder to write. Raises UsageError where something else is there."""
    folder = out / name
    if folder.exists() and not (folder / FILE).is_file():
        raise UsageError(f"out: {folder} exists and is no imported object: give another --name or --out")
    return folder


def _check_size(sides: Floats, scale: float | None, path: Path) -> list[str]:
    longest = float(sides.max())
    if longest == 0:
        raise UsageError(f"{path}: the mesh is flat: all its vertices lie together")
    if SMALLEST <= longest <= LARGEST:
        return []
    hint = "in millimetres? use --scale 0.001" if longest > LARGEST else "in another unit? use --scale 1000"
    what = f"{path}: the object is {longest:.3g} m along its longest side"
    if scale is None:
        raise UsageError(f"{what}: {hint}, or --scale 1 if it is right")
    return [f"the object is {longest:.3g} m along its longest side: {hint}"]


def _check_density(weighed: Weighed) -> None:
    """Raises UsageError for a mass that no object of this size has."""
    density = weighed.mass / weighed.volume
    if not LIGHT <= density <= HEAVY:
        litres = f"{1000 * weighed.volume:.3g} litres"
        raise UsageError(
            f"mass is {weighed.mass:.3g} kg and the convex parts have {litres}, which is {density:.3g} kg/m^3; it must "
            f"be from {LIGHT:g} to {HEAVY:,.0f}: check the mass (kg) and the scale (m)"
        )


def _moved(piece: Piece, matrix: Floats, shift: Floats | float = 0.0) -> Piece:
    return Piece(**{**vars(piece), "vertices": piece.vertices @ matrix.T + shift})


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _obj(vertices: Floats, faces: Any = (), texture: Floats | None = None) -> bytes:
    lines = ["# foretell import-object; metres, z up"]
    lines += ["v " + " ".join(f"{v:.9g}" for v in vertex) for vertex in vertices.tolist()]
    lines += ["vt " + " ".join(f"{v:.9g}" for v in at) for at in (() if texture is None else texture.tolist())]
    corner = "{0}/{0}" if texture is not None else "{0}"
    lines += ["f " + " ".join(corner.format(i + 1) for i in face) for face in np.asarray(faces).tolist()]
    return ("\n".join(lines) + "\n").encode()


def _shell(vertices: Floats) -> tuple[Floats, Any]:
    """A convex part as vertices and triangles that face outwards."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(vertices)
    faces = hull.simplices.copy()
    for face, plane in zip(faces, hull.equations, strict=True):
        a, b, c = vertices[face]
        if np.cross(b - a, c - a) @ plane[:3] < 0:
            face[[1, 2]] = face[[2, 1]]
    kept, faces = np.unique(faces, return_inverse=True)
    return vertices[kept], faces.reshape(-1, 3)


def _write(
    folder: Path, about: dict[str, Any], source: dict[str, Any], convex: list[Floats], pieces: list[Piece],
    weighed: Weighed, notes: list[str],
) -> ImportedObject:  # fmt: skip
    files = {f"part-{i:02}.obj": _obj(*_shell(part)) for i, part in enumerate(convex)}
    about["parts"], about["looks"] = list(files), []
    for i, piece in enumerate(pieces):
        used, faces = np.unique(piece.faces, return_inverse=True)
        at = None if piece.texture is None else piece.texture[used]
        look: dict[str, Any] = {"mesh": f"look-{i:02}.obj", "colour": list(piece.colour)}
        files[look["mesh"]] = _obj(piece.vertices[used], faces.reshape(-1, 3), at)
        if piece.picture is not None:
            look["texture"] = f"texture-{i:02}.png"
            files[look["texture"]] = write_png(piece.picture)
        about["looks"].append(look)
    about |= {"sha256": {file: _digest(data) for file, data in files.items()}, "source": source}
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for file, data in files.items():
            (new / file).write_bytes(data)
        (new / FILE).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        picture, why = picture_of(imported(new))
        if picture is not None:
            (new / "picture.png").write_bytes(write_png(picture))
        notes = [*notes, *([why] if why else [])]
        new.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(new, folder)
    except OSError as error:
        raise UsageError(f"out: cannot write {folder}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(new)
    x, y, z = about["size"]
    return ImportedObject(
        name=about["name"],
        folder=folder,
        asset=imported(folder),
        size=(x, y, z),
        mass=weighed.mass,
        parts=len(convex),
        looks=len(pieces),
        picture=folder / "picture.png" if picture is not None else None,
        notes=tuple(notes),
    )
