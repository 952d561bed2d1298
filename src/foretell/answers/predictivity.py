"""Does the simulator rank policies as reality does? What picking by it costs, and every metric with an interval."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from foretell import stats
from foretell.answers.choice import Choice
from foretell.answers.held_out import as_evidence
from foretell.answers.inputs import Source, open_table
from foretell.answers.picked import Picked, over_tasks, picked
from foretell.answers.scoreboard import Scoreboard, against_clean, arms_of, from_rates, from_trials
from foretell.answers.words import level, noted, plain, table
from foretell.counting import counted
from foretell.errors import UsageError, suggest
from foretell.notebook import Displayed
from foretell.stats import Interval
from foretell.stats.agreement import Gap, Metric, metrics_of

__all__ = ["EACH", "Predictivity", "charged", "pairs_told", "predictivity"]

MEAN = "mean"
DECISION = "decision"
EACH = "each"
"""The word that asks for every arm of sim in turn."""
Metrics = dict[str, Interval]


@dataclass(frozen=True, kw_only=True)
class Predictivity(Displayed):
    """Metrics of each task, and their mean over tasks where there are several."""

    metrics: dict[str, Metrics]
    """Task -> metric -> value with interval; the one task is named "" where tasks are not told apart."""
    mean: Metrics | None
    """Each metric's mean over tasks; None where tasks are not told apart."""
    scoreboards: dict[str, Scoreboard]
    notes: tuple[str, ...]
    decisions: dict[str, Picked] = field(default_factory=dict)
    """Task -> what picking by simulation costs there."""
    overall: Picked | None = None
    """The same by means over tasks; None where tasks are not told apart, or share fewer than two policies."""
    gap: Gap = "real"
    """The side on which `mmrv` measures what a wrong order costs."""
    arms: Mapping[str, Predictivity] = field(default_factory=dict)
    """Where each arm of sim was asked for: arm or aggregate -> its answer. The other fields are those of the first."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form: `decision`, and metric -> {value, low, high, ...}; or task -> that, and `mean`; or arm -> all
        that."""
        if self.arms:
            return {arm: answer.to_dict() for arm, answer in self.arms.items()}
        made = {
            task: {DECISION: self.decisions[task].to_dict()} | self._metrics(metrics, self.scoreboards[task], self.gap)
            for task, metrics in self.metrics.items()
        }
        if self.mean is None:
            return made[""]
        overall = {DECISION: None if self.overall is None else self.overall.to_dict()}
        return {**made, MEAN: overall | self._metrics(self.mean, None, self.gap)}

    @staticmethod
    def _metrics(metrics: Metrics, board: Scoreboard | None, gap: Gap) -> dict[str, Any]:
        rows = {}
        for name, interval in metrics.items():
            row: dict[str, Any] = {"value": _finite(interval.estimate), "low": interval.low, "high": interval.high}
            row |= {"alpha": interval.alpha, "method": interval.method, "n": interval.n}
            if name == "mmrv":
                row["gap"] = gap
            if interval.reason is not None:
                row["reason"] = interval.reason
            if board is not None and "leave_one_out" in interval.diagnostics:
                without = map(_finite, interval.diagnostics["leave_one_out"])
                row["leave_one_out"] = dict(zip(board.policies, without, strict=True))
            if "leave_one_task_out" in interval.diagnostics:
                without = interval.diagnostics["leave_one_task_out"]
                row["leave_one_task_out"] = {task: _finite(value) for task, value in without.items()}
            if name == "success_gap" and board is not None:
                row["policies"] = board.apart()
            if name == "pairwise_accuracy" and board is not None:
                row["pairs"] = dict(zip(("same_order", "counted"), board.pairs(), strict=True))
            rows[name] = row
        return rows

    def text(self) -> str:
        """The decision first, then a small table for each task, and what one policy alone can change; or one line for
        each arm."""
        if self.arms:
            return _by_arm(self.arms)
        some = next(iter(next(iter(self.metrics.values())).values()))
        parts = [] if self.mean is None else self._over_tasks()
        for task, of_task in self.metrics.items():
            board = self.scoreboards[task]
            head = f"task {plain(task)}, " if task else ""
            parts.append(
                f"{head}{counted(len(board.policies), 'policy', 'policies')}: {', '.join(map(plain, board.policies))}"
            )
            parts += [self.decisions[task].line()] if self.mean is not None else self.decisions[task].sentences()
            parts.append(_table(of_task, board, self.gap))
            unlike = [p for p, row in board.apart().items() if row.get("kruskal_wallis_p", 1.0) <= some.alpha]
            if unlike:
                parts.append(f"Real and sim outcomes differ (Kruskal-Wallis): {', '.join(map(plain, unlike))}")
        if self.mean is not None:
            parts += [f"mean over {counted(len(self.metrics), 'task')}", _table(self.mean, None, self.gap)]
        metrics = [*self.metrics.values(), *([self.mean] if self.mean else [])]
        lacks = [interval for of_task in metrics for interval in of_task.values() if interval.reason]
        reasons = dict.fromkeys(
            f"{'interval' if math.isfinite(interval.estimate) else 'value'}: {interval.reason}" for interval in lacks
        )
        if any(interval.low is not None for of_task in metrics for interval in of_task.values()):
            parts.append(f"Intervals: {some.assumes[0]}; asymptotic.")
        parts += [f"no {reason}" for reason in reasons]
        return "\n".join(parts + noted(self.notes))

    def _over_tasks(self) -> list[str]:
        if self.overall is None:
            return ["Tasks share fewer than two policies: there is no pick over all of them."]
        tasks = counted(len(self.metrics), "task")
        return [f"over {tasks}, each counting alike", *self.overall.sentences()]


