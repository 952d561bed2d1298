"""The convex parts by which an imported object touches, and the mass that they give it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.import_object.mesh import Piece, need
from foretell.objects.piece import add_piece

__all__ = ["Weighed", "closed", "convex_parts", "weigh"]

MOST_BODIES = 200
"""Separate bodies of a mesh that is cut into parts."""
VERTICES = 64
"""Of a part."""
CONVEX = 0.985
"""Share of its convex hull that a mesh fills if it is as good as convex."""
CELLS = 20
"""Of the grid on which a surface with holes is made anew. With 30 the cut takes a minute."""
MANY = 3000
"""Triangles from which on the search for cuts is less deep."""
SMALL = 0.1
"""Share of its surface that all holes of a mesh may have to be closed flat."""
OPEN = 0.2
"""Share of its convex hull's surface that a mesh with holes may lack if it is as good as convex."""
NEAR = 0.01
"""Share of its size by which it may lie below its hull then."""


def closed(pieces: list[Piece]) -> tuple[Any, str | None]:
    """All pieces as one mesh of trimesh without holes, and what was done to it: None, or words. A mesh that cannot be
    mended comes back with its holes."""
    trimesh = need("trimesh")
    need("networkx")
    single = [_cleaned(trimesh.Trimesh(p.vertices, p.faces, process=False)) for p in pieces]
    single = [mesh for mesh in single if len(mesh.faces)]
    if not single:
        raise UsageError("the mesh is flat: its triangles have no area")
    whole = trimesh.util.concatenate(single)
    if not whole.is_watertight:  # a surface may be cut where its look changes
        whole = _cleaned(whole)
    note = None
    if not whole.is_watertight:
        edges = len(trimesh.grouping.group_rows(whole.edges_sorted, require_count=1))
        trimesh.repair.fill_holes(whole)
        if not whole.is_watertight:
            whole = _capped(whole)
        note = f"the mesh had holes ({edges} open edges), which were filled"
    if not whole.is_watertight:
        return whole, None
    trimesh.repair.fix_normals(whole, multibody=True)
    return whole, note


def _capped(mesh: Any) -> Any:
    """The mesh with each hole closed by triangles around its middle, if the holes are small. Wide ones are openings,
    such as that of a cup, and stay."""
    trimesh = need("trimesh")
    trimesh.repair.fix_winding(mesh)
    edges = mesh.edges[trimesh.grouping.group_rows(mesh.edges_sorted, require_count=1)]
    after = dict(edges.tolist())
    if len(after) < len(edges) or set(after) != set(after.values()):
        return mesh  # holes that touch each other
    vertices: list[Floats] = [np.asarray(mesh.vertices)]
    caps: list[list[tuple[int, int, int]]] = []
    while after:
        start, vertex = after.popitem()
        loop = [start]
        while vertex != start:
            loop.append(vertex)
            vertex = after.pop(vertex)
        middle = len(mesh.vertices) + len(caps)
        vertices.append(mesh.vertices[loop].mean(axis=0)[None])
        caps.append([(b, a, middle) for a, b in zip(loop, [*loop[1:], loop[0]], strict=True)])
    faces = np.concatenate([mesh.faces, *caps])
    capped = trimesh.Trimesh(np.concatenate(vertices), faces, process=False)
    small = capped.area_faces[len(mesh.faces) :].sum() < SMALL * mesh.area
    return capped if small and capped.is_watertight else mesh


def _cleaned(mesh: Any) -> Any:
    """The mesh with vertices that lie together made one, and without empty or repeated triangles."""
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    mesh.update_faces(mesh.nondegenerate_faces())
    mesh.update_faces(mesh.unique_faces())
    mesh.remove_unreferenced_vertices()
    return mesh


