"""Every random draw in foretell comes from here, keyed by what it is for and never by when it happens.

A draw depends on (base, trial, purpose) only. So a perturbed scenario shares with its clean control every draw
that is not the factor's own, and no row depends on slots, workers, order, or on what ran before.
"""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["generator", "seed"]


def _words(*key: object) -> list[int]:
    digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
    return [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]


def generator(base: str, trial: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose (such as "placement" or "sensor") in one trial of one scenario."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(_words(base, trial, purpose))))


def seed(base: str, trial: int, purpose: str) -> int:
    """A 63-bit seed for code that wants a number instead of a generator."""
    words = _words(base, trial, purpose)
    return (words[0] | words[1] << 32) & (2**63 - 1)
