"""How good is this policy now? Inside a training loop: in this process, from a policy object, without a run folder."""

from __future__ import annotations

import atexit
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell import stats
from foretell.answers.bound import design_of
from foretell.answers.choice import labels
from foretell.answers.gate import Gate, gate
from foretell.answers.inputs import Source, Table, open_table
from foretell.answers.units import Measured, measure
from foretell.answers.words import amount, level, noted, table
from foretell.counting import counted
from foretell.episodes.columns import ordered
from foretell.episodes.journal import to_table
from foretell.episodes.read import ORDER
from foretell.errors import UsageError
from foretell.notebook import Displayed
from foretell.policy import PolicySpec
from foretell.stats import Interval
from foretell.stats.margin import MARGIN
from foretell.stats.robustness import success_rate
from foretell.study.config import Study, load_study
from foretell.study.open_study import OpenStudy
from foretell.study.run import SLOTS, with_names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Evaluation", "Rate", "evaluate"]

KEPT = 2
"""Studies whose worlds stay open: one to train by, and one to select by."""
_OPEN: OrderedDict[tuple[Any, ...], OpenStudy] = OrderedDict()


@dataclass(frozen=True, kw_only=True)
class Rate:
    """The mean score in one cell of the study."""

    task: str
    clock: str
    arm: str
    mean: Interval


@dataclass(frozen=True, kw_only=True)
class Evaluation(Displayed):
    """How a policy did on a study."""

    mean: Interval
    """Over all: clocks and arms of a scenario are averaged first, and every task counts alike."""
    rates: tuple[Rate, ...]
    """By task, clock and arm."""
    metric: str
    episodes: pa.Table = field(repr=False)
    """The rows, as `foretell.read` gives those of a run folder."""
    seconds: float
    """Wall time."""
    gate: Gate | None = None
    """The decision against `base`, if it was given."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, without the episodes."""
        rates = [{"task": r.task, "clock": r.clock, "arm": r.arm, **r.mean.to_dict()} for r in self.rates]
        made = {"mean": self.mean.to_dict(), "rates": rates, "metric": self.metric, "episodes": len(self.episodes)}
        decision = None if self.gate is None else self.gate.to_dict()
        return {**made, "seconds": self.seconds, "gate": decision, "notes": list(self.notes)}

    def text(self) -> str:
        """A line for each cell, and the decision."""
        rows = [
            [r.task, r.clock, r.arm, *(amount(v, self.metric) for v in (r.mean.estimate, r.mean.low, r.mean.high))]
            for r in self.rates
        ]
        header = ["task", "clock", "arm", self.metric, "low", "high"]
        ends = " to ".join(amount(v, self.metric) for v in (self.mean.low, self.mean.high))
        whole = (
            f"Mean {self.metric} {amount(self.mean.estimate, self.metric)}, {level(self.mean.alpha)} interval {ends}, "
            f"from {counted(len(self.episodes), 'episode')} in {self.seconds:.1f} s."
        )
        decision = [] if self.gate is None else [self.gate.text()]
        return "\n".join([table(header, rows, left=3), whole, *decision, *noted(self.notes)])


class _Function:
    """A policy made of a function: observations -> actions."""

    def __init__(self, act: Callable[[Mapping[str, Any]], Any], spec: PolicySpec):
        self._act, self.spec = act, spec

    def act(self, slots: Any, observations: Mapping[str, Any]) -> Any:
        return self._act(observations)

    def fingerprint(self) -> str:
        return "function"