SHORT = ("mmrv", "pearson", "success_gap")
"""Metrics of a line."""


def _by_arm(arms: Mapping[str, Predictivity]) -> str:
    first = next(iter(arms.values()))
    board = next(iter(first.scoreboards.values()))
    rows = [
        [arm, *(_briefly((answer.mean or next(iter(answer.metrics.values())))[name]) for name in SHORT)]
        for arm, answer in arms.items()
    ]
    alpha = next(iter(next(iter(first.metrics.values())).values())).alpha
    tasks = f", mean over {counted(len(first.metrics), 'task')}" if first.mean is not None else ""
    apart = [note for answer in arms.values() for note in answer.notes if not note.startswith("arm: ")]
    return "\n".join(
        [
            f"{counted(len(board.policies), 'policy', 'policies')}{tasks}: {', '.join(map(plain, board.policies))}",
            table(["arm", *(_called(name, first.gap) for name in SHORT)], rows),
            f"{level(alpha)} intervals. Each arm is compared with real trials without perturbation.",
            *noted(dict.fromkeys(apart)),
        ]
    )


def _briefly(interval: Interval) -> str:
    if math.isnan(interval.estimate):
        return "-"
    ends = "" if interval.low is None or interval.high is None else f" ({interval.low:.3f} to {interval.high:.3f})"
    return f"{interval.estimate:.3f}{ends}"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _called(metric: str, gap: Gap) -> str:
    return f"{metric}, gap in sim" if metric == "mmrv" and gap == "sim" else metric


def _table(metrics: Metrics, board: Scoreboard | None, gap: Gap) -> str:
    rows = []
    for name, interval in metrics.items():
        ends = "-" if interval.low is None or interval.high is None else f"{interval.low:.3f} to {interval.high:.3f}"
        left_out = interval.diagnostics.get("leave_one_out", ())
        left_out = left_out if board is not None else interval.diagnostics.get("leave_one_task_out", {}).values()
        without = [v for v in left_out if math.isfinite(v)]
        apart = f"{min(without):.3f} to {max(without):.3f}" if without else "-"
        value = "-" if math.isnan(interval.estimate) else f"{interval.estimate:.3f}"
        if name == "pairwise_accuracy" and board is not None and board.pairs()[1] == 1:
            value = pairs_told(*board.pairs())  # one pair is no percentage
        rows.append([_called(name, gap), value, ends, apart])
    alpha = next(iter(metrics.values())).alpha
    header = ["metric", "value", f"{level(alpha)} interval", "without one policy" if board else "without one task"]
    return table(header, rows)


def pairs_told(same: int, compared: int) -> str:
    """How many pairs of policies sim orders as real does: 1 of 1 pair."""
    return f"{same} of {counted(compared, 'pair')}"


