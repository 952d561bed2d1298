"""Charts: the surface of an object laid out in a picture, so that a photograph can be painted on any of our objects.

Each piece that is seen has a chart of its own, one below the other. A chart is like a map of the world: from the middle
of the piece, stretched to a cube, every point of its surface has a longitude (across) and a latitude (down).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.objects.asset import ObjectPhysics, asset
from foretell.objects.stl import shape
from foretell.rotation import rotate

__all__ = ["WIDTH", "SurfaceChart", "charts", "picture_size", "texels"]

WIDTH, HEIGHT, LEAST = 256, 128, 8
"""Pixels: of every chart across, of that of the largest piece down, of that of any piece down."""
HIDDEN = 3
"""Group of geoms that are not drawn."""
STEP = np.radians(16)
"""The largest angle that a triangle spans: within it, a chart is taken for even."""
CREASE = np.cos(np.radians(40))
"""Cosine of the angle between two faces from which on their edge is sharp."""
SIDES = 24


@dataclass(frozen=True, eq=False, kw_only=True)
class SurfaceChart:
    """The surface of one piece of an object."""

    geom: str
    """The geom of the object that it is on, after the name of the object."""
    corners: Floats
    """(k, 3, 3) of its triangles, in the frame of the object, m."""
    normals: Floats
    """(k, 3, 3) at the corners."""
    places: Floats
    """(k, 3, 2) where the corners are in the picture, pixels from the left and from the top. Across, the picture
    repeats."""
    top: int
    """The first row of its chart."""
    height: int


def picture_size(pieces: tuple[SurfaceChart, ...]) -> tuple[int, int]:
    """Height and width of the picture of an object."""
    return pieces[-1].top + pieces[-1].height, WIDTH


@lru_cache(maxsize=32)
def charts(name: str) -> tuple[SurfaceChart, ...]:
    """The charts of an asset at its own size, in the order of its geoms."""
    spec = mujoco.MjSpec()
    spec.compiler.balanceinertia = True  # of no account here
    body = spec.worldbody.add_body(name="object")
    asset(name).add(spec, body, np.ones(3), ObjectPhysics())
    model = spec.compile()
    shown = np.flatnonzero((model.geom_group != HIDDEN) & (model.geom_bodyid != 0)).tolist()
    sizes = {g: float(model.geom_rbound[g]) for g in shown}
    pieces, top = [], 0
    for g in shown:
        height = max(LEAST, round(HEIGHT * sizes[g] / max(sizes.values())))
        triangles = shape(model, g, SIDES)
        across = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        triangles = triangles[np.linalg.norm(across, axis=1) > 1e-12]  # on an axis, a turned part has flat ones
        middle = (triangles.reshape(-1, 3).max(axis=0) + triangles.reshape(-1, 3).min(axis=0)) / 2
        half = np.maximum(np.ptp(triangles.reshape(-1, 3), axis=0) / 2, 1e-6)
        normals = _normals(triangles)
        triangles, normals = _divided(triangles, normals, middle, half)
        places = _places((triangles - middle) / half, int(half.argmax()), top, height)
        pos, quat = _in_object(model, g)
        turn = np.broadcast_to(quat, (*triangles.shape[:-1], 4))
        pieces.append(
            SurfaceChart(
                geom=model.geom(g).name.removeprefix("object"),
                corners=rotate(turn, triangles) + pos,
                normals=rotate(turn, normals),
                places=places,
                top=top,
                height=height,
            )
        )
        top += height
    return tuple(pieces)


def _in_object(model: mujoco.MjModel, g: int) -> tuple[Floats, Floats]:
    """Position and quaternion of a geom in the frame of the object."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, data.geom_xmat[g])
    return np.array(data.geom_xpos[g] - data.xpos[1]), quat


