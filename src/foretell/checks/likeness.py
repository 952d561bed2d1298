"""What the actions of a policy look like beside an expert's: which axes, signs, units. Pure functions on arrays.

All take the policy's actions p and the expert's e, each (k, n), in the same situations.
"""

from __future__ import annotations

import itertools

import numpy as np

from foretell.arrays import Floats

__all__ = ["agreement_of", "axes", "correlations", "exchanged", "magnitude", "normalised"]

STILL = 1e-9
ALIKE, BETTER = 0.5, 0.4
"""Correlation from which on another order of axes is believed, and by how much it must beat the one declared."""


def correlations(p: Floats, e: Floats) -> Floats:
    """(n, n) correlation of each part of p with each of e; 0 where one of them does not change."""
    p, e = p - p.mean(axis=0), e - e.mean(axis=0)
    size = np.sqrt((p**2).sum(axis=0))[:, None] * np.sqrt((e**2).sum(axis=0))[None]
    product: Floats = p.T @ e
    alike: Floats = np.divide(product, size, out=np.zeros_like(product), where=size > STILL)
    return alike


def axes(p: Floats, e: Floats) -> tuple[float, float, tuple[tuple[int, int], ...]]:
    """How alike they are as they are, how alike with the best order and signs of p's parts, and that order: for each
    part of e, the part of p and its sign. An axis counts by how much the expert uses it."""
    alike = correlations(p, e)
    spread = e.std(axis=0)
    weight = spread / max(float(spread.sum()), STILL)
    n = p.shape[1]
    own = float((weight * alike.diagonal()).sum())
    best, order = own, tuple((i, 1) for i in range(n))
    for places in itertools.permutations(range(n)):
        signs = np.sign(alike[list(places), range(n)])
        score = float((weight * np.abs(alike[list(places), range(n)])).sum())
        if score > best + 1e-12:
            # an axis that the expert hardly uses says nothing, and keeps its sign
            kept = [int(s) if s and w > 0.1 else 1 for s, w in zip(signs, weight, strict=True)]
            best, order = score, tuple(zip(places, kept, strict=True))
    return own, best, order


def exchanged(own: float, best: float) -> bool:
    """Whether another order of axes fits so much better that it is no chance."""
    return best > ALIKE and best - own > BETTER


def magnitude(p: Floats, e: Floats) -> float:
    """How many times as large p is."""
    return float(np.sqrt((p**2).mean()) / max(float(np.sqrt((e**2).mean())), STILL))


def normalised(p: Floats, e: Floats) -> bool:
    """Whether every part of p has a spread near 1, and those of e differ: the policy's scale was not undone."""
    spread, true = p.std(axis=0), e.std(axis=0)
    used = true > STILL
    if used.sum() < 2:
        return False
    spread, true = spread[used], true[used]
    ratio = spread / true
    return bool((spread > 0.4).all() and (spread < 2.5).all() and ratio.max() > 3 * ratio.min())


def agreement_of(closed: np.ndarray, expected: np.ndarray) -> float:
    """Share of situations in which a gripper does as it should, closing and opening counted alike."""
    return float(np.mean([(closed[expected == side] == side).mean() for side in (False, True)]))
