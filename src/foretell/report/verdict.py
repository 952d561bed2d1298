"""The verdict: which policy to use on which task, or how many more trials would decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from foretell.answers.budget import Budget, budget
from foretell.answers.compare import Compared
from foretell.answers.versus import Versus
from foretell.answers.words import listed
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.report.groups import RowGroup, chosen, first_groups
from foretell.report.runs import Runs
from foretell.report.section import Block, Section, Words
from foretell.stats import ALPHA, Interval

__all__ = ["MECHANISM", "POWER", "more_trials", "section"]

POWER = 0.8
"""Chance of telling two policies apart that a forecast of trials aims at."""
EFFECT = 0.1
"""Difference that is planned for where two policies are level."""
MECHANISM = "The stand-in plays reality: it shows the mechanism, not evidence about robots."


def section(runs: Runs) -> Section | None:
    """A recommendation for every world and task, or what is missing for one."""
    every = first_groups(runs)
    shown = [g for g in every if g.rates or g.missing]
    shown.sort(key=lambda g: len(g.policies) < 2)  # choices first
    if not shown:
        return None
    blocks: list[Block] = []
    winners: dict[str, list[str]] = {}
    for group in shown:
        where = group.within(every)
        best, words = _verdict(group, where, shown)
        blocks.append(words)
        if len(group.policies) > 1:
            winners.setdefault(best or "", []).append(where)
    return Section("verdict", "Verdict", _says(winners, shown), [*blocks, *_caveats(runs, shown)])


def _says(winners: dict[str, list[str]], every: Sequence[RowGroup]) -> str:
    """The headline: who is recommended where."""
    open_ = winners.get("", [])
    named = [f"{best} on {listed(tasks)}" for best, tasks in winners.items() if best]
    if not winners:
        if len({policy for group in every for policy in group.policies}) == 1:
            return "There is only one policy, so there is no choice to make. Its success is below."
        return (
            "No two policies ran under the same conditions, so there is no choice to make. The success of each is "
            "below."
        )
    if not named:
        where = f" on {open_[0]}" if len(every) > 1 else ""
        return f"No policy is shown to be the best{' on any task' if len(open_) > 1 else where} yet."
    rest = f"; on {listed(open_)} none is shown to be the best" if open_ else ""
    return f"Recommended: {'; '.join(named)}{rest}."


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def _rate(interval: Interval) -> str:
    return f"{_percent(interval.estimate)} ({_percent(interval.low or 0.0)} to {_percent(interval.high or 0.0)})"


def _verdict(group: RowGroup, where: str, every: Sequence[RowGroup]) -> tuple[str | None, Words]:
    """The policy recommended, if any, and the words for it."""
    answer, head = group.compared, f"On {where}" + (", still running" if group.missing else "")
    if not group.rates:
        left = f"{counted(group.missing, 'episode')} to come"
        return None, Words(f"On {where}: no verdict yet: {left}.", "caution")
    if len(group.policies) < 2:
        policy, interval = next(iter(group.rates.items()))
        return None, Words(
            f"{head}: {policy} solves {_rate(interval)} of {counted(interval.n, 'episode')}. There is no other policy "
            "to compare it with."
        )
    if isinstance(answer, str):
        return None, Words(f"{head}: no verdict: {answer}.", "caution")
    best, rivals = _standing(answer)
    if not rivals:
        return best, Words(_use(head, best, answer), "good")
    text = f"{head}: not shown; {_decide(group, every, answer, best, rivals)} {_close(answer, best, rivals)}"
    behind = [row["policy"] for row in answer.policies if row["policy"] not in (best, *rivals)]
    if behind:
        text += f" Shown to be worse than {best}: {listed(behind)}."
    return None, Words(text, "caution")


def _use(head: str, best: str, answer: Compared) -> str:
    second, others = answer.policies[1]["policy"], len(answer.policies) - 1
    pair = _pair(answer, best, second)
    than = second if others == 1 else f"each of the {others} others"
    ends = sorted(abs(100 * (v or 0.0)) for v in (pair.difference.low, pair.difference.high))
    lead = f"{ends[0]:.0f} to {ends[1]:.0f} points ahead (95%)" if 0.0 not in pair.difference else "ahead"
    return (
        f"{head}: use {best}, which is shown to be better than {than}. It solves {_percent(_mean(pair, best))} of "
        f"{_scenarios(pair)}, {lead} of {second} with {_percent(_mean(pair, second))}."
    )


def _standing(answer: Compared) -> tuple[str, list[str]]:
    """The policy with the highest mean, and those that `compare` does not say it is better than, best first."""
    best = answer.policies[0]["policy"]
    beaten = {p.b for p in answer.pairs if p.a == best and p.verdict == "better"}
    beaten |= {p.a for p in answer.pairs if p.b == best and p.verdict == "worse"}
    return best, [row["policy"] for row in answer.policies[1:] if row["policy"] not in beaten]


def _pair(answer: Compared, a: str, b: str) -> Versus:
    return next(pair for pair in answer.pairs if {pair.a, pair.b} == {a, b})


def _mean(pair: Versus, policy: str) -> float:
    """Over the scenarios compared: with errors left out, a policy's mean over all of its own is another."""
    return pair.mean_a if pair.a == policy else pair.mean_b


