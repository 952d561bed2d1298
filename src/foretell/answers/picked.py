"""What it costs to pick a policy by simulation: the decision of a scoreboard, or of several tasks, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foretell import stats
from foretell.answers.scoreboard import Scoreboard
from foretell.answers.words import level, listed, plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import Decision, Interval
from foretell.stats.projection import equivalent

__all__ = ["Picked", "amount", "over_tasks", "picked"]

TOP = 3
"""Size of the short list where none is asked for and there are more policies; else all but one."""
STRATA = "every task counts alike, and its trials are drawn apart from those of other tasks"
SHOWN = {
    "yes": "it is shown to be truly the best",
    "no": "it is shown not to be the best",
    "open": "the trials leave open whether it is truly the best",
}
HOLDS = {
    "yes": "the list is shown to hold the truly best policy",
    "no": "the list is shown to miss the truly best policy",
    "open": "the trials leave open whether the list holds the truly best policy",
}


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The decision of one scoreboard."""

    decision: Decision
    policies: tuple[str, ...]
    real: tuple[float, ...]
    """Mean of each policy in the real trials."""
    without_task: dict[str, Picked] = field(default_factory=dict)
    """Left-out task -> the decision over the others; empty where there are fewer than two tasks."""

    @property
    def points(self) -> bool:
        """Whether means are shares, so that differences are points."""
        return min(self.real) >= 0.0 and max(self.real) <= 1.0

    def names(self, policies: Iterable[int]) -> list[str]:
        """Names of the policies with these numbers."""
        return [plain(self.policies[i]) for i in policies]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        made = self.decision
        row = {
            "pick": self._raw(made.picks),
            "real_best": self._raw(made.winners),
            "agrees": made.agrees,
            "shown": made.shown,
            "regret": _interval(made.regret)
            | {"leave_one_out": {p: _interval(each) for p, each in zip(self.policies, made.without, strict=False)}},
            "top": [
                {"k": short.k, "members": self._raw(short.members), "pick": self._raw(short.picks)}
                | {"has_real_best": short.has_best, "shown": short.shown, "regret": _interval(short.regret)}
                for short in made.shortlists
            ],
            "may_be_best": {
                "real": None if made.maybe_best is None else self._raw(made.maybe_best),
                "sim": None if made.maybe_best_sim is None else self._raw(made.maybe_best_sim),
            },
            "claim": {
                "reach": made.claim.reach,
                "p_value": made.claim.p_value,
                "counted": made.claim.counted,
                "missing": made.claim.missing,
            },
        }
        if self.without_task:
            row["leave_one_task_out"] = {
                task: {"pick": other._raw(other.decision.picks), "regret": _interval(other.decision.regret)}
                for task, other in self.without_task.items()
            }
        return row

    def _raw(self, policies: Iterable[int]) -> list[str]:
        return [self.policies[i] for i in policies]

    def sentences(self) -> list[str]:
        """The decision, what it may cost, and how far the claim reaches: five lines."""
        made = self.decision
        lines = [self.line(), *(self._listed(k) for k in range(len(made.shortlists)) if made.shortlists[k].k > 1)]
        if made.maybe_best is not None:
            sim = "" if made.maybe_best_sim is None else f"; in simulation: {listed(self.names(made.maybe_best_sim))}"
            lines.append(f"May be truly the best in reality: {listed(self.names(made.maybe_best))}{sim}.")
        return [*lines, *self.left_out()]

    def left_out(self) -> list[str]:
        """What changes without one policy, or without one task; and how far the claim reaches."""
        lines = []
        if self.decision.without:
            lines.append(f"Without one policy the regret is {self._span(self.decision.without)}.")
        if self.without_task:
            lines.append(self._tasks())
        return [*lines, self.claim()]

    def _span(self, regrets: Sequence[Interval]) -> str:
        """From the least to the largest, and how far their intervals reach."""
        values = [regret.estimate for regret in regrets]
        ends = dict.fromkeys(amount(value, self.points, plain=True) for value in (min(values), max(values)))
        lows, highs = ([getattr(regret, side) for regret in regrets] for side in ("low", "high"))
        text = f"{' to '.join(ends)}{' points' if self.points else ''}"
        if None in lows or None in highs:
            return text
        low, high = (amount(value, self.points, plain=True) for value in (min(lows), max(highs)))
        return f"{text}; its intervals reach from {low} to {high}"

    def line(self) -> str:
        """The pick and its regret."""
        made = self.decision
        pick = listed(self.names(made.picks))
        rate = self._rate(made.picks)
        tie = " (they tie; at random)" if len(made.picks) > 1 else ""
        if made.agrees:
            also = f"{rate} in the real trials, the best there"
        else:
            also = f"{rate} in the real trials, where {listed(self.names(made.winners))} had {self._rate(made.winners)}"
        shown = f"; {SHOWN[made.shown]}" if made.maybe_best is not None and len(made.picks) == 1 else ""
        return f"Pick by simulation: {pick}{tie}, {also}. Regret {self._ends(made.regret)}{shown}."

    def _rate(self, policies: Sequence[int]) -> str:
        mean = float(np.mean([self.real[i] for i in policies]))
        return f"{mean:.1%}" if self.points else f"{mean:.3f}"

    def _ends(self, interval: Interval, brief: bool = False) -> str:
        value = amount(interval.estimate, self.points)
        if interval.low is None or interval.high is None:
            return value if brief else f"{value} (no interval: {interval.reason})"
        ends = f"{amount(interval.low, self.points, plain=True)} to {amount(interval.high, self.points, plain=True)}"
        return (
            f"{value} ({ends})" if brief else f"{value} ({level(interval.alpha)} interval {ends}, {interval.guarantee})"
        )

    def _listed(self, index: int) -> str:
        short = self.decision.shortlists[index]
        pick, members = listed(self.names(short.picks)), listed(self.names(short.members))
        holds = f"; {HOLDS[short.shown]}" if self.decision.maybe_best is not None else ""
        regret = self._ends(short.regret, brief=True)
        return f"Best of simulation's top {short.k} ({members}) in the real trials: {pick}, regret {regret}{holds}."

    def _tasks(self) -> str:
        others = {task: self.names(other.decision.picks) for task, other in self.without_task.items()}
        moved = [f"{listed(names)} without {plain(task)}" for task, names in others.items()
                 if set(names) != set(self.names(self.decision.picks))]  # fmt: skip
        lost = [other.decision.regret for other in self.without_task.values()]
        pick = f"the pick changes to {listed(moved)}" if moved else "the pick stays"
        return f"Without one task {pick}; the regret is {self._span(lost)}."

    def claim(self) -> str:
        """How far the claim reaches, and what the next level needs."""
        made = self.decision.claim
        why = ""
        if made.reach == "the next policy from the same family":
            of = "policy", "policies"
            apart = "independent policies, not checkpoints"
            if made.counted < len(self.policies):
                of, apart = ("training run", ""), "independent runs"
            why = f" (chance orders {counted(made.counted, *of)} so well with p = {made.p_value:.2g}; {apart})"
        missing = f" The next level needs {made.missing}." if made.missing else ""
        return f"Claim level: {made.reach}{why}.{missing}"


