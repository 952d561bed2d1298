"""Reading meshes of users: GLB, OBJ, COLLADA and STL, by trimesh.

A file may come from someone else. So its size is bounded, a COLLADA file may define no entities, and what a file refers
to (materials, textures) is read only from beside it.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bytes, Floats, Ints
from foretell.errors import UsageError
from foretell.files import read_file

__all__ = ["KINDS", "Piece", "need", "read_mesh"]

KINDS = (".glb", ".obj", ".dae", ".stl")
MOST_BYTES = 64 << 20
"""Of a file."""
MOST_FACES = 500_000
MOST_PIECES = 64
"""Pieces with a look of their own."""
FAR = 1e9
"""Of a coordinate, in the unit of the file."""
LARGEST = 512
"""Pixels along the longer side of a texture; larger pictures are shrunk."""
MOST_PIXELS = 64 << 20
GREY = (0.7, 0.7, 0.7)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Triangles with one look, in the units of the file."""

    vertices: Floats
    """(k, 3)"""
    faces: Ints
    """(f, 3)"""
    texture: Floats | None = None
    """(k, 2) where each vertex is in the picture, from its lower left corner."""
    picture: Bytes | None = None
    """(height, width, 3)"""
    colour: tuple[float, float, float] = GREY


def need(module: str) -> Any:
    """A package of the extra `meshes`. Raises UsageError with what to install where it is missing."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"meshes need {error.name or module}: pip install 'foretell[meshes]'") from None


def read_mesh(path: Path, most: int = MOST_PIECES) -> tuple[list[Piece], float, list[str]]:
    """The pieces of a file, metres of its unit (1 where it does not say), and notes. Raises UsageError, with the file,
    for what is no mesh, or has more pieces than `most`."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: a mesh ends in {', '.join(KINDS)}, not in {kind or 'nothing'!r:.20}")
    try:
        data = read_file(path, MOST_BYTES, follow=True)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if not data:
        raise UsageError(f"{path} is empty")
    if kind == ".dae" and re.search(rb"<!\s*(DOCTYPE|ENTITY)", data, re.IGNORECASE):
        raise UsageError(f"{path} defines entities (<!DOCTYPE>), which foretell does not read: remove the line")
    trimesh = need("trimesh")
    if kind == ".dae":
        need("collada")
    notes: list[str] = []
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            # unprocessed: what is not finite would be dropped in silence
            options = {"file_type": kind[1:], "resolver": _beside(path, notes), "process": False}
            scene = trimesh.load_scene(io.BytesIO(data), **options)
            made = [g for g in scene.dump() if isinstance(g, trimesh.Trimesh) and len(g.faces)]
            pieces = [_piece(geometry, path) for geometry in made]
    except UsageError:
        raise
    except MemoryError:
        raise UsageError(f"{path} does not fit into memory") from None
    except Exception as error:  # a reader of five formats may raise anything on a broken file
        raise UsageError(f"{path} is no {kind[1:].upper()} mesh: {type(error).__name__}: {error!s:.200}") from None
    _check(pieces, path, most)
    return pieces, _unit(made), notes


def _check(pieces: list[Piece], path: Path, most: int) -> None:
    if not pieces:
        raise UsageError(f"{path} has no triangles")
    if (faces := sum(len(piece.faces) for piece in pieces)) > MOST_FACES:
        raise UsageError(f"{path} has {faces:,} triangles; at most {MOST_FACES:,} are read: simplify the mesh")
    if len(pieces) > most:
        raise UsageError(f"{path} has {len(pieces):,} pieces; at most {most} are read: join them into one object")
    for piece in pieces:
        sound = piece.vertices.shape[1:] == piece.faces.shape[1:] == (3,)
        if not sound or piece.faces.min() < 0 or piece.faces.max() >= len(piece.vertices):
            raise UsageError(f"{path}: its triangles name vertices that it does not have")
        bad = np.flatnonzero(~(np.abs(piece.vertices) < FAR).all(axis=1))
        if len(bad):
            raise UsageError(
                f"{path}: vertex {bad[0]} is not finite, or too far away: {piece.vertices[bad[0]].tolist()}"
            )


def _unit(made: list[Any]) -> float:
    """Metres of the unit that a COLLADA file states."""
    text = str(made[0].metadata.get("units", made[0].units) or "meters")
    match = re.fullmatch(r"([0-9.eE+-]+) \* meters", text)
    unit = float(match[1]) if match else 1.0
    return unit if np.isfinite(unit) and unit > 0 else 1.0


def _piece(geometry: Any, path: Path) -> Piece:
    vertices, faces = np.array(geometry.vertices, dtype=float), np.array(geometry.faces, dtype=np.int64)
    visual = geometry.visual
    uv, surface = getattr(visual, "uv", None), getattr(visual, "material", None)
    images = (getattr(surface, name, None) for name in ("baseColorTexture", "emissiveTexture", "image"))
    image = next((image for image in images if image is not None), None)  # baked looks shine by themselves
    if image is not None and uv is not None and len(uv) == len(vertices) and np.isfinite(uv).all():
        return Piece(vertices=vertices, faces=faces, texture=np.array(uv, dtype=float), picture=_picture(image, path))
    if surface is None and visual.kind is None:  # the file says nothing
        return Piece(vertices=vertices, faces=faces)
    try:
        colour = np.asarray(surface.main_color if surface is not None else visual.main_color, dtype=float)[:3] / 255
        r, g, b = np.clip(colour, 0, 1).tolist() if np.isfinite(colour).all() else GREY
    except (AttributeError, TypeError, ValueError, IndexError):
        r, g, b = GREY
    return Piece(vertices=vertices, faces=faces, colour=(r, g, b))


def _picture(image: Any, path: Path) -> Bytes:
    """(height, width, 3) of a picture of Pillow, not larger than needed."""
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise UsageError(f"{path}: its texture has {width}x{height} pixels; at most {MOST_PIXELS:,} are read")
    shrink = max(width, height) / LARGEST
    if shrink > 1:
        image = image.convert("RGB").resize((max(1, round(width / shrink)), max(1, round(height / shrink))))
    return np.array(image.convert("RGB"), dtype=np.uint8)


def _beside(path: Path, notes: list[str]) -> Any:
    """What trimesh asks for the files that a mesh refers to: it gets those beside the mesh."""
    resolvers = need("trimesh.resolvers")
    folder = path.resolve().parent

    class BesideMesh(resolvers.Resolver):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            pass

        def get(self, key: str) -> bytes:
            name = str(key).strip().removeprefix("./")
            try:
                if name != Path(name).name or "\\" in name:
                    raise OSError("it is not beside the mesh")
                return read_file(folder / name, MOST_BYTES)
            except OSError as error:
                notes.append(f"{name[:80]!r}, which the mesh refers to, is left out: {error.strerror or error}")
                raise ValueError(notes[-1]) from None

        def keys(self) -> list[str]:
            return []

        def write(self, name: str, data: Any) -> None:
            raise NotImplementedError

        def namespaced(self, namespace: str) -> Any:
            return self

    return BesideMesh()
