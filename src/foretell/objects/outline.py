"""Outlines: what objects and furniture look like from above, as polygons."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from foretell.objects.asset import ObjectPhysics, asset
from foretell.objects.stl import shape
from foretell.rotation import rotate

__all__ = ["object_outline", "outlines"]


def outlines(model: mujoco.MjModel) -> list[dict[str, Any]]:
    """Everything in a compiled model that touches, from the lowest to the highest: `name` of its body, `points`
    (k, 2) of its convex outline in the frame of the world, m, and `top`, the height of its highest point."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    shapes = []
    for g in range(model.ngeom):
        if int(model.geom_type[g]) == int(mujoco.mjtGeom.mjGEOM_PLANE) or not (
            model.geom_contype[g] or model.geom_conaffinity[g]
        ):
            continue
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, data.geom_xmat[g])
        corners = (rotate(quat, shape(model, g)) + data.geom_xpos[g]).reshape(-1, 3)
        points = _hull(corners[:, :2])
        name = model.body(int(model.geom_bodyid[g])).name
        shapes.append({"name": name, "points": points, "top": round(float(corners[:, 2].max()), 4)})
    return sorted(shapes, key=lambda part: part["top"])


def object_outline(name: str) -> list[list[list[float]]]:
    """Polygons (k, 2) of an object of one's own or foretell's, at its own size and in its own frame, m."""
    spec = mujoco.MjSpec()
    spec.compiler.balanceinertia = True
    body = spec.worldbody.add_body(name="object")
    if asset(name).free:
        body.add_freejoint(name="free")
    asset(name).add(spec, body, np.ones(3), ObjectPhysics())
    return [part["points"] for part in outlines(spec.compile())]


def _hull(points: np.ndarray) -> list[list[float]]:
    """Corners (k, 2) of the convex hull, anticlockwise, to a tenth of a millimetre (Andrew's monotone chain)."""
    corners = [(float(x) + 0.0, float(y) + 0.0) for x, y in np.unique(points.round(4), axis=0)]
    chains = []
    for ordered in (corners, corners[::-1]):
        chain: list[tuple[float, float]] = []
        for x, y in ordered:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        chains.append(chain[:-1])
    return [list(corner) for corner in (chains[0] + chains[1] if len(corners) > 2 else corners)]
