"""The searches: one in each fold, which sees a part of the data, and one on all data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.tune.config import Tuning
from foretell.tune.folds import Fold, crossed, split
from foretell.tune.landscape import Landscape
from foretell.tune.objective import Objective
from foretell.tune.space import Point
from foretell.tune.ways import search

__all__ = ["Fits", "check_held_out", "fit"]


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """Scores on held-out data; arrays (P, S), tasks (S,)."""

    policies: tuple[str, ...]
    tasks: Ints
    real: Floats
    before: Floats
    after: Floats


@dataclass(frozen=True, kw_only=True)
class Fits:
    """What the searches found."""

    best: Point
    seen: tuple[Bools, Bools]
    """Policies (P,) and scenarios (S,) that `best` was fitted to."""
    folds: list[Fold]
    chosen: list[Point]
    """The best point of each fold."""
    checked: str
    """What was held out, in words."""
    notes: list[str]

    @property
    def unseen(self) -> bool:
        """Whether anything was held out."""
        return any(not part.all() for fold in self.folds for part in fold.fit)

    def judged(self, landscape: Landscape) -> Unseen:
        """Every policy in every scenario that judges, simulated with the θ of the fold that did not see it."""
        after = landscape.base.copy()
        judges = np.zeros(after.shape, dtype=np.bool_)
        for fold, point in zip(self.folds, self.chosen, strict=True):
            after[fold.cells] = landscape.scores(point)[fold.cells]
            judges |= fold.cells
        rows, columns = np.flatnonzero(judges.any(axis=1)), np.flatnonzero(judges.any(axis=0))
        block = np.ix_(rows, columns)
        return Unseen(
            policies=tuple(landscape.policies[i] for i in rows),
            tasks=landscape.tasks[columns],
            real=landscape.real[block],
            before=landscape.base[block],
            after=after[block],
        )


def fit(landscape: Landscape, objective: Objective, tuning: Tuning) -> Fits:
    """Search in each fold, and on all data where the folds are those of a cross-validation."""
    policies, ids, tasks = landscape.policies, landscape.ids, landscape.tasks
    notes: list[str] = []
    if tuning.hold_out is not None:
        folds = [split(policies, ids, tasks, tuning.hold_out)]
        checked = f"{_kept(folds[0].fit[0], 'policy', 'policies')} and {_kept(folds[0].fit[1], 'scenario')}, once"
    else:
        groups, notes = _groups(landscape, objective, tuning)
        folds = crossed(policies, ids, tasks, groups)
        parts = [f"{_kept(folds[0].fit[0], 'policy', 'policies')}", _kept(folds[0].fit[1], "scenario")]
        checked = f"{' and '.join(parts)} in each of {counted(len(folds), 'fold')}"
    chosen = [_search(landscape, objective, tuning, *fold.fit) for fold in folds]
    seen, best = folds[0].fit, chosen[0]
    if tuning.hold_out is None:
        seen = np.ones(len(policies), dtype=np.bool_), np.ones(len(ids), dtype=np.bool_)
        best = _search(landscape, objective, tuning, *seen)
    return Fits(best=best, seen=seen, folds=folds, chosen=chosen, checked=checked, notes=notes)


def check_held_out(landscape: Landscape, objective: Objective, tuning: Tuning) -> None:
    """Raises UsageError where `hold_out` names another policy, or leaves too few on one of its sides. For a landscape
    of which nothing has run."""
    if tuning.hold_out is None:
        return
    fold = split(landscape.policies, *landscape.tried_scenarios, tuning.hold_out)
    for needs, part in ((fold.fit[0], "fitted to"), (fold.judge[0], "held out")):
        if needs.sum() < objective.policies:
            raise UsageError(
                f"tune: hold_out: {counted(int(needs.sum()), 'policy is', 'policies are')} {part}, and "
                f"{tuning.metric} needs {objective.policies}"
            )


def _groups(landscape: Landscape, objective: Objective, tuning: Tuning) -> tuple[tuple[int, int], list[str]]:
    """Folds of policies and of scenarios, as many as the data allow."""
    notes = []
    count = len(landscape.policies)
    groups = min(tuning.number("policies"), count)
    if groups > 1 and count - math.ceil(count / groups) < objective.policies:
        notes.append(
            f"no policy is held out: {counted(count, 'policy', 'policies')} are too few, because {tuning.metric} needs "
            f"{objective.policies} to fit to. The check is on other scenarios of the same policies"
        )
        groups = 1
    least = min(int((landscape.tasks == task).sum()) for task in np.unique(landscape.tasks))
    return (groups, min(tuning.number("scenarios"), max(1, least // 2))), notes


def _kept(fit: Bools, *words: str) -> str:
    """How many are held out, in words."""
    away = int((~fit).sum())
    return f"{'about ' if away else ''}{counted(away, *words) if away else f'no {words[0]}'}"


def _search(landscape: Landscape, objective: Objective, tuning: Tuning, policies: Bools, scenarios: Bools) -> Point:
    """The best θ for some policies and scenarios."""
    where = np.ix_(policies, scenarios)
    real, tasks = landscape.real[where], landscape.tasks[scenarios]

    def judge(point: Point) -> float:
        scores = landscape.at(point).scores
        if scores is None:
            return -math.inf
        value = objective.sign * objective.value(real, scores[where], tasks)
        return value if math.isfinite(value) else -math.inf

    return search(landscape.space, judge, way=tuning.way, trials=tuning.trials, seed=tuning.seed)
