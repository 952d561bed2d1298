"""Successes of so many trials, written as "14/20": a bound without a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from foretell import stats
from foretell.errors import UsageError, suggest
from foretell.stats import Interval

__all__ = ["METHODS", "bound_counts", "read_counts"]

METHODS = ("clopper_pearson", "wilson", "hoeffding")
"""Methods that need no more than two numbers; others look at trials one by one."""
MOST = 10_000_000
"""Trials, at most."""


def read_counts(source: Any) -> tuple[int, int] | None:
    """Successes and trials of a text such as "14/20"; None of anything else, and of a path that exists."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:/|of)\s*(\d+)\s*", source) if isinstance(source, str) else None
    if match is None or Path(str(source)).exists():
        return None
    k, n = int(match[1]), int(match[2])
    if k > n:
        raise UsageError(
            f"real: {source.strip()!r:.80} has more successes than trials; write successes/trials, such as 14/20"
        )
    if not 1 <= n <= MOST:
        raise UsageError(f"real: {source.strip()!r:.80}: the number of trials must be from 1 to {MOST:,}")
    return k, n


def bound_counts(
    counts: tuple[int, int], method: str, options: dict[str, Any]
) -> tuple[tuple[Interval, ...], dict[str, str]]:
    """By one method, or by all that apply; and why the others do not."""
    k, n = counts
    why = "it needs the outcome of each trial, and the counts do not have them: give a file"
    if method not in ("auto", "all", *METHODS):
        raise UsageError(f"method {method!r} does not apply to {k}/{n}: {why}; {suggest(method, METHODS)}")
    scores = np.repeat([1.0, 0.0], [k, n - k])
    chosen = METHODS if method == "all" else ("clopper_pearson" if method == "auto" else method,)
    left = {name: why for name in stats.bounds.REAL_ONLY if name not in METHODS} if method == "all" else {}
    return tuple(stats.bound(scores, method=name, **options) for name in chosen), left
