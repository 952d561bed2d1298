"""A foreground over a photograph: hard edges, and on request soft ones and a shadow where things touch.

Pictures are (height, width, 3) uint8, masks (height, width) bool.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter

__all__ = ["contact", "darkened", "faded", "pasted"]

TOUCH = 0.015
"""m: pixels of foreground and background that lie side by side and this near in depth touch."""
SHADE = 0.02
"""How far a contact shadow reaches, in heights of the picture."""


def pasted(image: np.ndarray, photo: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """A picture where it is kept, and the photograph elsewhere."""
    made, rows = photo.copy(), np.flatnonzero(kept.any(axis=1))
    if len(rows):  # whole pixels of three bytes, and only rows with any: ten times as fast as np.where
        part = slice(rows[0], rows[-1] + 1)
        np.copyto(made[part].view("V3")[..., 0], image[part].view("V3")[..., 0], where=kept[part])
    return made


def faded(image: np.ndarray, photo: np.ndarray, kept: np.ndarray, pixels: float) -> np.ndarray:
    """As `pasted`, with an edge that is so many pixels wide. It fades inwards: beyond the edge the picture shows what
    is behind in the simulation, which would shine through."""
    share = 2 * _blurred(kept.astype(np.float32), pixels / 2) - 1
    edge = kept & (share < 0.998)  # below a grey level
    made, part = pasted(image, photo, kept), np.maximum(share[edge], 0.0)[:, None]
    made[edge] = np.rint(image[edge] * part + photo[edge] * (1 - part)).astype(np.uint8)
    return made


def darkened(photo: np.ndarray, touching: np.ndarray, strength: float) -> np.ndarray:
    """A photograph that loses a share of its light beside the pixels that touch it."""
    reach = SHADE * len(photo)
    shade = _blurred(touching.astype(np.float32), reach / 2)
    dark, made = shade > 1e-4, photo.copy()
    # a straight line of contact that is one pixel wide blurs to 1 / reach
    light = 1 - strength * np.minimum(1.0, shade[dark] * reach)[:, None]
    made[dark] = np.rint(photo[dark] * light).astype(np.uint8)
    return made


def contact(kept: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """(height, width) bool: pixels of the foreground beside one of the background that is nearly as far away."""
    touching = np.zeros_like(kept)
    for mask, far, out in ((kept, depth, touching), (kept.T, depth.T, touching.T)):  # neighbours below, and beside
        meets = (mask[1:] != mask[:-1]) & (np.abs(far[1:] - far[:-1]) < TOUCH) & (far[1:] > 0) & (far[:-1] > 0)
        out[1:] |= meets & mask[1:]
        out[:-1] |= meets & mask[:-1]
    return touching


def _blurred(mask: np.ndarray, radius: float) -> np.ndarray:
    """(height, width) float32: means over boxes, twice, so that the weight falls in a straight line."""
    size = 2 * max(1, round(radius)) + 1
    for _ in range(2):
        mask = uniform_filter(mask, size, mode="nearest")
    return mask
