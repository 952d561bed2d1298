"""Objects to print: their shape as binary STL in millimetres, and what they should weigh.

The shape is what hands and tables touch: a can's printed band is left out. An object of several parts is one file of
overlapping solids, each closed on its own; slicers unite them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from foretell.errors import UsageError
from foretell.objects.asset import ASSETS, ObjectPhysics, asset
from foretell.rotation import rotate

__all__ = ["Solid", "file_name", "read_stl", "shape", "solid", "solid_of", "write_objects", "write_stl"]

AROUND = 96
"""Facets around a circle; a multiple of 4, so that widths along x and y are exact. At 5 cm across, 0.013 mm off."""
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


@dataclass(frozen=True)
class Solid:
    """One object at one size."""

    triangles: np.ndarray
    """(k, 3, 3) corners in mm, object's own frame, z up; anticlockwise as seen from outside."""
    grams: float
    """What it weighs in simulation; 0 for what stands still."""

    @property
    def size(self) -> np.ndarray:
        """(3,) of its bounding box, mm."""
        corners = self.triangles.reshape(-1, 3)
        return np.asarray(corners.max(axis=0) - corners.min(axis=0))


def solid(name: str, scale: float | tuple[float, ...] = 1.0) -> Solid:
    """An object (`foretell.objects.ASSETS`) at a scale: one number, or three along its x, y and z."""
    spec = mujoco.MjSpec()
    spec.compiler.balanceinertia = True  # of no account here, and a flattened object may have an impossible one
    body = spec.worldbody.add_body(name="object")
    if asset(name).free:
        body.add_freejoint(name="free")
    asset(name).add(spec, body, np.broadcast_to(np.asarray(scale, dtype=float), (3,)), ObjectPhysics())
    return solid_of(spec.compile(), "object")


def solid_of(model: mujoco.MjModel, name: str) -> Solid:
    """A body of a compiled model, with those that hang on it."""
    body = model.body(name)
    parts = []
    for g in np.flatnonzero(model.geom_contype | model.geom_conaffinity).tolist():
        chain = [int(model.geom_bodyid[g])]
        while chain[-1] not in (0, body.id):
            chain.append(int(model.body_parentid[chain[-1]]))
        if chain.pop() == body.id:
            corners = rotate(model.geom_quat[g], shape(model, g)) + model.geom_pos[g]
            for b in chain:
                corners = rotate(model.body_quat[b], corners) + model.body_pos[b]
            parts.append(1000.0 * corners)
    free = int(body.dofnum[0]) > 0
    return Solid(np.concatenate(parts), 1000.0 * float(body.mass[0]) if free else 0.0)


def shape(model: mujoco.MjModel, g: int, around: int = AROUND) -> np.ndarray:
    """(k, 3, 3) triangles of a geom in its own frame, m; `around`: facets around a circle, a multiple of 4."""
    kind = int(model.geom_type[g])
    if kind == int(mujoco.mjtGeom.mjGEOM_MESH):
        m = int(model.geom_dataid[g])
        start, corners = model.mesh_vertadr[m], model.mesh_vertnum[m]
        faces = model.mesh_face[model.mesh_faceadr[m] :][: model.mesh_facenum[m]]
        return np.asarray(model.mesh_vert[start : start + corners][faces], dtype=float)
    if kind not in PRIMITIVES:
        what = mujoco.mjtGeom(kind).name.removeprefix("mjGEOM_").lower()
        raise UsageError(f"stl: {model.geom(g).name!r} is a {what}, which cannot be printed")
    return PRIMITIVES[kind](np.asarray(model.geom_size[g], dtype=float), around)


def _box(size: np.ndarray, around: int) -> np.ndarray:
    triangles = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            # corners of one face, anticlockwise from outside
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * side
            a, b, c, d = (side * np.eye(3)[axis] + s * u + t * v for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
            triangles += [[a, b, c], [a, c, d]]
    return np.asarray(np.array(triangles) * size)


def _turned(radii: np.ndarray, heights: np.ndarray, around: int) -> np.ndarray:
    """A turned part from its outline, bottom to top; it begins and ends on the axis."""
    angle = np.arange(around) * 2 * np.pi / around
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(around)])
    ring[np.abs(ring) < 1e-12] = 0.0
    layers = [r * ring + [0.0, 0.0, h] for r, h in zip(radii, heights, strict=True)]
    triangles = []
    for lower, upper, low, high in zip(layers, layers[1:], radii, radii[1:], strict=False):
        after_low, after_up = np.roll(lower, -1, axis=0), np.roll(upper, -1, axis=0)
        if low > 0:
            triangles.append(np.stack([lower, after_low, after_up], axis=1))
        if high > 0:
            triangles.append(np.stack([lower, after_up, upper], axis=1))
    return np.concatenate(triangles)


