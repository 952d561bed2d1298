"""What shown differences say of many policies: letters shared by the alike, and the ranks left open."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["compact_letters", "rank_ranges"]


def compact_letters(different: ArrayLike) -> list[str]:
    """Letters for K policies, given in display order; different: symmetric bool, shape (K, K).

    Two policies share a letter exactly when they are not shown to differ. Letters are the largest groups
    without a difference; groups whose pairs all share another letter are dropped.
    """
    apart = np.asarray(different, dtype=bool)
    k = apart.shape[0]
    if apart.shape != (k, k) or (apart != apart.T).any() or apart.diagonal().any():
        raise ValueError("different must be a symmetric (K, K) matrix with a false diagonal")
    alike = {i: {j for j in range(k) if j != i and not apart[i, j]} for i in range(k)}
    groups: list[frozenset[int]] = []

    def extend(group: set[int], open_: set[int], closed: set[int]) -> None:
        if not open_ and not closed:
            groups.append(frozenset(group))
            return
        pivot = max(open_ | closed, key=lambda v: len(alike[v] & open_))
        for v in sorted(open_ - alike[pivot]):
            extend(group | {v}, open_ & alike[v], closed & alike[v])
            open_ = open_ - {v}
            closed = closed | {v}

    extend(set(), set(range(k)), set())
    groups.sort(key=lambda g: sorted(g))
    for group in sorted(groups, key=len):
        others = [g for g in groups if g != group]
        covered = all(any({i, j} <= g for g in others) for i, j in combinations(sorted(group), 2))
        if covered and all(any(i in g for g in others) for i in group):
            groups = others
    names = [_letter(i) for i in range(len(groups))]
    return ["".join(n for n, g in zip(names, groups, strict=True) if i in g) for i in range(k)]


def _letter(index: int) -> str:
    """a, b, ..., z, then (aa), (ab), ..."""
    if index < 26:
        return chr(ord("a") + index)
    return f"({chr(ord('a') + index // 26 - 1)}{chr(ord('a') + index % 26)})"


def rank_ranges(better: ArrayLike) -> NDArray[np.int64]:
    """Lowest and highest rank (1 is best) each policy can have, shape (K, 2); better[i, j]: i shown above j.

    If all shown differences are true, which a family-wise test makes likely at 1 - alpha, every true rank
    lies in its range.
    """
    above = np.asarray(better, dtype=bool)
    return np.stack([1 + above.sum(axis=0), above.shape[0] - above.sum(axis=1)], axis=1).astype(np.int64)
