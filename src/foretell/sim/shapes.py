"""Shapes of a compiled model, for tools that draw it themselves."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from foretell.arrays import Floats, Ints

__all__ = ["DrawnShape", "poses", "shapes"]

BOX, MESH = int(mujoco.mjtGeom.mjGEOM_BOX), int(mujoco.mjtGeom.mjGEOM_MESH)
ROUND = {
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): "ellipsoid",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "capsule",
}


@dataclass(frozen=True, kw_only=True)
class DrawnShape:
    """One geom that is seen: a mesh, or a box or round body of these half sizes."""

    name: str
    """Unique in the model: `BODY/NUMBER`."""
    index: int
    kind: str
    half: tuple[float, float, float]
    colour: tuple[float, float, float, float]
    vertices: Floats | None = None
    triangles: Ints | None = None


def shapes(model: mujoco.MjModel) -> list[DrawnShape]:
    """What can be drawn of a model: all geoms of the groups that are shown, but planes and height fields."""
    made = []
    for index in range(model.ngeom):
        kind, group = int(model.geom_type[index]), int(model.geom_group[index])
        if group > 2 or model.geom_rgba[index, 3] == 0 or (kind not in ROUND and kind not in (BOX, MESH)):
            continue
        body = model.body(int(model.geom_bodyid[index])).name or "world"
        material = int(model.geom_matid[index])
        colour = model.geom_rgba[index] if material < 0 else model.mat_rgba[material]
        vertices = triangles = None
        if kind == MESH:
            mesh = int(model.geom_dataid[index])
            at, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
            first, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
            vertices = np.array(model.mesh_vert[at : at + count], dtype=float)
            triangles = np.array(model.mesh_face[first : first + faces], dtype=np.int64)
        made.append(
            DrawnShape(
                name=f"{body}/{index}",
                index=index,
                kind="mesh" if kind == MESH else "box" if kind == BOX else ROUND[kind],
                half=_half(ROUND.get(kind, "box"), model.geom_size[index]),
                colour=_four(colour),
                vertices=vertices,
                triangles=triangles,
            )
        )
    return made


def _four(colour: Floats) -> tuple[float, float, float, float]:
    red, green, blue, alpha = (float(c) for c in colour)
    return red, green, blue, alpha


def _half(kind: str, size: Floats) -> tuple[float, float, float]:
    a, b, c = (float(v) for v in size)
    return {"sphere": (a, a, a), "cylinder": (a, a, b), "capsule": (a, a, b)}.get(kind, (a, b, c))


def poses(model: mujoco.MjModel, qpos: Floats) -> tuple[Floats, Floats]:
    """(ngeom, 3) positions and (ngeom, 3, 3) axes of all geoms at joint positions."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    return data.geom_xpos.copy(), data.geom_xmat.reshape(-1, 3, 3).copy()
