"""Looks from an asset pack: the scanned objects of SIMPLER's data, with baked textures, on our own objects.

The pack is the folder `data` of simpler-env/ManiSkill2_real2sim, or a folder that has it as `simpler`. Physics does not
change. Objects of which the pack has no coloured mesh keep our own looks: redbull, fanta and sprite can, eggplant,
basket, and the cabinet.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import mujoco
import numpy as np
from pydantic import ConfigDict, PrivateAttr, ValidationInfo, field_validator

from foretell.counting import counted
from foretell.errors import suggest
from foretell.objects.label import material
from foretell.objects.piece import SEEN
from foretell.objects.scan import Scan, read_scan
from foretell.scenario import Placement
from foretell.sim.photo import decode, resize
from foretell.sim.transforms import Transform

__all__ = ["AssetPack"]

FILES = {
    "coke-can": "baked_opened_coke_can_v2/textured.glb",
    "pepsi-can": "baked_opened_pepsi_can_v2/textured.glb",
    "7up-can": "baked_opened_7up_can_v2/textured.glb",
    "blue-bottle": "baked_blue_plastic_bottle_v2/textured.glb",
    "toy-apple": "baked_apple_v2/textured.glb",
    "ripe-apple": "baked_apple_v2/textured.glb",
    "toy-orange": "baked_orange_v2/textured.glb",
    "ripe-orange": "baked_orange_v2/textured.glb",
    "kitchen-sponge": "baked_sponge_v2/textured.glb",
    "green-block": "baked_green_cube_3cm/textured.dae",
    "yellow-block": "baked_yellow_cube_3cm/textured.dae",
    "bridge-carrot": "bridge_carrot_generated_modified/textured.dae",
    "bridge-plate": "bridge_plate_objaverse_larger/textured.dae",
    "bridge-spoon": "bridge_spoon_generated_modified/textured.dae",
    "bridge-towel": "table_cloth_generated_shorter/textured.dae",
}
"""Asset -> its file in `custom/models`. Frames are those of our objects."""
Chosen = Literal["all"] | tuple[str, ...]
LARGEST = 512
"""Pixels along the longer side of a texture; larger pictures are shrunk."""
HIDDEN = 3
"""Group of geoms that are not drawn."""
WAYS = "see docs/simpler.md for where to get it, or leave the transform out"


class AssetPack(Transform):
    """The scanned objects of SIMPLER's data in place of our own looks."""

    model_config = ConfigDict(validate_default=True)

    folder: str | None = None
    """Where the pack is, relative to the world file; None: in the folder that FORETELL_ASSETS names."""
    objects: Chosen = "all"
    """Assets that take the looks of the pack."""

    _models: Path = PrivateAttr()

    @field_validator("folder")
    @classmethod
    def _there(cls, folder: str | None, info: ValidationInfo) -> str | None:
        _models(folder, info.context)
        return folder

    @field_validator("objects")
    @classmethod
    def _whole(cls, objects: Chosen, info: ValidationInfo) -> Chosen:
        if "folder" not in info.data:
            return objects  # the folder is wrong
        models, wanted = _models(info.data["folder"], info.context), tuple(FILES) if objects == "all" else objects
        for name in wanted:
            if name not in FILES:
                raise ValueError(f"the pack has no {name!r:.100}; {suggest(name, FILES)}")
        files = dict.fromkeys(FILES[name] for name in wanted)
        if missing := [file for file in files if not (models / file).is_file()]:
            more = f" and {counted(len(missing) - 1, 'file')} more" if len(missing) > 1 else ""
            raise ValueError(f"the asset pack is not complete: {models} has no {missing[0]}{more}; {WAYS}")
        for file in files:
            _scanned(models / file)
        return objects

    def model_post_init(self, context: Any) -> None:
        self._models = _models(self.folder, context)

    @property
    def dressed(self) -> tuple[str, ...]:
        """Assets that take the looks of the pack."""
        return tuple(FILES) if self.objects == "all" else self.objects

    def dress_objects(self, spec: mujoco.MjSpec, placed: Mapping[str, Placement]) -> None:
        for name, placement in placed.items():
            if placement.asset in self.dressed:
                body = spec.body(name)
                for geom in body.geoms:
                    geom.group = HIDDEN
                for number, scan in enumerate(_scanned(self._models / FILES[placement.asset])):
                    _add(spec, body, f"{placement.asset}-{number}", scan, np.asarray(placement.scale))

    def decides(self) -> dict[str, Any]:
        """Told by what its files say, wherever they are."""
        pieces = [scan for name in sorted(self.dressed) for scan in _scanned(self._models / FILES[name])]
        digest = hashlib.sha256()
        for scan in pieces:
            digest.update(scan.vertices.tobytes() + scan.faces.tobytes() + (scan.picture or repr(scan.colour).encode()))
        decides = super().decides()
        del decides["folder"]
        return {**decides, "sha256": digest.hexdigest()}


def _models(folder: str | None, context: Any) -> Path:
    """The folder of models of a pack. Raises ValueError with what to do where there is none."""
    if folder is not None:
        root = Path((context or {}).get("folder", ".")) / folder
    elif named := os.environ.get("FORETELL_ASSETS"):
        root = Path(named)
    else:
        raise ValueError(f"no asset pack: set FORETELL_ASSETS to its folder, or `folder` here; {WAYS}")
    for inner in ("custom/models", "simpler/custom/models"):
        if (root / inner).is_dir():
            return root / inner
    raise ValueError(f"no asset pack: {root} has no folder custom/models or simpler/custom/models; {WAYS}")


@lru_cache(maxsize=len(FILES))
def _scanned(path: Path) -> list[Scan]:
    try:
        scans = read_scan(path)
        for scan in scans:
            if scan.picture is not None:
                _picture(scan.picture)
    except (ValueError, OSError) as error:
        raise ValueError(f"the asset pack is broken: {path}: {error}; {WAYS}") from None
    return scans


@lru_cache(maxsize=2 * len(FILES))
def _picture(data: bytes) -> np.ndarray:
    """(height, width, 3) uint8, not larger than needed."""
    image = decode(data)
    height, width = image.shape[:2]
    shrink = max(height, width) / LARGEST
    return image if shrink <= 1 else resize(image, max(1, round(height / shrink)), max(1, round(width / shrink)))


def _add(spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, scan: Scan, scale: np.ndarray) -> None:
    mesh = spec.add_mesh(
        name=f"{body.name}/{name}", uservert=(scan.vertices * scale).ravel(), userface=scan.faces.ravel()
    )
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # what is only seen has no mass
    look: dict[str, Any] = {"rgba": [*scan.colour, 1]}
    if scan.texture is not None and scan.picture is not None:
        mesh.usertexcoord = scan.texture.ravel()
        look = {"material": material(spec, name, _picture(scan.picture))}
    body.add_geom(name=mesh.name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, **look, **SEEN)