def predictivity(
    table: Source | None = None,
    *,
    real: Source | None = None,
    sim: Source | None = None,
    fitted: bool = False,
    proxy: str | None = None,
    lower_is_better: bool = False,
    over: Literal["trials", "policies"] | None = None,
    alpha: float = stats.ALPHA,
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    stand_in: bool = False,
    top: int | None = None,
    gap: Gap = "real",
    seed: int = 0,
) -> Predictivity:
    """How well simulation ranks policies: from a table of rates, or from real and sim run folders or trial files.

    `fitted`: real trials that the simulator was fitted to count as evidence, and the notes say so.
    `proxy` names another column (in run folders: metric) to stand for sim, `lower_is_better` turns it round.
    `over`: what is uncertain, trials of the policies given or the choice of policies; default trials where their
    numbers are known, else policies. `stand_in`: a simulated world plays reality in `real`.
    `top`: size of the short list of simulation's best policies, of which real trials choose; default three.
    `gap`: `mmrv` charges a wrong order with the difference of real success, as SIMPLER does, or of simulated success.
    `arm`: one that both have. `aggregate` and `arm_colours` are the mean over these arms of sim, and `each` is every
    arm of sim in turn; these are compared with real trials without perturbation.
    """
    options: dict[str, Any]
    if (table is None) == (real is None and sim is None) or (real is None) != (sim is None):
        raise UsageError("give a table of policies, or real and sim (two run folders or trial files), not both")
    asked_metrics = _charging(gap)
    sim = as_evidence(sim, proxy or metric, fitted)
    if arm == EACH and table is None:
        options = {"proxy": proxy, "lower_is_better": lower_is_better, "over": over, "alpha": alpha, "task": task}
        options |= {"clock": clock, "metric": metric, "stand_in": stand_in, "top": top, "gap": gap, "seed": seed}
        return _each_arm(real, sim, options)
    if table is not None:
        boards, several, notes = from_rates(table, proxy)
    else:
        boards, several, notes = from_trials(real, sim, Choice(task, None, clock, arm), metric, proxy, stand_in)
    if several and MEAN in boards:
        raise UsageError(f"a task is named {MEAN!r}, which is what the mean over tasks is called: rename it")
    if table is not None and task is not None:
        if task not in boards:
            raise UsageError(f"task {plain(task)!r} is not in the table; it has {', '.join(map(plain, boards))}")
        boards, several = {task: boards[task]}, False
    if not several:
        boards = {"": next(iter(boards.values()))}
    if lower_is_better:
        boards = {name: board.negated() for name, board in boards.items()}
    if proxy is not None:
        notes = [*notes, "success_gap compares numbers as they are: it has no meaning if the proxy is on another scale"]
    options = {"over": over, "alpha": alpha, "seed": seed, "metrics": asked_metrics}
    if any(board.n_real is not None and board.n_sim is None for board in boards.values()) and over != "policies":
        notes = [*notes, "sim counts as exactly known: its number of trials is not given"]
    try:
        metrics = {name: _all(board, options) for name, board in boards.items()}
        mean = _mean(boards, metrics, options) if several else None
        asked: dict[str, Any] = {"top": top, "alpha": alpha, "seed": seed}
        decisions = {name: picked(board, **(asked | _least(top, board, several))) for name, board in boards.items()}
        overall = over_tasks(boards, **asked) if several else None
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Predictivity(
        metrics=metrics,
        mean=mean,
        scoreboards=boards,
        notes=tuple(notes),
        decisions=decisions,
        overall=overall,
        gap=gap,
    )


def _charging(gap: Gap) -> dict[str, Metric]:
    if gap not in get_args(Gap):
        raise UsageError(f"gap {gap!r:.80} is not known; {suggest(str(gap), get_args(Gap))}")
    return metrics_of(gap)


def charged(answer: Predictivity, gap: Gap) -> dict[str, Interval]:
    """`mmrv` of the tasks of an answer, and `mean` where there are several, with the gap on this side."""
    options: dict[str, Any] = {"over": None, "metrics": {"mmrv": metrics_of(gap)["mmrv"]}}
    options["alpha"] = next(iter(next(iter(answer.metrics.values())).values())).alpha
    each = {name: _all(board, options) for name, board in answer.scoreboards.items()}
    made = {name: mine["mmrv"] for name, mine in each.items()}
    return made if answer.mean is None else made | {MEAN: _mean(answer.scoreboards, each, options)["mmrv"]}