def evaluate(
    policy: Any,
    study: Study | dict[str, Any] | str | Path,
    *,
    spec: PolicySpec | None = None,
    base: Source | Evaluation | None = None,
    margin: float = MARGIN,
    alpha: float = stats.ALPHA,
    metric: str = "success",
    name: str = "policy",
    slots: int = SLOTS,
) -> Evaluation:
    """Run a policy on a study in this process, and give its mean score with an interval. Writes and prints nothing.

    `policy`: an object with `spec` and `act`, its class, or a function of the observations, for which `spec` says what
    it reads and returns. Policies that the study names are not run. Worlds stay open for the next call with the same
    study, which is then faster (`evaluate.close()` closes them). `base`: a run folder, "RUN:POLICY", a table or an
    earlier evaluation; the answer then has the decision of `foretell.gate` at `margin`. The same scenarios at every
    call make checkpoints comparable; select by other scenarios than those that the report uses.
    """
    began = time.monotonic()
    policy = _as_policy(policy, spec)
    loaded = load_study(with_names(study, {name: policy}) if isinstance(study, dict) else study)
    if slots < 1:
        raise UsageError(f"slots is {slots}, it must be at least 1")
    if base is not None and (len(loaded.clocks) > 1 or [arm.name for arm in loaded.arms] != ["none"]):
        raise UsageError("base: the study has several clocks, or arms; a gate needs one clock and no arms")
    key = (loaded.to_yaml(), _stamp(loaded.world), name, slots)
    opened = _OPEN.pop(key, None) or OpenStudy(loaded, name, slots)
    try:
        rows = list(opened.run(policy))
    except BaseException:  # slots are in the midst of an episode
        opened.close()
        raise
    _OPEN[key] = opened
    while len(_OPEN) > KEPT:
        _OPEN.popitem(last=False)[1].close()
    episodes = ordered(to_table(row.to_dict() for row in rows), ORDER)
    made = open_table(episodes, name, metric=metric)
    made = replace(made, design=opened.design, name=name)
    rates, cells = _rates(made, alpha)
    answer = None
    if base is not None:
        theirs = base.episodes if isinstance(base, Evaluation) else base
        answer = gate(theirs, made, margin=margin, alpha=alpha, metric=metric)
    return Evaluation(
        mean=_overall(cells, alpha),
        rates=rates,
        metric=metric,
        episodes=episodes,
        seconds=time.monotonic() - began,
        gate=answer,
        notes=tuple(dict.fromkeys([*(note for cell in cells for note in cell.notes()), *_errors(rows)])),
    )


def close() -> None:
    """Close the worlds that are kept open."""
    while _OPEN:
        _OPEN.popitem()[1].close()


evaluate.close = close  # type: ignore[attr-defined]
atexit.register(close)


def _as_policy(policy: Any, spec: PolicySpec | None) -> Any:
    if hasattr(policy, "act") or not callable(policy):
        if spec is not None:
            raise UsageError("spec: it is for a function; this policy has an `act` and its own `spec`")
        return policy
    if spec is None:
        raise UsageError("spec: a function needs it: foretell.PolicySpec says what it reads and what it returns")
    return _Function(policy, spec)


def _stamp(world: Any) -> Any:
    """Changes when a world file is edited."""
    return os.stat(world).st_mtime_ns if isinstance(world, (str, Path)) and os.path.isfile(world) else None


def _rates(rows: Table, alpha: float) -> tuple[tuple[Rate, ...], list[Measured]]:
    rates, cells = [], []
    for task in labels(rows, "task"):
        for clock in labels(rows, "clock"):
            for arm in labels(rows, "arm"):
                names = (task, clock, arm)
                keys = zip(*(rows.columns[column] for column in ("task", "clock", "arm")), strict=True)
                mine = [i for i, key in enumerate(keys) if tuple(map(str, key)) == names]
                if mine:
                    cells.append(measure(rows.keep(mine)))
                    scores = cells[-1].units.scores
                    mean = stats.bound(scores, alpha=alpha, design=design_of([rows], None)[0], shuffled=True)
                    rates.append(Rate(task=task, clock=clock, arm=arm, mean=replace(mean, notes=())))
    return tuple(rates), cells


def _overall(cells: list[Measured], alpha: float) -> Interval:
    """Scenarios under several arms and clocks are no independent draws, and enter as their mean."""
    tasks: dict[str, dict[str, list[float]]] = {}
    for cell in cells:
        columns = cell.table.columns
        for unit, score in zip(cell.ids, cell.units.scores, strict=True):
            row = cell.first[unit]
            scenario = str(columns["parent"][row] or columns["base"][row])
            tasks.setdefault(str(columns["task"][row]), {}).setdefault(scenario, []).append(float(score))
    return success_rate([np.array([np.mean(scores) for scores in task.values()]) for task in tasks.values()], alpha)


def _errors(rows: list[Any]) -> list[str]:
    """What policies and worlds complained of."""
    bad = [row for row in rows if row.blame is not None]
    if not bad:
        return []
    return [
        f"{counted(len(bad), 'episode')} ended in an error, first (blame {bad[0].blame}): {str(bad[0].error)[:300]}"
    ]