def _scenarios(pair: Versus) -> str:
    return counted(pair.n_a, "common scenario") if pair.paired else f"{pair.n_a} and {counted(pair.n_b, 'scenario')}"


def _close(answer: Compared, best: str, rivals: Sequence[str]) -> str:
    """How near the others are, each on the scenarios that it has in common with the best."""
    pairs = {name: _pair(answer, best, name) for name in rivals}
    first = pairs[rivals[0]]
    shown = any(pair.verdict in ("better", "worse") for pair in answer.pairs)
    few = first.verdict == "too few trials" and not shown
    more = " There are too few trials for a useful result." if few else ""
    own, of = _percent(_mean(first, best)), _scenarios(first)
    alike = [name for name, pair in pairs.items() if (_mean(pair, best), _scenarios(pair)) == (_mean(first, best), of)]
    if len(alike) == len(rivals) and all(_mean(pairs[name], name) == _mean(first, best) for name in rivals):
        return f"{_some([best, *rivals])} are equal: each solves {own} of {of}.{more}"
    named = []
    for name, pair in pairs.items():
        theirs = _percent(_mean(pair, name))
        whole = f"{theirs} against {_percent(_mean(pair, best))} of {_scenarios(pair)}"
        named.append(f"{name} ({theirs if name in alike else whole})")
    return f"{best} solves {own} of {of} and is not shown to be better than {_some(named)}.{more}"


def _some(names: Sequence[str], most: int = 4) -> str:
    return listed(names if len(names) <= most + 1 else [*names[:most], f"{len(names) - most} more"])


def _decide(group: RowGroup, every: Sequence[RowGroup], answer: Compared, best: str, rivals: Sequence[str]) -> str:
    """How many trials more would tell the best two apart; or that they are level as far as anybody would mind."""
    pair = _pair(answer, best, rivals[0])
    gap, run = abs(pair.mean_a - pair.mean_b), min(pair.n_a, pair.n_b)
    reach = max(1.0 if end is None else abs(end) for end in (pair.difference.low, pair.difference.high))
    if not gap and reach < EFFECT:
        return f"the best two differ by at most {math.ceil(100 * reach)} points (95%)."
    needed, aided = more_trials(group, pair, len(answer.pairs), every)
    if needed is None:
        return "no practical number of trials would decide: the best two are practically equal."
    seen = (
        f"if the {100 * gap:.0f} points seen are real"
        if gap
        else f"if the best two differ by {100 * EFFECT:.0f} points"
    )
    more = needed - run
    if more <= 0:
        return (
            f"{_about(needed)} trials usually decide {seen}, and {run} were run: the true difference is probably "
            "smaller."
        )
    besides = ""
    if aided is not None and aided - run < 0.95 * more:
        besides = f", or {_about(max(aided - run, 1))} with unlimited simulated trials in addition"
    return f"about {_about(more)} more trials of each would decide{besides} ({POWER:.0%} chance, {seen})."


def _about(count: int) -> str:
    """Two digits: a forecast is no better."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"


def more_trials(
    group: RowGroup, pair: Versus, pairs: int = 1, every: Sequence[RowGroup] = ()
) -> tuple[int | None, int | None]:
    """Trials of each policy, in all, that `foretell.budget` forecasts for telling a pair apart: with real trials alone,
    and of real groups with simulation, where `every` has it. None: more than a million, or not known.

    The level is what Holm's adjustment leaves the smallest p-value of `pairs`.
    """
    a, b = (pair.a, pair.b) if pair.mean_a >= pair.mean_b else (pair.b, pair.a)
    low, high = sorted((pair.mean_a, pair.mean_b))
    gap = high - low - 1e-12 if high > low else EFFECT if low + EFFECT <= 1.0 else -EFFECT
    plan: dict[str, Any] = {"power": POWER, "difference": gap, "alpha": ALPHA / max(pairs, 1), "stand_in": True}
    sims = [g for g in every if group.real and not g.real and g.task == group.task]
    aided = None
    for sim in sims:
        try:
            forecast = _planned(group.table, sim.table, policy=(a, b), **plan)
        except UsageError:  # not every real scenario was simulated with both
            continue
        aided = forecast.with_simulation
        break
    try:
        alone = _planned(group.table, group.table, policy=(a, b), **plan)  # for how alike their outcomes are
    except UsageError:
        alone = _planned(rate=low, **plan)
    return alone.real_only, aided


def _planned(*sources: Any, **plan: Any) -> Budget:
    answer = budget(*sources, **plan)
    assert isinstance(answer, Budget)
    return answer


def _caveats(runs: Runs, every: Sequence[RowGroup]) -> list[Block]:
    """What a reader must know before acting on it."""
    sentences = []
    under = chosen(runs, every)
    if under:
        sentences.append(f"All results are {under}.")
    if any(group.stands_in for group in every):
        sentences.append(MECHANISM)
    if not any(group.real for group in every):
        sentences.append(
            "These are simulated episodes: these runs do not show whether reality ranks the policies in the same way."
        )
    if any(group.missing for group in every):
        sentences.append(
            "Unfinished comparisons use a betting test on the leading scenarios. Its verdicts hold at any time."
        )
    if any(group.design != "iid" for group in every):
        sentences.append("Scenarios were not drawn at random, so verdicts hold for these scenarios only.")
    return [Words(" ".join(sentences))] if sentences else []
