"""Transforms: what a world file does to the pictures of its cameras, after they are rendered and before noise.

A class of your own derives from `Transform`, adds its fields, and overrides `apply` (the finished picture) or `dress`
(the scene that is drawn). A world file names it by its name in the registry or as "package.module:Class".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, ValidationInfo, field_validator

from foretell.errors import UsageError, suggest
from foretell.files import read_file
from foretell.fingerprint.source import own_classes, source_hash
from foretell.registry import resolve
from foretell.scenario import Placement
from foretell.sim.green_screen import contact, darkened, faded, pasted
from foretell.sim.parts import Parts
from foretell.sim.photo import MOST_BYTES, decode, resize
from foretell.world_file import explain

__all__ = ["FILM", "Background", "Photo", "Shot", "Transform", "open_photo", "read_transform"]

FILM = "film"
"""The name of a camera that only films, and stands where the task says."""


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A picture that was taken, for a transform to look at."""

    camera: str
    parts: Parts
    front: np.ndarray | None
    """(height, width) bool: where robots and objects are seen, where that was known without a second picture."""
    see: Callable[[], np.ndarray]
    """(height, width) int32: ids of parts, drawn when first asked for."""
    measure: Callable[[], np.ndarray]
    """(height, width) float32: m along the axis of the lens, drawn when first asked for."""

    def showing(self, names: Sequence[str]) -> np.ndarray:
        """(height, width) bool: where some parts are seen. Words for several parts (`robots`) will do."""
        wanted = self.parts.named(names)
        if self.front is not None and wanted == self.parts.foreground:
            return self.front
        table = np.zeros(len(self.parts.names) + 1, dtype=bool)  # the background, -1, is the last
        table[[self.parts.ids[name] for name in wanted]] = True
        return table.take(self.see())


class Transform(BaseModel):
    """One change to what cameras show. It acts on rgb; depth and segmentation tell of the simulated scene."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    use: str
    """Which transform: a name in the registry, or "package.module:Class"."""
    cameras: Literal["all"] | tuple[str, ...] = "all"
    """Cameras that it acts on; `all`: those of the scene. A film's own camera is called `film` and must be listed."""

    def acts_on(self, camera: str) -> bool:
        return camera != FILM if self.cameras == "all" else camera in self.cameras

    def check(self, cameras: Sequence[str], parts: Parts) -> None:
        """Raise UsageError, naming the field, where the scene lacks what this asks for. Called once per world."""
        for name in () if self.cameras == "all" else self.cameras:
            if name not in (*cameras, FILM):
                raise UsageError(f"cameras: {name!r:.100} is not in this world; {suggest(name, [*cameras, FILM])}")

    def dress(self, spec: mujoco.MjSpec) -> None:
        """Change the scene that is drawn: textures, colours, cameras, lights. Called for each scenario, before its
        factors; physics runs on another model."""

    def dress_objects(self, spec: mujoco.MjSpec, placed: Mapping[str, Placement]) -> None:
        """As `dress`, for what the scenario places: body -> its asset, pose and scale."""

    def finish(self, model: mujoco.MjModel) -> None:
        """Change the compiled scene that is drawn. Called for each scenario, after all transforms and factors."""

    def apply(self, image: np.ndarray, shot: Shot) -> np.ndarray:
        """(height, width, 3) uint8: a picture, changed. Called for each picture of the cameras that it acts on."""
        return image

    def splits(self, parts: Parts) -> bool:
        """Whether `apply` asks where robots and objects are seen (`shot.showing`), all of them and nothing else. Then
        that is found out with the picture, in a fraction of the time."""
        return False

    def decides(self) -> dict[str, Any]:
        """All that decides what pictures look like; it stands in rows and in the world's hash. JSON-able. A class of
        one's own is told by its source: an edited one is another."""
        own = [source_hash(cls) for cls in own_classes(type(self)) if issubclass(cls, Transform)]
        name = self.use.rpartition(":")[2]
        return {**self.model_dump(mode="json"), "use": name, **({"source": own} if own else {})}


