"""Lambert's law: light from everywhere and one light from far away, fitted to pixels of known colours and normals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Bools, Floats, Ints

__all__ = ["Fit", "Surface", "around", "fit_along", "fit_light", "spread"]

SOFT = 0.04
"""Residual, of 1, from which on a pixel counts less: shadows and gloss are no part of the law."""
DIRECTIONS = 250
"""That are tried over all the sky, before the best is refined."""
ROUNDS = 4
STRONGEST = 4.0
"""Of a light, as a world file takes it: else light that only grazes everything could be of any strength."""
FINEST = 0.1
"""Degrees to which a direction is refined."""


@dataclass(frozen=True, kw_only=True)
class Surface:
    """Pixels of known parts."""

    colour: Floats
    """(n, 3) their own, 0 to 1."""
    normal: Floats
    """(n, 3) where they face, in the task frame."""
    look: Ints
    """(n,) which colour of the scene each is of."""
    part: Ints
    """(n,) which part of the picture each is in."""

    def only(self, kept: Bools) -> Surface:
        """Some of the pixels."""
        return Surface(**{name: values[kept] for name, values in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The light of some pixels."""

    ambient: Floats
    """(3,) red, green and blue of the light from everywhere; 1 shows things in their own colour."""
    colour: Floats
    """(3,) of the light from far away."""
    direction: Floats
    """(3,) where it shines, in the task frame; unit."""
    error: float
    """Mean absolute residual, of 1."""


def fit_light(known: Surface, real: Floats, near: Floats | None = None, *, own: bool = True) -> Fit:
    """The light with which pixels have colours `real` (n, 3), 0 to 1. `near`: a direction from which the search begins;
    else all of the sky is tried. `own`: each look of the scene has a brightness of its own."""

    def cost(way: Floats) -> float:
        return _solve(known, real, way, own)[0]

    if near is not None:
        return fit_along(known, real, -_refined(-near, 5.0, cost), own=own)
    best, step = min(_sky(DIRECTIONS), key=cost), np.radians(15)
    for _ in range(ROUNDS):
        best, step = min([best, *around(best, step), *around(best, step / 2)], key=cost), step / 2.5
    return fit_along(known, real, -_refined(best, 1.0, cost), own=own)


def _refined(best: Floats, reach: float, cost: Callable[[Floats], float]) -> Floats:
    """A direction (3,) some degrees from one that is nearly the best, to a fraction of a degree."""
    from scipy.optimize import minimize

    side, other = around(best, np.pi / 2)[[0, 2]]

    def way(turn: Floats) -> Floats:
        moved: Floats = best + turn[0] * side + turn[1] * other
        return moved / np.linalg.norm(moved)

    step = np.radians(reach)
    answer = minimize(
        lambda turn: cost(way(turn)),
        np.zeros(2),
        method="Nelder-Mead",
        options={
            "initial_simplex": step * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
            "xatol": np.radians(FINEST),
            "fatol": 0.0,
            "maxfev": 60,
        },
    )
    return way(answer.x)


def fit_along(known: Surface, real: Floats, direction: Floats, *, own: bool = True) -> Fit:
    """As `fit_light`, with light along a given direction (3,)."""
    _, ambient, colour, error = _solve(known, real, -direction, own)
    return Fit(ambient=ambient, colour=colour, direction=direction, error=error)


def spread(known: Surface, real: Floats, fit: Fit) -> float:
    """Standard deviation of the direction of a fit, degrees. Infinite where one part of the picture shows all, or one
    look.

    It is the larger of two jackknives: over the parts of the picture, because errors of neighbours hang together, and
    over the looks of the scene, because one may not be what the world believes. Two more differences add to it: that
    between the fit and the best one without its shadows, and that between fits with and without a brightness of its own
    for each look."""
    every = fit_light(known, real, fit.direction)
    apart = [_turn(every, fit), _turn(every, fit_light(known, real, fit.direction, own=False))]
    left = max(_jackknife(known, real, fit, groups) for groups in (known.part, known.look))
    return float(np.sqrt(left**2 + sum(turn**2 for turn in apart) / 4 + FINEST**2))


