"""A candidate against a base on one task, or over several: the difference, the decision, and how many more trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from foretell.answers.units import Measured
from foretell.answers.versus import common_scenarios
from foretell.answers.words import of_scenarios, plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import Interval
from foretell.stats.interval import Horizon
from foretell.stats.margin import Passing, Rivals, decide_margin, difference, pooled, trials_for_margin
from foretell.stats.scores import Floats

__all__ = ["Gated", "Margin", "gated", "over_tasks"]


@dataclass(frozen=True, kw_only=True)
class Margin:
    """What is asked of every task."""

    margin: float
    alpha: float
    tasks: int
    """How many there are: a task fails only at the level alpha / tasks."""
    horizon: Horizon
    unpaired: bool


@dataclass(frozen=True, kw_only=True)
class Gated:
    """Candidate and base on one task, or on all."""

    task: str
    decision: Passing
    difference: Interval
    """Interval of the candidate's mean less the base's, by itself at the level alpha."""
    mean_base: float
    mean_candidate: float
    n_base: int
    n_candidate: int
    paired: bool
    margin: Margin = field(repr=False)
    rivals: tuple[Rivals, ...] = field(repr=False, compare=False)
    """Scores, of each task."""
    shuffled: bool = field(default=True, repr=False)
    """Whether scenarios have names, whose hashes order them."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        names = ("task", "decision", "mean_base", "mean_candidate", "n_base", "n_candidate", "paired")
        return {**{name: getattr(self, name) for name in names}, "difference": self.difference.to_dict()}

    def needs(self, truth: Literal["as_seen", "if_equal"], power: float) -> int | None:
        """Scenarios still to run of each task and policy; a forecast. None: more than a million."""
        true = self.mean_candidate - self.mean_base if truth == "as_seen" else 0.0
        bets = self.difference.method not in ("paired_difference", "newcombe_paired", "newcombe")
        total = trials_for_margin(
            self.rivals, true, self.margin.margin, alpha=self.margin.alpha, power=power, bets=bets
        )
        return None if total is None else max(1, total - min(rivals.size for rivals in self.rivals))


def gated(task: str | None, base: Measured, candidate: Measured, sims: Sequence[Measured], asked: Margin) -> Gated:
    """The comparison on one task. sims: simulated scores of base and candidate, or none."""
    common = [] if asked.unpaired else common_scenarios(("base", base), ("candidate", candidate))
    paired, notes = len(common) >= 2, []
    if asked.horizon is not None and not paired and not asked.unpaired:  # the same comparison at every look
        raise UsageError(
            f"base and candidate have {len(common)} scenarios in common; with a horizon at least 2 are needed, or "
            "`--unpaired` from the first look on"
        )
    x, y = (side.of(common) if paired else side.units.scores for side in (candidate, base))
    for side, scores in ((base, y), (candidate, x)):
        if scores.size < 2:
            raise UsageError(f"{side.table.name} has {scores.size} scenario that counts; at least 2 are needed")
    left = [len(side.ids) - len(common) for side in (base, candidate)]
    if paired and any(left):
        where = f"{plain(task)}: " if task is not None and asked.tasks > 1 else ""
        notes.append(
            f"{where}{counted(left[0], 'scenario')} of the base and {left[1]} of the candidate are left out, because "
            "only one of the two ran there"
        )
    extra: dict[str, Any] = {}
    if sims:
        if not paired:
            raise UsageError("simulation as control needs scenarios that base and candidate have in common")
        extra["sims"], extra["extras"] = _controls(common, sims[1], sims[0])
    rivals = Rivals(candidate=x, base=y, paired=paired, **extra)
    shuffled = not (base.alone or candidate.alone)
    alone, adjusted = (
        difference(rivals, level, horizon=asked.horizon, shuffled=shuffled)
        for level in (asked.alpha, asked.alpha / asked.tasks)
    )
    decision = decide_margin(alone, asked.margin)
    if decision == "fail":
        decision = "fail" if decide_margin(adjusted, asked.margin) == "fail" else "undecided"
    return Gated(
        task=task or "",
        decision=decision,
        difference=of_scenarios(alone),
        mean_base=float(y.mean()),
        mean_candidate=float(x.mean()),
        n_base=y.size,
        n_candidate=x.size,
        paired=paired,
        margin=asked,
        rivals=(rivals,),
        shuffled=shuffled,
        notes=tuple(notes),
    )


def over_tasks(tasks: Sequence[Gated]) -> Gated:
    """All tasks together, each alike."""
    if len(tasks) == 1:
        return tasks[0]
    asked, rivals = tasks[0].margin, tuple(rivals for task in tasks for rivals in task.rivals)
    interval = pooled(rivals, asked.alpha, horizon=asked.horizon, shuffled=all(task.shuffled for task in tasks))
    return Gated(
        task="all",
        decision=decide_margin(interval, asked.margin),
        difference=of_scenarios(interval),
        mean_base=float(np.mean([task.mean_base for task in tasks])),
        mean_candidate=float(np.mean([task.mean_candidate for task in tasks])),
        n_base=sum(task.n_base for task in tasks),
        n_candidate=sum(task.n_candidate for task in tasks),
        paired=all(task.paired for task in tasks),
        margin=asked,
        rivals=rivals,
    )


Pair = tuple[Floats, Floats]


def _controls(common: list[str], candidate: Measured, base: Measured) -> tuple[Pair, Pair]:
    """Simulated scores of both on the common scenarios, and on others that both simulated."""
    known = set(base.ids)
    shared = [unit for unit in candidate.ids if unit in known]
    both, tried = set(shared), set(common)
    missing = next((unit for unit in common if unit not in both), None)
    if missing is not None:
        raise UsageError(f"sim: scenario {plain(missing)!r} was not simulated with both policies")
    extra = [unit for unit in shared if unit not in tried]
    if not extra:
        raise UsageError("sim: simulation as control needs simulated scenarios without a real trial; there are none")
    for side in (base, candidate):
        if len(set(side.units.counts)) > 1:
            counts = sorted(set(side.units.counts))
            raise UsageError(
                f"{side.table.name}: simulated scenarios must average the same number of rows, not {counts}"
            )
    return (candidate.of(common), base.of(common)), (candidate.of(extra), base.of(extra))
