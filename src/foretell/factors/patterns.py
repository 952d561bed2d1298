"""208 textures made by code: 13 patterns in 16 variants each. A name gives the same picture everywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from foretell.arrays import Bytes, Floats
from foretell.errors import UsageError, suggest
from foretell.seeding import generator

__all__ = ["PLAIN", "TEXTURES", "texture"]

Grid = Floats
"""(n, n), values about 0-1, tiling without seams where the pattern allows."""
VARIANTS = 16
LARGEST = 128
"""Pixels along a side, at most."""


def _smooth(rng: np.random.Generator, n: int, scale: float, stretch: float = 1.0) -> Grid:
    """Noise of about `scale` bumps across, 0-1, periodic; `stretch` > 1 draws it out along x."""
    waves = np.rint(np.fft.fftfreq(n) * n).astype(int)
    fx, fy = np.meshgrid(waves, waves)
    keep = np.exp(-((fx * stretch) ** 2 + fy**2) / (2 * scale**2))
    # drawn at a fixed size, so that a variant looks alike at every resolution up to it
    whole = np.fft.fft2(rng.standard_normal((LARGEST, LARGEST)))[np.ix_(waves % LARGEST, waves % LARGEST)]
    field = np.fft.ifft2(whole * keep).real
    low, high = field.min(), field.max()
    shade: Grid = (field - low) / max(high - low, 1e-12)
    return shade


def _axes(n: int) -> tuple[Grid, Grid]:
    steps = (np.arange(n) + 0.5) / n
    x, y = np.meshgrid(steps, steps)
    return x, y


def _wood(rng: np.random.Generator, n: int) -> Grid:
    _, y = _axes(n)
    rings = rng.integers(4, 10)
    grain = np.sin(2 * np.pi * (rings * y + 1.2 * _smooth(rng, n, 2.0, 3.0)))
    return 0.5 + 0.3 * grain + 0.25 * (_smooth(rng, n, 24, 8.0) - 0.5)


def _tile(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    k = int(rng.integers(3, 7))
    shade = rng.uniform(0.55, 1.0, (k, k))[(y * k).astype(int), (x * k).astype(int)]
    joint = (np.minimum(x * k % 1, y * k % 1) < 0.08) | (np.maximum(x * k % 1, y * k % 1) > 0.96)
    return np.where(joint, 0.05, shade)


def _noise(rng: np.random.Generator, n: int) -> Grid:
    return _smooth(rng, n, float(rng.uniform(3, 14)))


def _stripes(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    a, b = rng.integers(0, 7, 2) + np.array([1, 0])
    wave = np.sin(2 * np.pi * (a * x + b * y))
    shade: Grid = (wave > rng.uniform(-0.5, 0.5)).astype(float)
    return shade


def _fabric(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    k = int(rng.integers(10, 20))
    over = ((x * k).astype(int) + (y * k).astype(int)) % 2 == 0
    thread = np.where(over, np.sin(np.pi * (y * k % 1)), np.sin(np.pi * (x * k % 1)))
    return 0.25 + 0.6 * thread * (0.75 + 0.25 * _smooth(rng, n, 12))


def _checker(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    k = 2 * int(rng.integers(1, 6))
    shade: Grid = (((x * k).astype(int) + (y * k).astype(int)) % 2).astype(float)
    return shade


def _brick(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    rows = 2 * int(rng.integers(3, 6))
    row = (y * rows).astype(int)
    along = (x * rows / 2 + 0.5 * (row % 2)) % (rows // 2)
    shade = rng.uniform(0.55, 1.0, (rows, rows))[row, along.astype(int)]
    joint = (y * rows % 1 < 0.14) | (along % 1 < 0.07)
    return np.where(joint, 0.05, shade)


def _marble(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    a, b = rng.integers(1, 4, 2)
    veins = np.abs(np.sin(np.pi * (a * x + b * y + 2.5 * _smooth(rng, n, 4))))
    shade: Grid = np.power(veins, rng.uniform(0.3, 0.8))
    return shade


def _dots(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    k = int(rng.integers(3, 9))
    away = np.hypot(x * k % 1 - 0.5, y * k % 1 - 0.5)
    return (away < rng.uniform(0.2, 0.42)).astype(float)


def _waves(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    k, j = rng.integers(3, 9), rng.integers(1, 4)
    return 0.5 + 0.5 * np.sin(2 * np.pi * (k * y + rng.uniform(0.1, 0.4) * np.sin(2 * np.pi * j * x)))


def _camouflage(rng: np.random.Generator, n: int) -> Grid:
    return np.floor(3.999 * _smooth(rng, n, float(rng.uniform(2.5, 5)))) / 3


def _speckle(rng: np.random.Generator, n: int) -> Grid:
    field = _smooth(rng, n, float(rng.uniform(12, 24)))
    return np.where(field > 0.68, 0.95, np.where(field < 0.3, 0.0, 0.5))


def _plaid(rng: np.random.Generator, n: int) -> Grid:
    x, y = _axes(n)
    k, j = rng.integers(2, 7, 2)
    shade: Grid = 0.5 * (np.sin(2 * np.pi * k * x) > 0) + 0.35 * (np.sin(2 * np.pi * j * y) > 0) + 0.1
    return shade


PATTERNS: dict[str, Callable[[np.random.Generator, int], Grid]] = {
    "wood": _wood,
    "tile": _tile,
    "noise": _noise,
    "stripes": _stripes,
    "fabric": _fabric,
    "checker": _checker,
    "brick": _brick,
    "marble": _marble,
    "dots": _dots,
    "waves": _waves,
    "camouflage": _camouflage,
    "speckle": _speckle,
    "plaid": _plaid,
}
# what is made of a material keeps its colours; a print may have any
HUES = {"wood": (0.04, 0.11), "brick": (0.98, 1.07), "marble": (0.0, 1.0)}
TEXTURES: tuple[str, ...] = tuple(f"{kind}-{v:02d}" for kind in PATTERNS for v in range(VARIANTS))
PLAIN: dict[str, tuple[int, int, int]] = {
    "plain-graphite": (74, 76, 80),
    "plain-slate": (112, 122, 132),
    "plain-sand": (176, 164, 146),
}
"""Plain colours, red, green and blue of 255. An arm may name them; none is drawn at random."""


def _hsv(hue: float, saturation: float, value: float) -> Floats:
    part = np.clip(np.abs((hue * 6 + np.array([0.0, 4.0, 2.0])) % 6 - 3) - 1, 0, 1)
    rgb: Floats = value * (1 + saturation * (part - 1))
    return rgb


@lru_cache(maxsize=512)
def texture(name: str, size: int = 128) -> Bytes:
    """(size, size, 3) uint8, not to be written to; size is at most 128."""
    if name in PLAIN:
        return np.broadcast_to(np.array(PLAIN[name], np.uint8), (size, size, 3))
    if name not in TEXTURES:
        raise UsageError(f"texture {name!r} is not known; {suggest(name, [*TEXTURES, *PLAIN])}")
    kind = name.rpartition("-")[0]
    rng = generator(name, 0, "texture")
    low, high = HUES.get(kind, (0.0, 1.0))
    calm = kind == "marble"
    dark = _hsv(rng.uniform(low, high), rng.uniform(0.0, 0.2) if calm else rng.uniform(0.4, 1), rng.uniform(0.15, 0.45))
    light = _hsv(rng.uniform(low, high), rng.uniform(0.0, 0.15) if calm else rng.uniform(0.1, 0.7), rng.uniform(0.7, 1))
    grid = np.clip(PATTERNS[kind](rng, size), 0, 1)[..., None]
    image = np.rint(255 * (dark + grid * (light - dark))).astype(np.uint8)
    image.setflags(write=False)
    return image
