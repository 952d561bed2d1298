"""May this candidate replace the base? Not worse by more than a margin, worse by more, or not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from foretell import stats
from foretell.answers.bound import design_of
from foretell.answers.choice import Choice, choose, labels
from foretell.answers.gated import Gated, Margin, gated, over_tasks
from foretell.answers.held_out import leave_out
from foretell.answers.inputs import Source
from foretell.answers.reality import check_roles
from foretell.answers.sides import check_alike, of_task, one_policy, shared_tasks, simulations_of
from foretell.answers.stopped import check_fixed, compared_horizon
from foretell.answers.units import measure
from foretell.answers.weights import other_weights
from foretell.answers.words import ANYTIME, amount, level, noted, plain, sentence, table
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.notebook import Displayed
from foretell.stats.interval import Horizon, check_horizon
from foretell.stats.margin import MARGIN, POWER, Passing

__all__ = ["CODES", "Gate", "gate"]

CODES: dict[Passing, int] = {"pass": 0, "fail": 1, "undecided": 2}
"""Decision -> exit code of `foretell gate`."""


@dataclass(frozen=True, kw_only=True)
class Gate(Displayed):
    """Whether a candidate is not worse than a base by more than a margin."""

    decision: Passing
    margin: float
    alpha: float
    base: dict[str, Any]
    """What was measured of the base: source, policy, world, clock, arm, metric."""
    candidate: dict[str, Any]
    overall: Gated
    """The difference over all tasks, each task alike; with one task that of the task."""
    tasks: tuple[Gated, ...]
    every_task: bool
    """Whether every task had to pass by itself."""
    more: dict[str, Any] | None
    """Where undecided, a forecast of the scenarios still to run, of each task and policy: `as_seen` and `if_equal`."""
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return self.decision == "pass"

    @property
    def exit_code(self) -> int:
        """That of `foretell gate`: 0 pass, 1 fail, 2 undecided."""
        return CODES[self.decision]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "decision": self.decision,
            "exit_code": self.exit_code,
            "margin": self.margin,
            "alpha": self.alpha,
            "difference": self.overall.difference.to_dict(),
            "mean_base": self.overall.mean_base,
            "mean_candidate": self.overall.mean_candidate,
            "every_task": self.every_task,
            "tasks": [task.to_dict() for task in self.tasks],
            "more": self.more,
            "base": self.base,
            "candidate": self.candidate,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The decision first, then its reasons, in plain sentences."""
        parts = [self._decision(), self._numbers()]
        if len(self.tasks) > 1:
            parts.append(self._table())
        parts.append(self._errors())
        if self.more is not None:
            parts.append(self._more())
        if self.overall.difference.anytime:
            parts.append(ANYTIME)
        return "\n".join(parts + noted(self.notes))

    def _decision(self) -> str:
        mine, theirs = (plain(str(side.get("policy", side["source"]))) for side in (self.candidate, self.base))
        if mine == theirs:
            mine, theirs = "the candidate", "the base"
        by = f"by more than {_points(self.margin, self._metric)}"
        worse = [plain(task.task) for task in self.tasks if task.decision == "fail"] if len(self.tasks) > 1 else []
        on = f" on {', '.join(worse)}" if worse else ""
        words = {
            "pass": f"{mine} is not worse than {theirs} {by}",
            "fail": f"{mine} is worse than {theirs} {by}{on}",
            "undecided": f"the trials do not show whether {mine} is worse than {theirs} {by}",
        }
        return f"{self.decision.upper()}: {words[self.decision]}."

    @property
    def _metric(self) -> str:
        return str(self.base["metric"])

    def _numbers(self) -> str:
        interval, metric = self.overall.difference, self._metric
        if len(self.tasks) > 1:
            on = f"over {len(self.tasks)} tasks"
        else:
            task = self.tasks[0]
            scenarios = counted(task.n_candidate, "common scenario")
            on = f"on {scenarios if task.paired else f'{task.n_candidate} and {task.n_base} scenarios'}"
        means = f"{amount(self.overall.mean_candidate, metric)} against {amount(self.overall.mean_base, metric)}"
        return sentence(
            f"{metric} {means} {on}: difference {_signed(interval.estimate, metric)}, {level(interval.alpha)} interval "
            f"{_signed(interval.low, metric)} to {_signed(interval.high, metric)} ({interval.method}, "
            f"{interval.guarantee})"
        )

    def _table(self) -> str:
        metric = self._metric
        rows = []
        for task in self.tasks:
            ends = (task.difference.estimate, task.difference.low, task.difference.high)
            scenarios = str(task.n_candidate) if task.paired else f"{task.n_candidate}, {task.n_base}"
            means = (amount(task.mean_base, metric), amount(task.mean_candidate, metric))
            rows.append([task.task, *means, *(_signed(end, metric) for end in ends), scenarios, task.decision])
        return table(["task", "base", "candidate", "difference", "low", "high", "scenarios", "decision"], rows)

    def _errors(self) -> str:
        """What the decision may get wrong, and how often."""
        most = "at most" if self.overall.difference.guarantee == "finite-sample" else "about"
        half, whole, count = f"{50 * self.alpha:.3g}%", f"{100 * self.alpha:.3g}%", len(self.tasks)
        if count == 1:
            return (
                f"A candidate that is worse by the margin passes with a chance of {most} {half}; one that is not worse "
                f"by more fails with {most} {half}."
            )
        if self.every_task:
            rule = f"It passes if every task passes, and fails if one fails. A wrong pass has a chance of {most} {half}"
        else:
            rule = (
                "It passes if the mean over tasks passes and no task fails, and fails if the mean or a task fails. "
                f"A wrong pass has a chance of {most} {half}"
            )
        return (
            f"{rule}, and a wrong fail {most} {half if self.every_task else whole}: a task fails at the level "
            f"{self.alpha:g}/{count}. Intervals in the table are for each task alone."
        )

    def _more(self) -> str:
        assert self.more is not None
        seen, equal = self.more["as_seen"], self.more["if_equal"]
        each = " of every task" if len(self.tasks) > 1 else ""
        chance = f"with a chance of {self.more['power']:.0%}"
        if equal is None and seen is None:
            return f"More than a million more scenarios{each} would be needed (forecast)."
        parts = []
        if equal is not None:
            parts.append(f"if both are equally good, {_scenarios(equal)}{each} for each policy will pass {chance}")
        if seen is not None:
            parts.append(f"if the difference is as seen, {_scenarios(seen)} will decide")
        else:
            parts.append("if the difference is as seen, more than a million would be needed")
        return sentence("; ".join(parts) + " (forecast)")


