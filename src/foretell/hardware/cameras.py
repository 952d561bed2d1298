"""Pictures of a robot's cameras, as a driver gives them and as we keep them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.arrays import Bytes
from foretell.errors import UsageError, WorldError, suggest
from foretell.hardware.file import CameraEntry

__all__ = ["check_camera", "picture_of", "size_of"]

MOST = 1 << 24
"""Bytes of a picture."""


def picture_of(observation: Mapping[str, Any], camera: CameraEntry) -> Bytes:
    """The picture in an observation, cropped; a copy, because a driver may use its buffer again. Raises WorldError."""
    if camera.key not in observation:
        raise WorldError(
            f"get_observation returned no key {camera.key!r}; {suggest(camera.key, map(str, observation))}"
        )
    image = np.asarray(observation[camera.key])
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise WorldError(
            f"get_observation: {camera.key!r} should be a picture (height, width, 3) of bytes (given: shape "
            f"{image.shape}, {image.dtype})"
        )
    if camera.crop is None:
        return image.copy()
    x, y, width, height = camera.crop
    cut = image[y : y + height, x : x + width]
    if cut.shape[:2] != (height, width):
        raise WorldError(
            f"get_observation: {camera.key!r} has {image.shape[1]}x{image.shape[0]} pixels, too few to crop"
        )
    return cut.copy()


def check_camera(where: str, camera: CameraEntry, gives: Mapping[str, tuple[int, ...]]) -> None:
    """Raises UsageError where the driver has no such picture, or a crop does not lie within it."""
    if camera.key not in gives:
        raise UsageError(f"{where}: the driver's observation has no key {camera.key!r}; {suggest(camera.key, gives)}")
    shape = gives[camera.key]
    if len(shape) != 3 or shape[2] != 3 or math.prod(shape) > MOST:
        raise UsageError(
            f"{where}: key {camera.key!r} has shape {shape}, and it should be a picture (height, width, 3)"
        )
    if camera.crop is not None:
        x, y, width, height = camera.crop
        if min(x, y) < 0 or min(width, height) < 1 or y + height > shape[0] or x + width > shape[1]:
            raise UsageError(
                f"{where}.crop: [{x}, {y}, {width}, {height}] does not lie within the picture of {shape[1]}x{shape[0]} "
                "pixels"
            )


def size_of(camera: CameraEntry, gives: Mapping[str, tuple[int, ...]]) -> tuple[int, int]:
    """Height and width of the pictures that are kept."""
    if camera.crop is not None:
        return camera.crop[3], camera.crop[2]
    height, width, _ = gives[camera.key]
    return height, width