def amount(value: float, points: bool, plain: bool = False) -> str:
    """A difference of real means: of shares in points."""
    if not points:
        return f"{value:.3f}"
    return f"{100.0 * value:.1f}" if plain else f"{100.0 * value:.1f} points"


def _interval(interval: Interval) -> dict[str, Any]:
    row: dict[str, Any] = {"value": interval.estimate, "low": interval.low, "high": interval.high}
    row |= {"alpha": interval.alpha, "method": interval.method, "guarantee": interval.guarantee}
    return row if interval.reason is None else {**row, "reason": interval.reason}


def picked(board: Scoreboard, *, top: int | None, alpha: float, seed: int) -> Picked:
    """The decision of one scoreboard; top: size of the short list, None: three, or all but one of fewer."""
    size = len(board.policies)
    if top is not None and not 1 <= top <= size:
        raise UsageError(f"top is {top}, but {counted(size, 'policy is', 'policies are')} compared: give 1 to {size}")
    given: dict[str, Any] = {"n_real": board.n_real, "n_sim": board.n_sim}
    if board.real_outcomes is not None:
        given = {"real_outcomes": board.real_outcomes, "sim_outcomes": board.sim_outcomes, "same": board.same}
    given["runs"] = board.runs
    decision = stats.decide(
        board.real, board.sim, **given, top=(min(TOP, size - 1) if top is None else top,), alpha=alpha, seed=seed
    )
    return Picked(decision=decision, policies=board.policies, real=tuple(map(float, board.real)))