def _points(value: float, metric: str) -> str:
    return f"{100 * value:.3g} points" if metric == "success" else f"{value:.3g}"


def _signed(value: float | None, metric: str) -> str:
    if value is None:
        return "-"
    return f"{100 * value:+.1f}" if metric == "success" else f"{value:+.3f}"


def _scenarios(count: int) -> str:
    return f"about {count} more {'scenario' if count == 1 else 'scenarios'}"


def gate(
    base: Source,
    candidate: Source,
    *,
    margin: float = MARGIN,
    alpha: float = stats.ALPHA,
    metric: str | None = None,
    task: str | Sequence[str] = (),
    clock: str | None = None,
    arm: str | None = None,
    sim: Source | Sequence[Source] = (),
    every_task: bool = False,
    unpaired: bool = False,
    horizon: Horizon = None,
    power: float = POWER,
    stand_in: bool = False,
) -> Gate:
    """Decide whether a candidate is not worse than a base by more than `margin`: `pass`, `fail` or `undecided`.

    Both are run folders, files or tables of one policy, or "RUN:POLICY". Scenarios that both have are compared one to
    one. Every task of the base must be there. With several tasks the mean over tasks, each alike, decides, and a task
    that is shown to be worse by more than the margin fails the candidate; with `every_task` each has to pass.

    horizon: for whoever looks more than once: the number of scenarios of each task planned before the first look, or
    "open". Rows must then stand as run. `sim`: simulations of both policies as control: a source with both, or two, of
    the base and of the candidate. Choose it before looking. `power`: of the forecast of how many more are needed.
    """
    _check(margin, alpha, power)
    horizon = _horizon(horizon)
    sides = [one_policy(source, what, metric) for source, what in ((base, "base"), (candidate, "candidate"))]
    sims = simulations_of(sim, sides, metric)
    if sims and horizon is not None:
        raise UsageError("sim: with a horizon simulation is no control: leave sim or horizon out")
    chosen, notes = choose([*sides, *sims], Choice(None, None, clock, arm), ("clock", "arm"))
    sides, sims = chosen[:2], chosen[2:]
    for real, simulation in zip(sides, sims, strict=False):
        notes += check_roles(real, simulation, stand_in)
        notes += [note for name in labels(real, "policy") for note in other_weights(name, real, simulation)]
    check_fixed(sims)
    horizon, more_notes = compared_horizon(sides, horizon, "auto")
    if sims and horizon is not None:
        raise UsageError(
            "sim: a run stopped by a rule or is not complete, and then simulation is no control: leave sim out"
        )
    tasks, left = shared_tasks(sides, [task] if isinstance(task, str) else list(task))
    notes += [*more_notes, *left]
    asked = Margin(margin=margin, alpha=alpha, tasks=len(tasks), horizon=horizon, unpaired=unpaired)
    entries, about = [], []
    for name in tasks:
        rows = [of_task(side, name) for side in sides]
        notes += check_alike(rows)
        pair = [measure(side) if horizon is None else measure(side).as_run() for side in rows]
        controls = [measure(of_task(side, name), whole=True) for side in sims]
        if seen := frozenset(unit for scores in controls for unit in scores.fitted):
            kept, omitted = leave_out(dict(zip(("base", "candidate"), pair, strict=True)), controls, seen)
            pair, controls = list(kept.values()), [scores.without(seen) for scores in controls]
            notes += omitted
        notes += [note for scores in (*pair, *controls) for note in scores.notes()]
        about = [scores.about() for scores in pair]
        entries.append(gated(name, pair[0], pair[1], controls, asked))
    overall = over_tasks(entries)
    notes += [note for entry in entries for note in entry.notes]
    design, _ = design_of(sides, None)
    if design != "iid":
        why = f"scenarios are {design}, not drawn at random: the decision holds for these scenarios only"
        notes.append(why)
        entries = [replace(e, difference=replace(e.difference, guarantee="asymptotic", reason=why)) for e in entries]
        overall = replace(overall, difference=replace(overall.difference, guarantee="asymptotic", reason=why))
    decision = _decided(overall, entries, every_task)
    for side in about:
        for name in ("rows", "scenarios", "left_out", "task"):
            side.pop(name, None)
    return Gate(
        decision=decision,
        margin=margin,
        alpha=alpha,
        base=about[0],
        candidate=about[1],
        overall=overall,
        tasks=tuple(entries),
        every_task=every_task,
        more=_more(overall, entries, every_task, power) if decision == "undecided" else None,
        notes=tuple(dict.fromkeys(notes)),
    )