def _least(top: int | None, board: Scoreboard, several: bool) -> dict[str, int]:
    """A task with fewer policies than the short list asked for over all tasks lists all of them."""
    return {"top": len(board.policies)} if several and top is not None and top > len(board.policies) else {}


def _each_arm(real: Source, sim: Source, options: dict[str, Any]) -> Predictivity:
    """The answer for every arm of sim, and every aggregate of which it has all arms."""
    tried = open_table(real, "real", metric=options["metric"])
    simulated = open_table(sim, "sim", metric=options["proxy"] or options["metric"])
    every = {}
    for name in arms_of(simulated):
        pair = against_clean(tried, simulated, name)
        every[name] = predictivity(real=pair[0], sim=pair[1], **options)
    if not every:
        raise UsageError(f"{simulated.name} has no column 'arm': leave --arm {EACH} out")
    return replace(next(iter(every.values())), arms=every)


def _known(board: Scoreboard) -> dict[str, Any]:
    if board.real_outcomes is not None:
        return {"real_outcomes": board.real_outcomes, "sim_outcomes": board.sim_outcomes}
    return {"n_real": board.n_real, "n_sim": board.n_sim}


def _all(board: Scoreboard, options: dict[str, Any]) -> Metrics:
    return stats.all_metrics(board.real, board.sim, **_known(board), **options)


def _mean(boards: dict[str, Scoreboard], metrics: dict[str, Metrics], options: dict[str, Any]) -> Metrics:
    """Mean of each metric over tasks. Rates of all tasks are bounded at once; policies cannot be redrawn so."""
    every = list(boards.values())
    ends = np.cumsum([len(b.policies) for b in every])[:-1]
    bounded = options["over"] != "policies" and all(b.n_real is not None for b in every)
    sizes = [len(b.policies) for b in every]
    made = {}
    asked: dict[str, Metric] = options["metrics"]
    for name, metric in asked.items():
        value = float(np.mean([mine[name].estimate for mine in metrics.values()]))
        template = next(iter(metrics.values()))[name]
        blank = replace(template, estimate=value, low=None, high=None, n=len(boards), diagnostics={})
        if len(boards) > 1:
            each = {task: mine[name].estimate for task, mine in metrics.items()}
            without = {task: float(np.mean([v for t, v in each.items() if t != task])) for task in each}
            blank = replace(blank, diagnostics={"leave_one_task_out": without})
        undefined = {task: mine[name].reason for task, mine in metrics.items() if math.isnan(mine[name].estimate)}
        if undefined:
            task, why = next(iter(undefined.items()))
            made[name] = replace(blank, reason=f"no value in task {plain(task)!r}: {why}")
        elif not bounded:
            made[name] = replace(blank, reason="an interval of the mean needs the number of real trials (n_real)")
        else:
            whole = _joined(every)
            given = {**_known(whole), **{k: v for k, v in options.items() if k != "metrics"}, "tasks": sizes}
            made[name] = stats.with_interval(_averaged(metric, ends), whole.real, whole.sim, **given)
            made[name] = replace(made[name], n=len(boards), diagnostics=blank.diagnostics)
    return made


def _averaged(metric: Callable[..., Any], ends: Any) -> Callable[..., Any]:
    """The metric's mean over tasks laid side by side on the last axis."""

    @functools.wraps(metric)
    def mean(real: Any, sim: Any) -> Any:
        parts = zip(np.split(real, ends, axis=-1), np.split(sim, ends, axis=-1), strict=True)
        return np.mean([metric(a, b) for a, b in parts], axis=0)

    return mean


def _joined(boards: list[Scoreboard]) -> Scoreboard:
    def side(name: str) -> Any:
        parts = [getattr(b, name) for b in boards]
        return None if any(p is None for p in parts) else np.concatenate(parts)

    def outcomes(name: str) -> Any:
        parts = [getattr(b, name) for b in boards]
        return None if any(p is None for p in parts) else tuple(scores for part in parts for scores in part)

    rates = {name: side(name) for name in ("real", "sim", "n_real", "n_sim")}
    return Scoreboard(policies=(), **rates, **{name: outcomes(name) for name in ("real_outcomes", "sim_outcomes")})
