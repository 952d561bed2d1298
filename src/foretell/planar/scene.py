"""A room with a robot as a MuJoCo model, to be drawn. Its walls are those that a world believes in."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.robots.locobot import LoCoBot
from foretell.rooms import Room, Walls

__all__ = ["TOP", "build"]

TOP = "top"
THICK = 0.02
"""Half the thickness of a wall, m."""
OVER = 14.0
"""Field of view of the camera above, degrees: narrow and from high up, so that walls hide little."""
WALL, BOX, GOAL = (0.86, 0.85, 0.82, 1.0), (0.72, 0.6, 0.42, 1.0), (0.15, 0.65, 0.3, 1.0)
_BOX = mujoco.mjtGeom.mjGEOM_BOX


def build(room: Room, walls: Walls) -> mujoco.MjModel:
    """Joint positions are those of the robot (x, y, heading) and of the goal's mark (x, y)."""
    spec = mujoco.MjSpec()
    spec.visual.map.znear, spec.stat.extent = 0.005, 10.0
    spec.visual.quality.shadowsize, spec.visual.quality.offsamples = 1, 0
    x0, y0, x1, y1 = room.bounds
    middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
    _add_floor(spec, middle, (x1 - x0, y1 - y0))
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=(0.8, 0.82, 0.84),
        rgb2=(0.8, 0.82, 0.84),
        width=64,
        height=384,
    )
    spec.worldbody.add_light(
        pos=(*middle, 6.0),
        dir=(0.2, 0.3, -1.0),
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=(0.35, 0.35, 0.35),
    )
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = (0.4, 0.4, 0.4), (0.2, 0.2, 0.2)
    for owner in range(-1, len(room.obstacles)):
        _add_thing(spec, room, walls, owner)
    robot = LoCoBot().spec()
    spec.attach(robot, frame=spec.worldbody.add_frame(), prefix="locobot/")
    mark = spec.worldbody.add_body(name="goal")
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0))):
        mark.add_joint(name=f"goal/{name}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    disc = mujoco.mjtGeom.mjGEOM_CYLINDER
    mark.add_geom(type=disc, size=(0.2, 0.003, 0), pos=(0, 0, 0.003), rgba=GOAL, mass=1.0, contype=0, conaffinity=0)
    _add_top(spec, room, middle)
    return spec.compile()


def _add_floor(spec: mujoco.MjSpec, middle: Floats, size: tuple[float, float]) -> None:
    spec.add_texture(
        name="floor",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=(0.52, 0.5, 0.47),
        rgb2=(0.56, 0.54, 0.51),
        width=128,
        height=128,
    )
    material = spec.add_material(name="floor", texrepeat=(1.0, 1.0), texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.worldbody.add_geom(
        type=_BOX,
        size=(size[0] / 2 + 0.5, size[1] / 2 + 0.5, 0.05),
        pos=(*middle, -0.05),
        material="floor",
        contype=0,
        conaffinity=0,
    )


def _add_thing(spec: mujoco.MjSpec, room: Room, walls: Walls, owner: int) -> None:
    """An obstacle, or the outer wall: a box where it is a whole rectangle, else its sides."""
    mine = walls.owners == owner
    segments, heights, rgba = walls.segments[mine], walls.heights[mine], WALL
    if owner >= 0:
        rgba = _colour(room.colours[owner]) if room.colours else BOX
        if (frame := _rectangle(segments)) is not None:
            (x, y), along, across, yaw = frame
            _add_box(spec, (x, y), (along, across, float(heights[0])), yaw, rgba)
            return
        if (circle := _circle(segments)) is not None:
            (x, y), radius = circle
            half = float(heights[0]) / 2
            drum = mujoco.mjtGeom.mjGEOM_CYLINDER
            look = {"rgba": rgba, "contype": 0, "conaffinity": 0}
            spec.worldbody.add_geom(type=drum, size=(radius, half, 0), pos=(x, y, half), **look)
            return
    for (x0, y0, x1, y1), height in zip(segments.tolist(), heights.tolist(), strict=True):
        half, yaw = math.hypot(x1 - x0, y1 - y0) / 2, math.atan2(y1 - y0, x1 - x0)
        # an outline goes counter-clockwise with the floor on its left, an obstacle with the floor on its right
        side = -THICK if owner < 0 else THICK
        x, y = (x0 + x1) / 2 - side * math.sin(yaw), (y0 + y1) / 2 + side * math.cos(yaw)
        _add_box(spec, (x, y), (half + (THICK if owner < 0 else 0.0), THICK, height), yaw, rgba)


def _add_box(
    spec: mujoco.MjSpec,
    at: tuple[float, float],
    size: tuple[float, float, float],
    yaw: float,
    rgba: tuple[float, float, float, float],
) -> None:
    """Half its length, half its width and its whole height, m."""
    spec.worldbody.add_geom(
        type=_BOX,
        size=(size[0], size[1], size[2] / 2),
        pos=(*at, size[2] / 2),
        quat=(math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)),
        rgba=rgba,
        contype=0,
        conaffinity=0,
    )


def _rectangle(segments: Floats) -> tuple[tuple[float, float], float, float, float] | None:
    """Middle, half length, half width and yaw of four walls that are a rectangle; None where they are none."""
    if len(segments) != 4:
        return None
    corners, sides = segments[:, :2], segments[:, 2:] - segments[:, :2]
    closed = np.allclose(np.roll(corners, -1, axis=0), segments[:, 2:], atol=1e-6)
    along, across = (float(np.hypot(*side)) for side in sides[:2])
    square = abs(float(np.sum(sides[0] * sides[1]))) < 0.01 * along * across
    if not closed or not square or not np.allclose(sides[0], -sides[2], atol=0.01):
        return None
    x, y = corners.mean(axis=0).tolist()
    return (x, y), along / 2, across / 2, math.atan2(sides[0, 1], sides[0, 0])


def _circle(segments: Floats) -> tuple[tuple[float, float], float] | None:
    """Middle and radius of walls that are a regular polygon of eight sides or more; None where they are none."""
    corners = segments[:, :2]
    if len(segments) < 8 or not np.allclose(np.roll(corners, -1, axis=0), segments[:, 2:], atol=1e-6):
        return None
    middle = corners.mean(axis=0)
    radii = np.hypot(*(corners - middle).T)
    return (tuple(middle.tolist()), float(radii.mean())) if np.ptp(radii) < 0.02 * radii.mean() else None


def _add_top(spec: mujoco.MjSpec, room: Room, middle: Floats) -> None:
    """A camera that has the whole room in a picture of 4:3, its longer side across."""
    x0, y0, x1, y1 = room.bounds
    wide, tall = max(x1 - x0, y1 - y0) + 0.4, min(x1 - x0, y1 - y0) + 0.4
    above = max(wide * 3 / 4, tall) / 2 / math.tan(math.radians(OVER) / 2)
    turn = 0.0 if x1 - x0 >= y1 - y0 else math.pi / 2
    quat = (math.cos(turn / 2), 0.0, 0.0, math.sin(turn / 2))
    spec.worldbody.add_camera(name=TOP, pos=(*middle, above + room.wall_height), quat=quat, fovy=OVER)


def _colour(text: str) -> tuple[float, float, float, float]:
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue, 1.0
