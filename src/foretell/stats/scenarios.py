"""From rows to units: the scenario is what was drawn at random, so scores are averaged within it first."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.order import by_id
from foretell.stats.scores import Floats, vector


@dataclass(frozen=True)
class Units:
    """Scores averaged within scenarios, in order of first appearance."""

    ids: tuple[Hashable, ...]
    """Scenario (or parent) of each unit, length n."""
    scores: Floats
    """Mean score of each unit, shape (n,)."""
    counts: tuple[int, ...]
    """Number of rows averaged into each unit, length n."""
    within: float | None = None
    """Variance of rows inside units, pooled; None where no unit averages more than one row."""

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Units:
        """These units, in this order; rows: shape (m,)."""
        ids, counts = tuple(self.ids[i] for i in rows), tuple(self.counts[i] for i in rows)
        return replace(self, ids=ids, scores=self.scores[list(rows)], counts=counts)


@dataclass(frozen=True)
class Paired:
    """Real and simulated units brought together."""

    ids: tuple[Hashable, ...]
    real: Floats
    """Shape (n,)."""
    sim: Floats
    """Shape (n,), the same scenarios in the same order as `real`."""
    extra: Floats
    """Shape (N,), simulated scenarios without a real partner, in the order of a hash of their ids."""


def by_scenario(
    scenario: Sequence[Hashable],
    score: ArrayLike,
    *,
    parent: Sequence[Hashable | None] | None = None,
    trial: Sequence[Hashable] | None = None,
) -> Units:
    """Average rows into scenarios. scenario, score, parent and trial all have shape (R,).

    A row with a parent counts towards the parent. A repeated (scenario, trial) raises.
    """
    rows = vector(score, "score")
    for name, column in (("scenario", scenario), ("parent", parent), ("trial", trial)):
        if column is not None and len(column) != rows.size:
            raise ValueError(f"{name} has {len(column)} rows, score has {rows.size}")
    given: dict[Hashable, list[float]] = {}
    seen: set[tuple[Hashable, Hashable]] = set()
    for i, own in enumerate(scenario):
        if trial is not None:
            if (own, trial[i]) in seen:
                raise ValueError(f"row {i}: scenario {own!r} has trial {trial[i]!r} twice")
            seen.add((own, trial[i]))
        up = parent[i] if parent is not None else None
        unit = own if up is None else up
        given.setdefault(unit, []).append(float(rows[i]))
    means = np.array([math.fsum(values) / len(values) for values in given.values()])  # exact in any order of rows
    spare = rows.size - len(given)
    off = ((v - m) ** 2 for values, m in zip(given.values(), means.tolist(), strict=True) for v in values)
    within = math.fsum(off) / spare if spare else None
    return Units(tuple(given), means, tuple(len(values) for values in given.values()), within)


def pair_units(real: Units, sim: Units, extra: Units | None = None) -> Paired:
    """Pair real with sim by scenario; sim units without a real partner join `extra` (shapes in `Paired`).

    Every simulated unit, paired or extra, must average the same number of rows: otherwise the paired and the
    extra score are not draws of one variable, and the control need not have mean zero.
    """
    where = {unit: i for i, unit in enumerate(sim.ids)}
    missing = [unit for unit in real.ids if unit not in where]
    if missing:
        raise ValueError(f"{len(missing)} real scenarios have no simulated partner, first {missing[0]!r}")
    partners = [where[unit] for unit in real.ids]
    taken = set(partners)
    rest = [i for i in range(len(sim.ids)) if i not in taken]
    more = extra if extra is not None else Units((), np.empty(0), ())
    clash = [unit for unit in more.ids if unit in where]
    if clash:
        raise ValueError(f"scenario {clash[0]!r} appears both in sim and in extra")
    paired_counts = {sim.counts[i] for i in partners}
    extra_counts = {sim.counts[i] for i in rest} | set(more.counts)
    if extra_counts and len(paired_counts | extra_counts) > 1:
        raise ValueError(
            "simulated scenarios must average the same number of rows: "
            f"paired ones have {sorted(paired_counts)}, extra ones {sorted(extra_counts)}"
        )
    pool = np.concatenate([sim.scores[rest], more.scores])
    turn = by_id([*(sim.ids[i] for i in rest), *more.ids], "extra")
    return Paired(real.ids, real.scores, sim.scores[partners], pool[turn])
