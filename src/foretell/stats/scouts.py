"""Scouts: extra simulated scenarios that are set aside to say how simulation shall be used (see `strata`).

They are drawn from all extra scenarios without looking at anything else, so they are independent of the rest. A hash of
all scores seeds the draw: the same rows have the same scouts, in whatever order they stand.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from foretell.stats.scores import Floats

__all__ = ["PARTY", "SCOUTS", "graded_scouts", "scouted"]

SCOUTS = 8
"""One extra scenario in so many is a scout."""
PARTY = 30
"""Scouts without which there are none: fewer tell too little."""
MOST = 10**8
"""Extra scenarios up to which the number of scouts solved is drawn; above, it is their share."""


def _generator(content: bytes) -> np.random.Generator:
    seed = blake2b(content, digest_size=8).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(seed, "little")))


def scouted(k1: int, n1: int, k0: int, n0: int, solved: int, extra: int) -> tuple[int, int]:
    """How many scouts there are, and how many of them simulation solved, of `solved` in `extra` scenarios. Scalars in.

    The draw is the same with successes for failures, and mirrored with the strata exchanged.
    """
    scouts = extra // SCOUTS
    if scouts < PARTY:
        return 0, 0
    straight = (solved, *min((k1, k0), (n1 - k1, n0 - k0)), n1, n0, extra)
    mirrored = (extra - solved, *min((k0, k1), (n0 - k0, n1 - k1)), n0, n1, extra)
    draw = _generator(repr(min(straight, mirrored)).encode())
    good = min(straight, mirrored)[0]
    if extra <= MOST:
        seen = int(draw.hypergeometric(good, extra - good, scouts))
    else:
        seen = round(scouts * good / extra)
    return scouts, seen if straight <= mirrored else scouts - seen


def graded_scouts(y: Floats, f: Floats, e: Floats) -> Floats:
    """Scores of the scouts among e, shape (N,), in rising order, shape (S,); none where N is small.

    y and f, the real and simulated scores of the pairs, shape (n,), only seed the draw: it is the same for y and 1 - y.
    """
    scouts = e.size // SCOUTS
    if scouts < PARTY:
        return np.empty(0)
    rising = np.sort(e)
    pairs = []
    for side in (np.round(y, 9) + 0.0, np.round(1.0 - y, 9) + 0.0):
        order = np.lexsort((f, side))
        pairs.append(side[order].tobytes() + f[order].tobytes())
    draw = _generator(min(pairs) + rising.tobytes())
    return rising[np.sort(draw.choice(e.size, scouts, replace=False))]
