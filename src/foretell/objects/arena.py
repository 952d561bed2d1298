"""What stands still: floor, light, table, pedestal. z = 0 is the top of the table, the task frame."""

from __future__ import annotations

import mujoco

__all__ = ["box", "legs", "room", "table"]

FLOOR = -0.8
"""Height of the floor, m."""
SURFACE = {"contype": 4, "conaffinity": 3}
"""The floor and a table top: touched by objects (contype 1, MuJoCo's default) and robots (1 or 2). A part of an object
that no flat surface can reach has contype 0 and conaffinity 3: all but these touch it."""


def room(spec: mujoco.MjSpec, floor: float = FLOOR, near: bool = True) -> None:
    """Sky, floor at a height, and light. A floor that is not `near` is out of reach of robots: only objects touch it,
    which saves a share of every step."""
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.94, 0.95],
        rgb2=[0.62, 0.66, 0.70],
        width=64,
        height=384,
    )
    spec.add_texture(
        name="floor",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.70, 0.71, 0.72],
        rgb2=[0.66, 0.67, 0.68],
        width=128,
        height=128,
    )
    tiles = spec.add_material(name="floor", texrepeat=[6, 6], texuniform=False)
    tiles.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.worldbody.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        pos=[0, 0, floor],
        size=[3, 3, 0.1],
        material="floor",
        **(SURFACE if near else SURFACE | {"conaffinity": 1}),
    )
    spec.worldbody.add_light(
        name="key",
        pos=[0.6, -0.8, 1.8],
        dir=[-0.3, 0.45, -1],
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=[0.55, 0.55, 0.54],
        specular=[0.2, 0.2, 0.2],
        castshadow=True,
    )
    # shadows are drawn over `extent` metres: the bench, not the hall around it, or their edges turn to stairs
    spec.stat.extent, spec.stat.center = 1.3, [0.0, 0.0, 0.2]
    spec.visual.map.shadowclip = 1.2
    spec.visual.headlight.ambient = [0.38, 0.38, 0.38]
    spec.visual.headlight.diffuse = [0.30, 0.30, 0.30]
    spec.visual.headlight.specular = [0.05, 0.05, 0.05]


def box(
    body: mujoco.MjsBody,
    name: str,
    pos: tuple[float, float, float],
    half: tuple[float, float, float],
    rgba: tuple[float, float, float, float],
    friction: float = 1.0,
    **touch: int,
) -> None:
    """A fixed box that things collide with."""
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=pos,
        size=half,
        rgba=rgba,
        friction=[friction, 0.005, 0.0001],
        condim=3,
        **touch,
    )


def table(spec: mujoco.MjSpec, half: tuple[float, float] = (0.4, 0.4), thickness: float = 0.05) -> None:
    """A table whose top is z = 0, with legs that are only seen."""
    body = spec.worldbody.add_body(name="table")
    box(body, "table/top", (0, 0, -thickness / 2), (*half, thickness / 2), (0.86, 0.84, 0.80, 1), **SURFACE)
    legs(body, half[0] - 0.06, half[1] - 0.06, -thickness)


def legs(body: mujoco.MjsBody, x: float, y: float, top: float) -> None:
    """Four legs down to the floor, at (+-x, +-y) of a body at z = 0; only seen. They are a body of their own, so that
    whatever changes the table top (`Setting.geoms`) leaves them as they are."""
    under = body.add_body(name=f"{body.name}/legs")
    for sx in (-1, 1):
        for sy in (-1, 1):
            under.add_geom(
                name=f"{body.name}/leg{sx:+d}{sy:+d}",
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                fromto=[sx * x, sy * y, FLOOR, sx * x, sy * y, top],
                size=[0.02, 0, 0],
                rgba=[0.55, 0.56, 0.58, 1],
                contype=0,
                conaffinity=0,
                group=2,
            )
