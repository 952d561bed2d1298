"""Canonical order of units: one that cannot follow outcomes, so that one set of rows has one answer.

A bet is placed trial by trial, so a betting bound depends on the order of its rows. It is valid when the order has
nothing to do with the outcomes. Files rarely have such an order: people sort them by score or group them by object.
So rows are put into a keyed order first. Scenarios are ordered by a hash of their id, wherever they have one; arrays
without ids are shuffled by a draw that a hash of the whole data set seeds. A hash has no liking for successes: the
order is as good as one drawn at random, and it is the same for everybody who has the same rows.

Where trials are looked at one by one (a `horizon` is given), the order in which they were run is kept: the process
must be the same at every look.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from foretell.stats.scores import Floats

__all__ = ["ORDERS", "by_content", "by_id", "several"]

ORDERS = 8
"""Orders that are united where rows differ too little to seed one of their own."""


def by_id(ids: Sequence[Hashable], key: str = "units") -> NDArray[np.int64]:
    """Permutation of shape (n,) that puts ids of length n into the order of their hashes; equal ids keep theirs."""
    secret = key.encode()
    marks = [blake2b(str(unit).encode(), digest_size=8, key=secret).digest() for unit in ids]
    return np.array(sorted(range(len(marks)), key=marks.__getitem__), dtype=np.int64)


def by_content(*columns: Floats) -> NDArray[np.int64]:
    """Permutation of shape (n,) for rows without ids, drawn by a hash of all columns; the first has shape (n,).

    Data sets differ, so their permutations do, and no order of a file is bad in all of them. Scores lie in [0, 1]; a
    column x and its mirror 1 - x give the same permutation, so that successes and failures are treated alike.
    """
    state = blake2b(digest_size=8)
    for column in columns:
        sides = (np.round(side, 9) + 0.0 for side in (column, 1.0 - column))
        for side in sorted(side.tobytes() for side in sides):
            state.update(side)
    draws = np.random.PCG64(int.from_bytes(state.digest(), "little")).random_raw(columns[0].size)
    return np.argsort(draws, kind="stable").astype(np.int64)


def several(*columns: Floats, count: int = ORDERS) -> NDArray[np.int64]:
    """`count` permutations of shape (count, n), drawn by a hash of sorted rows; columns of shape (n,) each. They are
    the same for every order of the rows, up to rows that are equal. Columns x and their mirrors 1 - x give the same
    permutations, as in `by_content`.

    A permutation that depends on the sorted column alone is as good as a random one only if there are many such
    columns. With scores of 0 and 1 there are n + 1, and a bet in one order for each covered 65 % at a nominal 90 %. The
    hull over several orders leaves out what a candidate lost in all of them. As orders grow in number it becomes the
    bet whose wealth is the capped mean over all orders. That is valid, because all orders of exchangeable rows are
    equally likely.
    """
    sides = [_sorted(columns), _sorted([1.0 - column for column in columns])]
    content = min(side[1] for side in sides)
    rows = [rising for rising, mine in sides if mine == content]  # both, where the rows are their own mirror
    seed = int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
    draw = np.random.Generator(np.random.PCG64(seed))
    shuffles = [draw.permutation(rows[0].size) for _ in range(count // len(rows))]
    return np.array([rising[shuffle] for rising in rows for shuffle in shuffles], dtype=np.int64)


def _sorted(columns: Sequence[Floats]) -> tuple[NDArray[np.int64], bytes]:
    """The permutation that sorts the rows of columns of shape (n,), and the sorted rows as bytes."""
    rounded = [np.round(column, 9) + 0.0 for column in columns]
    rising = np.lexsort(rounded[::-1])
    return rising, b"".join(column[rising].tobytes() for column in rounded)