def over_tasks(boards: dict[str, Scoreboard], *, top: int | None, alpha: float, seed: int) -> Picked | None:
    """The decision by means over tasks, of the policies that all tasks have, and the same without each task; None where
    fewer than two policies are in all of them."""
    shared = [p for p in next(iter(boards.values())).policies if all(p in board.policies for board in boards.values())]
    if len(shared) < 2:
        return None
    if top is not None and top > len(shared):
        count = counted(len(shared), "policy is", "policies are")
        raise UsageError(f"top is {top}, but {count} in every task: give 1 to {len(shared)}")
    options: dict[str, Any] = {"top": top, "alpha": alpha, "seed": seed}
    every = [_only(board, shared) for board in boards.values()]
    whole = _apart(picked(_pooled(every), **options))
    rest = {
        task: _apart(picked(_pooled([b for k, b in enumerate(every) if k != i]), **options))
        for i, task in enumerate(boards)
        if len(every) > 1
    }
    return replace(whole, without_task=rest)


def _apart(answer: Picked) -> Picked:
    """The answer with the label of means over tasks: bounds that are exact for draws from one distribution."""

    def relabelled(interval: Interval) -> Interval:
        return replace(interval, guarantee="asymptotic", assumes=(*interval.assumes, STRATA))

    made = answer.decision
    lists = tuple(replace(short, regret=relabelled(short.regret)) for short in made.shortlists)
    without = tuple(map(relabelled, made.without))
    return replace(answer, decision=replace(made, regret=relabelled(made.regret), shortlists=lists, without=without))


def _only(board: Scoreboard, policies: Sequence[str]) -> Scoreboard:
    rows = [board.policies.index(policy) for policy in policies]

    def some(values: Any) -> Any:
        if values is None:
            return None
        return tuple(values[i] for i in rows) if isinstance(values, tuple) else np.asarray(values)[rows]

    names = ("real", "sim", "n_real", "n_sim", "real_outcomes", "sim_outcomes", "runs")
    return replace(board, policies=tuple(policies), **{name: some(getattr(board, name)) for name in names})


def _pooled(boards: Sequence[Scoreboard]) -> Scoreboard:
    """Means over tasks, and the trials behind them. Scores are put together where all tasks have as many; else the
    trials count as so many successes as vary as much as the mean over tasks does."""
    real, sim = (np.mean([getattr(b, side) for b in boards], axis=0) for side in ("real", "sim"))
    sizes = {x.size for b in boards for x in b.real_outcomes or ()}
    if all(b.real_outcomes is not None and b.sim_outcomes is not None for b in boards) and len(sizes) == 1:
        joined: dict[str, Any] = {
            name: tuple(np.concatenate(parts) for parts in zip(*(getattr(b, name) for b in boards), strict=True))
            for name in ("real_outcomes", "sim_outcomes")
        }
        same = all(board.same for board in boards)
        return Scoreboard(policies=boards[0].policies, real=real, sim=sim, same=same, runs=boards[0].runs, **joined)
    n_real, n_sim = (_trials(boards, side) for side in ("real", "sim"))
    first = boards[0]
    return Scoreboard(policies=first.policies, real=real, sim=sim, n_real=n_real, n_sim=n_sim, runs=first.runs)


def _trials(boards: Sequence[Scoreboard], side: str) -> Any:
    """Successes of how many trials vary as a mean over tasks does; None where that is unknown."""
    error, mean, least = (np.zeros(len(boards[0].policies)) for _ in range(3))
    for board in boards:
        scores, n = getattr(board, f"{side}_outcomes"), getattr(board, f"n_{side}")
        if scores is not None and all(x.min() >= 0.0 and x.max() <= 1.0 for x in scores):
            k, n = equivalent(scores)
        elif scores is None and n is not None:
            k = getattr(board, side) * n
        else:
            return None
        error = error + (k + 1.0) * (n - k + 1.0) / (n + 2.0) ** 2 / n
        mean, least = mean + (k + 1.0) / (n + 2.0), least + 1.0 / n
    tasks = len(boards)
    mean = mean / tasks
    return np.minimum(tasks**2 / least, mean * (1.0 - mean) * tasks**2 / error)
