"""Pictures in another size: arrays (..., height, width, channels) of bytes. Pixel centres are at half pixels."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foretell.arrays import Bytes, Floats

__all__ = ["FILTERS", "centre", "padded", "resize"]

FILTERS = ("lanczos3", "bilinear", "nearest")
"""`lanczos3` averages where it shrinks (antialiasing), `bilinear` does not, as TensorFlow has both by default."""


def resize(pictures: Bytes, height: int, width: int, filter: str) -> Bytes:
    """Stretched to a size, rounded and clipped to bytes."""
    if pictures.shape[-3:-1] == (height, width):
        return pictures
    rows, columns = _weights(pictures.shape[-3], height, filter), _weights(pictures.shape[-2], width, filter)
    tall = np.einsum("oi,...iwc->...owc", rows, pictures.astype(np.float64), optimize=True)
    values = np.einsum("oi,...hic->...hoc", columns, tall, optimize=True)
    rounded: Bytes = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return rounded


def padded(pictures: Bytes, height: int, width: int, filter: str) -> Bytes:
    """Shrunk or grown without stretching, in the middle of black."""
    share = min(height / pictures.shape[-3], width / pictures.shape[-2])
    inner_height = min(height, max(1, round(pictures.shape[-3] * share)))
    inner_width = min(width, max(1, round(pictures.shape[-2] * share)))
    inner = resize(pictures, inner_height, inner_width, filter)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    whole = np.zeros((*pictures.shape[:-3], height, width, pictures.shape[-1]), dtype=np.uint8)
    whole[..., top : top + inner_height, left : left + inner_width, :] = inner
    return whole


def centre(pictures: Bytes, share: float) -> Bytes:
    """The middle that has this share of the area."""
    height, width = pictures.shape[-3:-1]
    keep = [max(1, round(side * share**0.5)) for side in (height, width)]
    top, left = (height - keep[0]) // 2, (width - keep[1]) // 2
    return pictures[..., top : top + keep[0], left : left + keep[1], :]


@lru_cache(maxsize=64)
def _weights(given: int, wanted: int, filter: str) -> Floats:
    """(wanted, given): what each pixel counts for each new one; rows sum to 1."""
    scale = given / wanted
    at = (np.arange(wanted) + 0.5) * scale
    if filter == "nearest":
        return np.eye(given)[np.minimum(at.astype(np.int64), given - 1)]
    centres = np.arange(given) + 0.5
    if filter == "bilinear":
        at = np.clip(at, 0.5, given - 0.5)
        weights = np.maximum(0.0, 1.0 - np.abs(centres - at[:, None]))
    else:
        x = (centres - at[:, None]) / max(scale, 1.0)
        weights = np.where(np.abs(x) < 3.0, np.sinc(x) * np.sinc(x / 3.0), 0.0)
    sums: Floats = weights / weights.sum(axis=1, keepdims=True)
    return sums