def _normals(triangles: Floats) -> Floats:
    """(k, 3, 3) at corners: the mean of the faces that meet there, but for those beyond a sharp edge."""
    across = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    faces = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30)
    spread = np.ptp(triangles.reshape(-1, 3), axis=0).max()
    _, corner = np.unique(np.round(triangles.reshape(-1, 3) / spread, 5), axis=0, return_inverse=True)
    corner = corner.reshape(-1)
    order = np.argsort(corner, kind="stable")
    starts = np.searchsorted(corner[order], np.arange(corner.max() + 2))
    normals = np.empty((len(corner), 3))
    for c in range(corner.max() + 1):
        here = order[starts[c] : starts[c + 1]]
        near = (faces[here // 3] @ faces[here // 3].T > CREASE).astype(float)
        normals[here] = near @ across[here // 3]  # larger faces count more
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    smooth: Floats = np.where(lengths > 1e-30, normals / np.maximum(lengths, 1e-30), np.repeat(faces, 3, axis=0))
    return smooth.reshape(-1, 3, 3)


def _divided(triangles: Floats, normals: Floats, middle: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Triangles and normals, divided in two along their longest side until none spans more than `STEP`."""
    for _ in range(12):
        rays = (triangles - middle) / half
        rays = rays / np.maximum(np.linalg.norm(rays, axis=2, keepdims=True), 1e-9)
        cosines = np.stack([(rays[:, i] * rays[:, (i + 1) % 3]).sum(axis=1) for i in range(3)], axis=1)
        wide = cosines.min(axis=1) < np.cos(STEP)
        if not wide.any():
            break
        at = np.flatnonzero(wide)
        a = cosines[at].argmin(axis=1)
        b, c = (a + 1) % 3, (a + 2) % 3
        parts = []
        for values in (triangles, normals):
            corner_a, corner_b, corner_c = values[at, a], values[at, b], values[at, c]
            new = (corner_a + corner_b) / 2
            first, second = (np.stack(part, axis=1) for part in ([corner_a, new, corner_c], [new, corner_b, corner_c]))
            parts.append(np.concatenate([values[~wide], first, second]))
        triangles, normals = parts
    lengths = np.linalg.norm(normals, axis=2, keepdims=True)
    return triangles, normals / np.maximum(lengths, 1e-9)


def _places(rays: Floats, pole: int, top: int, height: int) -> Floats:
    """(k, 3, 2) pixels of points of a stretched piece (k, 3, 3), whose poles are on an axis."""
    x, y, z = (rays[..., (pole + i) % 3] for i in (1, 2, 0))
    across, out = np.arctan2(y, x) / (2 * np.pi) + 0.5, np.hypot(x, y)
    down = np.arctan2(out, z) / np.pi
    polar = out < 1e-6
    known = np.where(polar, np.nan, across)
    first = np.nanmax(np.where(polar, -1, across), axis=1, keepdims=True)
    known = np.where(first - known > 0.5, known + 1, known)  # a triangle does not go around the world
    across = np.where(
        polar, np.nanmean(np.where(polar.all(axis=1, keepdims=True), 0.0, known), axis=1, keepdims=True), known
    )
    return np.stack([across * WIDTH, top + 1 + down * (height - 2)], axis=-1)


def texels(pieces: tuple[SurfaceChart, ...]) -> tuple[Floats, Floats]:
    """(height, width, 3) points and normals, in the frame of the object, of the pixels of its picture; NaN where a
    pixel is on no piece."""
    points = np.full((*picture_size(pieces), 3), np.nan)
    normals = points.copy()
    for piece in pieces:
        for corners, upright, places in zip(piece.corners, piece.normals, piece.places, strict=True):
            sides = np.column_stack([places[1] - places[0], places[2] - places[0]])
            if abs(np.linalg.det(sides)) < 1e-9:
                continue
            low, high = np.floor(places.min(axis=0) - 0.5).astype(int), np.ceil(places.max(axis=0) + 0.5).astype(int)
            grid = np.meshgrid(np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1))
            columns, rows = (axis.ravel() for axis in grid)
            shares = np.linalg.solve(sides, np.stack([columns + 0.5 - places[0, 0], rows + 0.5 - places[0, 1]])).T
            shares = np.column_stack([1 - shares.sum(axis=1), shares])
            inside = shares.min(axis=1) > -1e-6
            at = rows[inside], columns[inside] % WIDTH
            points[at], normals[at] = shares[inside] @ corners, shares[inside] @ upright
    lengths = np.linalg.norm(normals, axis=2, keepdims=True)
    return points, normals / np.maximum(lengths, 1e-9)
