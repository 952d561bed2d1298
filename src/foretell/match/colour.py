"""Differences of colours as an eye sees them: CIE Lab (D65) and CIEDE2000. About 2 is just seen, 10 is plain."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats

__all__ = ["ciede2000", "lab"]

FROM_SRGB = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
EPSILON, KAPPA = 216 / 24389, 24389 / 27


def lab(rgb: np.ndarray) -> Floats:
    """(..., 3) L, a, b of sRGB colours (..., 3), 0 to 255."""
    share = np.asarray(rgb, dtype=np.float64) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = linear @ FROM_SRGB.T / WHITE
    root = np.where(xyz > EPSILON, np.cbrt(xyz), (KAPPA * xyz + 16) / 116)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def ciede2000(first: Floats, second: Floats) -> Floats:
    """(...) differences of colours in Lab (..., 3). Sharma, Wu and Dalal (2005)."""
    (l1, a1, b1), (l2, a2, b2) = (np.moveaxis(np.asarray(c, dtype=np.float64), -1, 0) for c in (first, second))
    mean7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(mean7 / (mean7 + 25.0**7))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    grey = c1 * c2 == 0
    turn = np.where(grey, 0.0, (h2 - h1 + 180) % 360 - 180)
    lightness, chroma = l2 - l1, c2 - c1
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn) / 2)
    light, c = (l1 + l2) / 2, (c1 + c2) / 2
    h = np.where(grey, h1 + h2, np.where(np.abs(h1 - h2) <= 180, (h1 + h2) / 2, ((h1 + h2 + 360) / 2) % 360))
    t = (
        1
        - 0.17 * np.cos(np.radians(h - 30))
        + 0.24 * np.cos(np.radians(2 * h))
        + 0.32 * np.cos(np.radians(3 * h + 6))
        - 0.20 * np.cos(np.radians(4 * h - 63))
    )
    s_l = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    s_c, s_h = 1 + 0.045 * c, 1 + 0.015 * c * t
    seven = c**7
    bend = -2 * np.sqrt(seven / (seven + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2))))
    parts = (lightness / s_l) ** 2 + (chroma / s_c) ** 2 + (hue / s_h) ** 2
    return np.asarray(np.sqrt(np.maximum(parts + bend * (chroma / s_c) * (hue / s_h), 0.0)))
