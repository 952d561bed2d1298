"""What a fit does not see: groups of policies and of scenarios, by a hash of their names, so that no order of a file
matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foretell.arrays import Bools, Ints
from foretell.errors import UsageError, suggest
from foretell.stats.order import by_id
from foretell.tune.config import HoldOut

__all__ = ["Fold", "crossed", "split"]


class Fold(NamedTuple):
    """Which policies (P,) and scenarios (S,) are fitted to, and which judge the fit."""

    fit: tuple[Bools, Bools]
    judge: tuple[Bools, Bools]

    @property
    def cells(self) -> Bools:
        """(P, S): policies in scenarios that judge the fit."""
        return np.outer(*self.judge)


def crossed(policies: Sequence[str], ids: Sequence[str], tasks: Ints, groups: tuple[int, int]) -> list[Fold]:
    """Folds that judge every policy in every scenario once. groups: how many of policies and of scenarios; 1 holds
    none out."""
    by_policy = _dealt(policies, np.zeros(len(policies), dtype=int), groups[0])
    by_scenario = _dealt(ids, tasks, groups[1])
    folds = []
    for p in range(groups[0]):
        for s in range(groups[1]):
            judge = by_policy == p, by_scenario == s
            fit = ~judge[0] if groups[0] > 1 else judge[0], ~judge[1] if groups[1] > 1 else judge[1]
            folds.append(Fold(fit, judge))
    return folds


def split(policies: Sequence[str], ids: Sequence[str], tasks: Ints, away: HoldOut) -> Fold:
    """One fold that judges the part that is held out."""
    names = away.policies if isinstance(away.policies, tuple) else _first(policies, away.policies)
    for name in names:
        if name not in policies:
            raise UsageError(f"tune: hold_out: policy {name!r:.80} is not tuned with; {suggest(name, policies)}")
    judge = np.array([name in names for name in policies])
    apart = np.zeros(len(ids), dtype=bool)
    for task in np.unique(tasks) if away.scenarios else ():
        mine = np.flatnonzero(tasks == task)
        order = mine[by_id([ids[i] for i in mine.tolist()], "tune")]
        if (some := max(1, round(away.scenarios * len(order)))) >= len(order):
            raise UsageError(
                f"tune: hold_out: scenarios: {away.scenarios:g} of {len(order)} in a task leaves none to fit to"
            )
        apart[order[:some]] = True
    fit = ~judge, ~apart
    return Fold(fit, (judge if judge.any() else ~judge, apart if apart.any() else ~apart))


def _first(names: Sequence[str], share: float) -> tuple[str, ...]:
    """One or more, unless the share is 0."""
    order = by_id(names, "tune")
    count = max(1, round(share * len(names))) if share else 0
    return tuple(names[i] for i in order[:count].tolist())


def _dealt(names: Sequence[str], strata: Ints, groups: int) -> Ints:
    """Name -> its group. Each stratum is dealt to all groups."""
    group = np.zeros(len(names), dtype=int)
    for stratum in np.unique(strata):
        mine = np.flatnonzero(strata == stratum)
        order = mine[by_id([names[i] for i in mine.tolist()], "tune")]
        group[order] = np.arange(len(order)) % groups
    return group