def _cylinder(size: np.ndarray, around: int) -> np.ndarray:
    radius, half = size[0], size[1]
    return _turned(np.array([0.0, radius, radius, 0.0]), np.array([-half, -half, half, half]), around)


def _ellipsoid(size: np.ndarray, around: int) -> np.ndarray:
    up = np.linspace(-np.pi / 2, np.pi / 2, around // 2 + 1)
    radii = np.cos(up)
    radii[[0, -1]] = 0.0
    return np.asarray(_turned(radii, np.sin(up), around) * size)


def _sphere(size: np.ndarray, around: int) -> np.ndarray:
    return _ellipsoid(np.full(3, size[0]), around)


def _capsule(size: np.ndarray, around: int) -> np.ndarray:
    up = np.linspace(-np.pi / 2, np.pi / 2, around // 2 + 1)
    radii = np.cos(up)
    radii[[0, -1]] = 0.0
    middle = around // 4 + 1
    heights = np.concatenate([size[0] * np.sin(up[:middle]) - size[1], size[0] * np.sin(up[middle - 1 :]) + size[1]])
    return _turned(size[0] * np.concatenate([radii[:middle], radii[middle - 1 :]]), heights, around)


PRIMITIVES: dict[int, Callable[[np.ndarray, int], np.ndarray]] = {
    int(mujoco.mjtGeom.mjGEOM_BOX): _box,
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): _cylinder,
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): _ellipsoid,
    int(mujoco.mjtGeom.mjGEOM_SPHERE): _sphere,
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): _capsule,
}


def file_name(name: str, scale: float | Iterable[float] = 1.0) -> str:
    """Such as `cube-103.2x100.2x101pct.stl`; the same along every axis: `mug-100pct.stl`. Of an imported object the
    folder is left out: the file goes where it is asked for."""
    name = name.rpartition("/")[2].replace("@", "-")
    sizes = [f"{100 * s:.1f}".removesuffix(".0") for s in np.atleast_1d(np.asarray(scale, dtype=float))]
    return f"{name}-{'x'.join(sizes if len(set(sizes)) > 1 else sizes[:1])}pct.stl"


def write_stl(path: str | Path, triangles: np.ndarray) -> None:
    """Write triangles (k, 3, 3) as binary STL."""
    records = np.zeros(len(triangles), RECORD)
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    records["normal"] = normal / np.where(length > 0, length, 1.0)
    records["corners"] = triangles
    header = b"foretell, millimetres".ljust(80)  # must not begin with "solid", which a text file does
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(header + len(records).to_bytes(4, "little") + records.tobytes())
    except OSError as error:
        raise UsageError(f"stl: cannot write {path}: {error.strerror}") from None


def read_stl(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Triangles (k, 3, 3) and normals (k, 3) of a binary STL file."""
    data = Path(path).read_bytes()
    count = int.from_bytes(data[80:84], "little")
    if len(data) != 84 + count * RECORD.itemsize:
        raise UsageError(f"{path} is not a binary STL file: {len(data)} bytes cannot hold {count} triangles")
    records = np.frombuffer(data, RECORD, offset=84)
    return np.array(records["corners"], dtype=float), np.array(records["normal"], dtype=float)


def write_objects(folder: str | Path, names: Iterable[str] | None = None, scale: float = 1.0) -> dict[Path, Solid]:
    """Write objects (default all) at one scale into a folder; file -> what is in it."""
    files = {}
    for name in list(ASSETS) if names is None else names:
        body = solid(name, scale)
        path = Path(folder) / file_name(name, scale)
        write_stl(path, body.triangles)
        files[path] = body
    return files