def convex_parts(
    whole: Any, most: int, threshold: float, notify: Callable[[str], None] = lambda text: None
) -> tuple[list[Floats], str | None]:
    """Vertices (k, 3) of at most so many convex parts of a mesh, and a note where they are not what was asked for.
    threshold: how far parts may stray from the shape, as a share of its size (CoACD's concavity). `notify` is called
    with a message about slow steps."""
    hull, volume = _hull(whole)
    if most == 1 or (whole.is_watertight and whole.volume > CONVEX * volume):
        return [hull], None
    bodies = int(whole.body_count)
    if bodies > MOST_BODIES:
        raise UsageError(
            f"the mesh has {bodies:,} separate bodies; at most {MOST_BODIES} are cut into convex parts: keep those of "
            "one object, or give --parts 1 for the convex hull of all"
        )
    tight = bool(whole.is_watertight)
    if not tight and _on_hull(whole):
        return [hull], "the mesh has holes that could not be filled: it lies on its convex hull, which is used"
    notify("cutting the mesh into convex parts")
    parts = _cut(whole, most, threshold, remesh=not tight)
    holes = "" if tight else "the mesh has holes that could not be filled: "
    if not parts or len(parts) > most:
        why = f"it needs {len(parts)} convex parts, more than {most}" if parts else "it could not be cut into parts"
        return [hull], f"{holes or 'the mesh: '}{why}, and its convex hull is used"
    return parts, f"{holes}its surface was made anew, closed, on a grid of {CELLS} cells" if holes else None


def _on_hull(whole: Any) -> bool:
    """Whether a surface with holes lies on its convex hull, and covers most of it."""
    from scipy.spatial import ConvexHull

    points = np.concatenate([np.asarray(whole.vertices), np.asarray(whole.triangles_center)])
    shell = ConvexHull(points, qhull_options="Qt Pp")
    depth = np.min(-(points @ shell.equations[:, :3].T + shell.equations[:, 3]), axis=1)
    size = float(np.ptp(points, axis=0).max())
    return bool(depth.max() < NEAR * size and whole.area > (1 - OPEN) * shell.area)


def _cut(whole: Any, most: int, threshold: float, remesh: bool) -> list[Floats]:
    """Convex parts by CoACD. `remesh`: first make the surface anew, closed."""
    coacd = need("coacd")
    coacd.set_log_level("error")
    mesh = coacd.Mesh(np.asarray(whole.vertices), np.asarray(whole.faces))
    given: dict[str, Any] = {"threshold": threshold, "max_convex_hull": most, "max_ch_vertex": VERTICES, "seed": 0}
    if remesh:
        given |= {"preprocess_mode": "on", "preprocess_resolution": CELLS}
    if remesh or len(whole.faces) > MANY:  # a search as deep as on a small mesh takes minutes
        given |= {"mcts_iterations": 20, "mcts_nodes": 10, "resolution": 500}
    try:
        with _silent():
            made = coacd.run_coacd(mesh, **given)
    except RuntimeError:  # whatever C code has to say of a surface that it cannot close
        return []
    parts = [np.asarray(vertices, dtype=float) for vertices, _ in made]
    return [part for part in parts if len(part) > 3 and np.isfinite(part).all() and _thick(part)]


def _hull(whole: Any) -> tuple[Floats, float]:
    """Vertices (k, 3) of the convex hull, and its volume."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.asarray(whole.vertices, dtype=float)
    try:
        shell = ConvexHull(points, qhull_options="Qt Pp")  # Pp: no warnings on the terminal
    except (QhullError, ValueError):
        raise UsageError("the mesh is flat: it encloses no volume") from None
    vertices: Floats = points[shell.vertices]
    return vertices, float(shell.volume)


def _thick(points: Floats) -> bool:
    return bool(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[2] > 1e-6)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep what C code prints off the terminal: with --json nothing else may stand there."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """Mass properties of parts of one density."""

    mass: float
    volume: float
    """m^3"""
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]
    axes: tuple[float, float, float, float]


def weigh(parts: list[Floats], mass: float | None, density: float) -> Weighed:
    """What parts (m) weigh, by MuJoCo. mass: kg of all together; None: by density, kg/m^3."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="object")
    body.add_freejoint()
    for number, vertices in enumerate(parts):
        add_piece(spec, body, f"part{number}", vertices, density=density)
    try:
        model = spec.compile()
    except ValueError as error:
        raise UsageError(f"the mesh gives no sound body: {str(error).splitlines()[0]}") from None
    at = model.body("object").id
    total = float(model.body_mass[at])
    times = 1.0 if mass is None else mass / total
    x, y, z = (float(i) * times for i in model.body_inertia[at])
    return Weighed(
        mass=total * times,
        volume=total / density,
        com=tuple(model.body_ipos[at].tolist()),
        inertia=(x, y, z),
        axes=tuple(model.body_iquat[at].tolist()),
    )