class Background(Transform):
    """A photograph behind the simulated foreground. What is kept is simulated; all else is the photograph, pixel by
    pixel."""

    image: str
    """PNG or JPEG, as the camera sees the empty scene. Its path is relative to the world file."""
    keep: tuple[str, ...] = ("robots", "objects")
    """Parts that stay simulated: names of parts, or `robots`, `objects` (fixtures too), `furniture`."""
    soft_edges: float = Field(default=0.0, ge=0, le=20)
    """Pixels over which the foreground fades into the photograph; 0: each pixel is one of them, as in SIMPLER."""
    contact_shadow: float = Field(default=0.0, ge=0, le=1)
    """Share of its light that the photograph loses where the foreground touches what the photograph shows."""

    _photo: Photo = PrivateAttr()

    @field_validator("image")
    @classmethod
    def _there(cls, image: str, info: ValidationInfo) -> str:
        open_photo(image, info.context)
        return image

    def model_post_init(self, context: Any) -> None:
        self._photo = open_photo(self.image, context)

    @property
    def photo(self) -> np.ndarray:
        """(height, width, 3) uint8, as the file has it."""
        return self._photo.pixels

    def check(self, cameras: Sequence[str], parts: Parts) -> None:
        super().check(cameras, parts)
        known = [*parts.groups(), *parts.names]
        for name in self.keep:
            if name not in known:
                raise UsageError(f"keep: {name!r:.100} is not a part of this scene; {suggest(name, known)}")

    def splits(self, parts: Parts) -> bool:
        return parts.named(self.keep) == parts.foreground

    def apply(self, image: np.ndarray, shot: Shot) -> np.ndarray:
        kept = shot.showing(self.keep)
        photo = self._photo.sized(*image.shape[:2])
        if self.contact_shadow:
            photo = darkened(photo, contact(kept, shot.measure()), self.contact_shadow)
        return faded(image, photo, kept, self.soft_edges) if self.soft_edges else pasted(image, photo, kept)

    def decides(self) -> dict[str, Any]:
        decides = {**super().decides(), "image": f"sha256:{self._photo.sha256}"}  # wherever the file is
        for name in ("soft_edges", "contact_shadow"):  # worlds without them keep their names
            if not decides[name]:
                del decides[name]
        return decides


class Photo:
    """A photograph, at any size."""

    def __init__(self, data: bytes):
        self.pixels, self.sha256 = decode(data), hashlib.sha256(data).hexdigest()
        self._sized: dict[tuple[int, int], np.ndarray] = {}

    def sized(self, height: int, width: int) -> np.ndarray:
        """(height, width, 3) uint8."""
        if (height, width) not in self._sized:
            self._sized[height, width] = resize(self.pixels, height, width)
        return self._sized[height, width]


@lru_cache(maxsize=8)
def _photo(data: bytes) -> Photo:
    return Photo(data)


def open_photo(image: str, context: Any) -> Photo:
    """A photograph by its path in a world file."""
    path = Path((context or {}).get("folder", ".")) / image
    try:
        return _photo(read_file(path, MOST_BYTES, follow=True))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"cannot read {path}: {error}") from None


def read_transform(item: Any, info: ValidationInfo) -> Transform:
    """A transform of a world file, as its own class. Raises ValueError with the field that is wrong."""
    if isinstance(item, Transform):
        return item
    if not isinstance(item, Mapping) or not isinstance(use := item.get("use"), str):
        raise ValueError("a transform should be a mapping with `use`, such as {use: background, image: lab.png}")
    beside = Path((info.context or {}).get("folder", ".")) / use.rpartition(":")[0]
    if beside.suffix == ".py" and beside.is_file():
        use = f"{beside}:{use.rpartition(':')[2]}"
    try:
        kind = resolve("transforms", use)
    except UsageError as error:
        raise ValueError(str(error)) from None
    if not (isinstance(kind, type) and issubclass(kind, Transform)):
        raise ValueError(f"use: {use!r:.200} should be a subclass of foretell.sim.Transform")
    try:
        return kind.model_validate(item, context=info.context)
    except ValidationError as error:
        raise ValueError(explain(error, use, kind)) from None