def _jackknife(known: Surface, real: Floats, fit: Fit, groups: Ints) -> float:
    """Standard deviation of the direction, degrees, over groups of pixels, of which each is left out once."""
    names = np.unique(groups)
    if len(names) < 2:
        return float("inf")
    fits = [fit_light(known.only(groups != name), real[groups != name], fit.direction) for name in names]
    middle = np.mean([each.direction for each in fits], axis=0)
    off = np.array([each.direction for each in fits]) - middle
    return float(np.degrees(np.sqrt((len(names) - 1) / len(names) * (off**2).sum())))


def _turn(first: Fit, second: Fit) -> float:
    """Degrees between the directions of two fits."""
    return float(np.degrees(np.arccos(np.clip(first.direction @ second.direction, -1.0, 1.0))))


def _sky(count: int) -> Floats:
    """(count, 3) directions, even over the half above the horizon and a little below."""
    up = np.linspace(1.0, -0.2, count)
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    out = np.sqrt(1 - up**2)
    return np.stack([out * np.cos(turn), out * np.sin(turn), up], axis=1)


def around(way: Floats, step: float) -> Floats:
    """(8, 3) directions at an angle from one, rad."""
    side = np.cross(way, [1.0, 0.0, 0.0] if abs(way[0]) < 0.9 else [0.0, 1.0, 0.0])
    side /= np.linalg.norm(side)
    other = np.cross(way, side)
    angles = np.arange(8) * np.pi / 4
    ring = np.cos(angles)[:, None] * side + np.sin(angles)[:, None] * other
    circle: Floats = np.cos(step) * way + np.sin(step) * ring
    return circle


def _solve(known: Surface, real: Floats, way: Floats, own: bool) -> tuple[float, Floats, Floats, float]:
    """Cost, ambient, colour and mean residual of the best fit with light from a direction: least squares, in which odd
    pixels count less, and each look of the scene may have a brightness of its own."""
    facing = np.maximum(known.normal @ way, 0.0)
    gain = np.ones(int(known.look.max()) + 1)
    weight = np.ones(len(facing))
    ambient = colour = np.zeros(3)
    error = np.zeros(real.shape)
    for _ in range(ROUNDS):
        base = known.colour * gain[known.look][:, None]
        ambient, colour = _two(base, base * facing[:, None], real, weight)
        shown = known.colour * (ambient + facing[:, None] * colour)
        top, bottom = (
            np.bincount(known.look, weight * (shown * part).sum(axis=1), len(gain)) for part in (real, shown)
        )
        ridge = 0.02 * bottom.sum() / max(1, len(np.unique(known.look)))
        if own:
            gain = (top + ridge) / (bottom + ridge)
        error = shown * gain[known.look][:, None] - real
        weight = 1.0 / np.maximum(1.0, np.abs(error).max(axis=1) / SOFT)
    size = np.abs(error)
    cost = np.where(size < SOFT, size**2, SOFT * (2 * size - SOFT)).mean()
    return float(cost), ambient, colour, float(size.mean())


def _two(first: Floats, second: Floats, real: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(3,) and (3,) not negative: how much of two pictures (n, 3) makes a third, channel by channel."""
    w = weight[:, None]
    a, b, c = (w * first**2).sum(axis=0), (w * first * second).sum(axis=0), (w * second**2).sum(axis=0)
    p, q = (w * first * real).sum(axis=0), (w * second * real).sum(axis=0)
    det = a * c - b**2
    fine = det > 1e-9 * a * np.maximum(c, 1e-12)
    safe = np.where(fine, det, 1.0)
    x, y = np.where(fine, (c * p - b * q) / safe, p / np.maximum(a, 1e-12)), np.where(fine, (a * q - b * p) / safe, 0.0)
    x, y = np.where(y < 0, p / np.maximum(a, 1e-12), x), np.maximum(y, 0.0)
    y, x = np.where(x < 0, q / np.maximum(c, 1e-12), y), np.maximum(x, 0.0)
    strong = y > STRONGEST
    x = np.where(strong, np.maximum(p - STRONGEST * b, 0.0) / np.maximum(a, 1e-12), x)
    return np.minimum(x, STRONGEST), np.minimum(y, STRONGEST)
