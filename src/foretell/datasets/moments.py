"""Statistics of a column of a dataset, as LeRobot keeps them for each episode and for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell.arrays import Floats

__all__ = ["Moments", "merged", "moments"]

Moments = dict[str, Floats]
"""`min`, `max`, `mean`, `std` and the quantiles `q01` to `q99`, each (numbers,), and `count`, which is (1,)."""
QUANTILES = (0.01, 0.10, 0.50, 0.90, 0.99)


def moments(values: np.ndarray) -> Moments:
    """Of values (rows, numbers)."""
    rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    made: Moments = {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0),
        "std": rows.std(axis=0),
        "count": np.array([len(rows)]),
    }
    levels = np.quantile(rows, QUANTILES, axis=0)
    return made | {f"q{round(100 * q):02d}": level for q, level in zip(QUANTILES, levels, strict=True)}


def merged(parts: Sequence[Moments]) -> Moments:
    """Of all rows, from those of the parts. Quantiles are the means of the parts' own, by rows, as LeRobot merges
    them."""
    counts = np.array([float(part["count"][0]) for part in parts])

    def mean_of(values: Any) -> Floats:
        averaged: Floats = np.average(np.stack(list(values)), axis=0, weights=counts)
        return averaged

    mean = mean_of(part["mean"] for part in parts)
    spread = mean_of(part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in parts)
    made: Moments = {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean,
        "std": np.sqrt(spread),
        "count": np.array([int(counts.sum())]),
    }
    levels = [name for name in parts[0] if name not in made]
    return made | {name: mean_of(part[name] for part in parts) for name in levels}
