"""Imported objects: folders that `foretell import-object` writes, each the asset of a scenario.

    mug/object.json      mass, inertia, size, parts and looks, and the SHA-256 of every other file
    mug/part-00.obj      a convex part, by which it touches
    mug/look-00.obj      what is seen, with texture-00.png where it has a picture
    mug/picture.png      for people

The asset's name is `FOLDER/mug@HASH`. The hash is that of `object.json` and so of everything in the folder: a changed
object has another name, and with it other scenarios and other rows. The folder is where to find it, and no part of what
a scenario is called (`Scenario.id`).
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from foretell.arrays import Floats, Ints
from foretell.document import load_json
from foretell.errors import UsageError
from foretell.files import SMALL, read_file
from foretell.objects.asset import Asset, ObjectPhysics
from foretell.objects.label import material
from foretell.objects.piece import SEEN, Inertia, add_piece

__all__ = [
    "FILE", "FORMAT", "MOST_PARTS", "MOST_WORDS", "ImportedLook", "ObjectFile", "describe", "imported",
    "imported_asset", "is_imported", "require_unchanged",
]  # fmt: skip

FILE, FORMAT = "object.json", 1
MOST_PARTS = 64
MOST_WORDS = 200
"""Letters of the words for an object."""
CORNERS = 64
"""Of a convex part, by which it touches: contacts with more cost more and change little."""
HASH = 16
"""Hex digits of the hash in a name."""
MOST_BYTES = 64 << 20
"""Of a part or a look."""
Number = Annotated[float, Field(ge=-1e6, le=1e6)]
Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$")]
"""Of an object or a file beside `object.json`: it can lead nowhere else."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _ImportedModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ImportedLook(_ImportedModel):
    """One piece that is seen."""

    mesh: Name
    texture: Name | None = None
    colour: tuple[Number, Number, Number] = (0.7, 0.7, 0.7)
    """Where it has no texture; 0 to 1."""


class ObjectFile(_ImportedModel):
    """What `object.json` holds. Metres and kilograms; the origin is the middle of the bounding box, z is up."""

    format: int = FORMAT
    name: Name
    words: str = Field(max_length=MOST_WORDS)
    """The name as an instruction says it."""
    size: tuple[Positive, Positive, Positive]
    mass: Positive
    com: tuple[Number, Number, Number]
    inertia: tuple[Positive, Positive, Positive]
    """Principal moments, kg m^2."""
    axes: tuple[Number, Number, Number, Number]
    """Orientation of the principal axes (w, x, y, z)."""
    friction: Positive = 1.0
    """Sliding friction."""
    parts: tuple[Name, ...] = Field(min_length=1, max_length=MOST_PARTS)
    looks: tuple[ImportedLook, ...] = Field(max_length=MOST_PARTS)
    sha256: dict[str, Digest]
    """File -> its hash."""
    source: dict[str, Any] = {}
    """What it was made from, and how."""

    @property
    def files(self) -> list[str]:
        """The files that it is made of."""
        textures = [look.texture for look in self.looks if look.texture is not None]
        return [*self.parts, *(look.mesh for look in self.looks), *textures]


def is_imported(name: str) -> bool:
    """Whether an asset's name is that of an imported object."""
    folder, at, _ = name.rpartition("@")
    return bool(at) and "/" in folder.replace(os.sep, "/") and not folder.endswith(".json")  # which is a room


def imported(folder: str | Path) -> str:
    """The asset's name of an imported object, for `Placement(asset=...)`. Raises UsageError where there is none."""
    where = Path(folder).expanduser().resolve()
    return f"{where.as_posix()}@{_hash(_contents(where))}"


@lru_cache(maxsize=4096)
def describe(name: str) -> ObjectFile:
    """What `object.json` of an asset's name says. Raises UsageError where the object is missing, or was changed."""
    return _described(name)


def require_unchanged(name: str) -> None:
    """Raises UsageError where a file of an object is missing, or was changed, also since it was read before."""
    about, where = _described(name), Path(name.rpartition("@")[0])
    for file in dict.fromkeys(about.files):
        _checked(where, file, about.sha256.get(file))


def _described(name: str) -> ObjectFile:
    folder, _, wanted = name.rpartition("@")
    contents = _contents(Path(folder))
    if _hash(contents) != wanted:
        raise UsageError(
            f"object {folder} was changed: its hash is {_hash(contents)} now, and the scenario has {wanted}. Run a new "
            "study on it, or put the old folder back"
        )
    return _parsed(Path(folder), contents)


@lru_cache(maxsize=256)
def imported_asset(name: str) -> Asset:
    """The asset of such a name. Raises UsageError where the object is missing, or is not the one that is named."""
    folder, _, key = name.rpartition("@")
    where, about = Path(folder), describe(name)
    data = {file: _checked(where, file, about.sha256.get(file)) for file in dict.fromkeys(about.files)}
    parts = [read_obj(data[file], where / file)[0] for file in about.parts]
    looks = [(look, *read_obj(data[look.mesh], where / look.mesh)) for look in about.looks]
    pictures = {look.texture: _picture(data[look.texture], where / look.texture) for look, *_ in looks if look.texture}
    inertia = Inertia(mass=about.mass, principal=about.inertia, com=about.com, quat=about.axes)
    add = partial(_add, about=about, parts=parts, looks=looks, pictures=pictures, inertia=inertia, key=key)
    _try(add, where)
    return Asset(name, about.mass, about.size[2] / 2, add)