def _check(margin: float, alpha: float, power: float) -> None:
    """Refuse options that make no sense, before any file is read."""
    if not 0.0 <= margin < 1.0:
        raise UsageError(f"margin is {margin:g}, it should be from 0 to below 1: 0.05 is 5 points of success")
    if not 0.0 < alpha < 1.0 or not 0.0 < power < 1.0:
        raise UsageError(f"alpha and power must lie between 0 and 1, got {alpha:g} and {power:g}")


def _horizon(horizon: Horizon) -> Horizon:
    try:
        return check_horizon(horizon)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _decided(overall: Gated, tasks: Sequence[Gated], every_task: bool) -> Passing:
    failed = any(task.decision == "fail" for task in tasks)
    if every_task:
        return "fail" if failed else "pass" if all(task.decision == "pass" for task in tasks) else "undecided"
    if failed or overall.decision == "fail":
        return "fail"
    return overall.decision


def _more(overall: Gated, tasks: Sequence[Gated], every_task: bool, power: float) -> dict[str, Any]:
    """Scenarios that are still needed of each task and policy: the most of what is undecided."""
    waiting = [task for task in tasks if task.decision == "undecided"] if every_task else [overall]
    answer: dict[str, Any] = {"power": power}
    for name in ("as_seen", "if_equal"):
        needs = [part.needs(name, power) for part in waiting]
        answer[name] = None if None in needs else max(need for need in needs if need is not None)
    return answer
