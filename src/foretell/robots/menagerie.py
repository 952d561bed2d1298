"""Looks from MuJoCo Menagerie, for worlds with `looks: menagerie`: the full meshes on our own joints.

They come from the folder in MENAGERIE_ROOT, or else from the package `mujoco-menagerie`, which downloads a robot when
it is first used. Physics does not change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import mujoco

from foretell.errors import UsageError

__all__ = ["WAYS", "MeshPiece", "dress", "folder"]

WAYS = "install the package mujoco-menagerie, or set MENAGERIE_ROOT to a copy of the Menagerie"


@dataclass(frozen=True, kw_only=True)
class MeshPiece:
    """One visual mesh of a robot."""

    body: str
    mesh: str
    """Its file in `assets`."""
    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    texture: str | None = None
    """Its picture in `assets`; without one it has the `colour` of the robot."""


def folder(name: str) -> Path:
    """Where a robot of the Menagerie is. Raises UsageError with what to do where it is not."""
    if root := os.environ.get("MENAGERIE_ROOT"):
        path = Path(root) / name
        if not path.is_dir():
            raise UsageError(f"looks: menagerie: MENAGERIE_ROOT is {root}, and has no folder {name}; correct it")
        return path
    try:
        import mujoco_menagerie
    except ModuleNotFoundError:
        raise UsageError(f"looks: menagerie: {name} is not there; {WAYS}, or leave `looks` out") from None
    try:
        return Path(mujoco_menagerie.get(name).path(progress=None))
    except (mujoco_menagerie.MenagerieError, OSError) as error:
        raise UsageError(f"looks: menagerie: {name} could not be downloaded: {error}; {WAYS}") from error


def dress(
    spec: mujoco.MjSpec,
    name: str,
    pieces: Iterable[MeshPiece],
    scale: float = 1.0,
    colour: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0),
) -> None:
    """Adds the visual meshes of a robot to its bodies."""
    assets, pieces = folder(name) / "assets", list(pieces)
    files = dict.fromkeys([p.mesh for p in pieces] + [p.texture for p in pieces if p.texture])
    if missing := [file for file in files if not (assets / file).is_file()]:
        more = f" and {len(missing) - 1} files more" if len(missing) > 1 else ""
        raise UsageError(f"looks: menagerie: {name} is not complete: {assets} has no {missing[0]}{more}; {WAYS}")
    for file in files:
        path = str((assets / file).resolve())
        if file.endswith(".png"):
            spec.add_texture(name=file, type=mujoco.mjtTexture.mjTEXTURE_2D, file=path)
            skin = spec.add_material(name=file, specular=0.3, shininess=0.3)
            skin.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = file
        else:
            mesh = spec.add_mesh(name=file, file=path, scale=[scale] * 3)
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # visual geoms have no mass
    spec.add_material(name="plain", rgba=colour, specular=0.3, shininess=0.3)
    for piece in pieces:
        spec.body(piece.body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=piece.mesh,
            pos=piece.pos,
            quat=piece.quat,
            group=2,
            contype=0,
            conaffinity=0,
            mass=0,
            material=piece.texture or "plain",
        )