def _try(add: Any, where: Path) -> None:
    """Raises UsageError for an object that no scene can have, such as one with an impossible inertia."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="object")
    body.add_freejoint()
    try:
        add(spec, body, np.ones(3), ObjectPhysics())
        spec.compile()
    except ValueError as error:
        why = str(error).strip().splitlines()[0].removeprefix("Error: ")
        raise UsageError(f"object {where} cannot be built: {why:.200}; import the mesh again") from None


def _add(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, scale: np.ndarray, physics: ObjectPhysics,
    *, about: ObjectFile, parts: Any, looks: Any, pictures: Any, inertia: Inertia, key: str,
) -> None:  # fmt: skip
    inertia.set(body, scale, physics)
    touch: dict[str, Any] = {"friction": [about.friction * physics.friction_scale, 0.005, 0.0001], "condim": 4}
    touch |= {"solref": physics.solref, "priority": 1, "mass": 0, "group": 3 if looks else 0}
    for number, vertices in enumerate(parts):
        add_piece(spec, body, f"part{number}", vertices * scale, **touch)
        spec.mesh(f"{body.name}/part{number}").maxhullvert = CORNERS
    for number, (look, vertices, texture, faces) in enumerate(looks):
        mesh = spec.add_mesh(
            name=f"{body.name}/look{number}", uservert=(vertices * scale).ravel(), userface=faces.ravel()
        )
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # what is only seen has no mass
        shown: dict[str, Any] = {"rgba": [*look.colour, 1]}
        if look.texture is not None and texture is not None:
            mesh.usertexcoord = texture.ravel()
            shown = {"material": material(spec, f"{about.name}-{key}-{number}", pictures[look.texture])}
        body.add_geom(name=mesh.name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, **shown, **SEEN)


def _hash(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()[:HASH]


def _contents(where: Path) -> bytes:
    try:
        return read_file(where / FILE, SMALL, follow=True)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(
            f"objects: {str(where)[:300]} is no imported object: it has no {FILE}; `foretell import-object` makes one"
        ) from None
    except OSError as error:
        raise UsageError(f"objects: {str(where / FILE)[:300]} cannot be read: {error.strerror}") from None


def _parsed(where: Path, contents: bytes) -> ObjectFile:
    try:
        given = load_json(contents.decode("utf-8"))
        if isinstance(given, dict) and isinstance(given.get("format"), int) and given["format"] > FORMAT:
            raise UsageError(
                f"{where / FILE} has format {given['format']}; this foretell reads up to {FORMAT}: upgrade foretell"
            )
        return ObjectFile.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or FILE
        raise UsageError(f"{where / FILE}: {field}: {first['msg']}") from None
    except ValueError as error:
        raise UsageError(f"{where / FILE}: {error}") from None


def _checked(where: Path, file: str, wanted: str | None) -> bytes:
    """A file of the object, which must be the one that was imported."""
    try:
        data = read_file(where / file, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"object {where}: {file} cannot be read: {error.strerror}; import the mesh again") from None
    if hashlib.sha256(data).hexdigest() != wanted:
        raise UsageError(f"object {where}: {file} was changed after it was imported; import the mesh again")
    return data


def read_obj(data: bytes, path: Path) -> tuple[Floats, Floats | None, Ints]:
    """Vertices (k, 3), where they are in a picture (k, 2) from its upper left corner or None, and triangles (f, 3), of
    an OBJ file as we write it: each vertex has its own place in the picture. Raises UsageError for another."""
    rows: dict[str, list[list[float]]] = {"v": [], "vt": [], "f": []}
    try:
        for line in data.decode("ascii").splitlines():
            kind, *cells = line.split()
            if kind in rows:
                rows[kind].append([float(cell.partition("/")[0]) for cell in cells])
        vertices, faces = np.array(rows["v"]).reshape(-1, 3), np.array(rows["f"], dtype=np.int64).reshape(-1, 3) - 1
        texture = np.array(rows["vt"]).reshape(-1, 2) if rows["vt"] else None
        sound = len(vertices) > 3 and np.isfinite(vertices).all() and (texture is None or len(texture) == len(vertices))
        if not sound or (len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices))):
            raise ValueError
    except (ValueError, UnicodeDecodeError, OverflowError):
        raise UsageError(f"object {path.parent}: {path.name} is no part as foretell writes it") from None
    return vertices, None if texture is None else texture * [1, -1] + [0, 1], faces


def _picture(data: bytes, path: Path) -> np.ndarray:
    from foretell.objects.png import read_png

    try:
        return read_png(data)
    except ValueError as error:
        raise UsageError(f"object {path.parent}: {path.name}: {error}") from None
