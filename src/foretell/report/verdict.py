"""The verdict, in words: which policy to use on which task, or how many trials more would tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.answers.budget import budget
from foretell.answers.compare import Compared
from foretell.answers.versus import Versus
from foretell.errors import UsageError
from foretell.report.groups import Group, chosen, first_groups
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
    found = sorted((g for g in first_groups(runs) if g.rates), key=lambda g: len(g.rates) < 2)  # choices first
    if not found:
        return None
    blocks: list[Block] = []
    winners: dict[str, list[str]] = {}
    for group in found:
        where = group.within(found)
        best, words = _verdict(group, where, found)
        blocks.append(words)
        winners.setdefault(best or "", []).append(where)
    return Section("verdict", "Verdict", _says(winners, found), [*blocks, *_caveats(runs, found)])


def _says(winners: dict[str, list[str]], found: Sequence[Group]) -> str:
    """The headline: who is recommended where."""
    open_ = winners.get("", [])
    named = [f"{best} on {_listed(tasks)}" for best, tasks in winners.items() if best]
    if all(len(group.rates) < 2 for group in found):
        return "There is one policy only, so there is nothing to choose from; how well it does stands below."
    if not named:
        where = "" if len(found) == 1 else " on any task"
        return f"No policy is shown to be the best{where} yet."
    rest = f"; on {_listed(open_)} none is shown to be the best" if open_ else ""
    return f"Recommended: {'; '.join(named)}{rest}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def _rate(one: Interval) -> str:
    return f"{_percent(one.estimate)} ({_percent(one.low or 0.0)} to {_percent(one.high or 0.0)})"


def _verdict(group: Group, where: str, found: Sequence[Group]) -> tuple[str | None, Words]:
    """The policy recommended, if any, and the words for it."""
    answer, head = group.compared, f"On {where}" + (", still running" if group.missing else "")
    if isinstance(answer, str):
        if len(group.rates) < 2:
            policy, one = next(iter(group.rates.items()))
            return None, Words(f"{head}: {policy} solves {_rate(one)} of {one.n} episodes. Nothing to compare it with.")
        return None, Words(f"{head}: no verdict: {answer}.", "caution")
    best, rivals = _standing(answer)
    means = {row["policy"]: row["mean"] for row in answer.policies}
    if not rivals:
        return best, Words(_use(head, best, answer, means), "good")
    pair = _pair(answer, best, rivals[0])
    text = f"{head}: not shown; {_decide(group, found, pair, answer)} {_close(best, rivals, means, pair)}"
    behind = [name for name in means if name != best and name not in rivals]
    if behind:
        text += f" Shown to be worse than {best}: {_listed(behind)}."
    return None, Words(text, "caution")


def _use(head: str, best: str, answer: Compared, means: dict[str, float]) -> str:
    second, others = answer.policies[1]["policy"], len(means) - 1
    pair = _pair(answer, best, second)
    than = second if others == 1 else f"each of the {others} others"
    ends = sorted(abs(100 * (v or 0.0)) for v in (pair.difference.low, pair.difference.high))
    lead = f"{ends[0]:.0f} to {ends[1]:.0f} points ahead (95%)" if 0.0 not in pair.difference else "ahead"
    return (
        f"{head}: use {best}, which is shown to be better than {than}. It solves {_percent(means[best])} of "
        f"{_scenarios(pair)}, {lead} of {second} with {_percent(means[second])}."
    )


def _standing(answer: Compared) -> tuple[str, list[str]]:
    """The policy with the highest mean, and those that `compare` does not say it is better than, best first."""
    best = answer.policies[0]["policy"]
    beaten = {p.b for p in answer.pairs if p.a == best and p.verdict == "better"}
    beaten |= {p.a for p in answer.pairs if p.b == best and p.verdict == "worse"}
    return best, [row["policy"] for row in answer.policies[1:] if row["policy"] not in beaten]


def _pair(answer: Compared, a: str, b: str) -> Versus:
    return next(pair for pair in answer.pairs if {pair.a, pair.b} == {a, b})


def _scenarios(pair: Versus) -> str:
    return f"{pair.n_a} common scenarios" if pair.paired else f"{pair.n_a} and {pair.n_b} scenarios"


def _close(best: str, rivals: Sequence[str], means: dict[str, float], pair: Versus) -> str:
    few = " There are too few trials to say anything of interest." if pair.verdict == "too few trials" else ""
    level = [name for name in rivals if means[name] == means[best]]
    if len(level) == len(rivals):
        return f"{_some([best, *level])} are level: each solves {_percent(means[best])} of {_scenarios(pair)}.{few}"
    named = [f"{name} ({_percent(means[name])})" for name in rivals]
    return (
        f"{best} solves {_percent(means[best])} of {_scenarios(pair)} and is not shown to be better than "
        f"{_some(named)}.{few}"
    )


def _some(names: Sequence[str], most: int = 4) -> str:
    return _listed(names if len(names) <= most + 1 else [*names[:most], f"{len(names) - most} more"])


def _decide(group: Group, found: Sequence[Group], pair: Versus, answer: Compared) -> str:
    """How many trials more would tell the best two apart."""
    needed, aided = more_trials(group, pair, len(answer.pairs), found)
    gap, run = abs(pair.mean_a - pair.mean_b), min(pair.n_a, pair.n_b)
    if needed is None:
        return "no number of trials that anybody could run would decide: the best two are practically level."
    seen = (
        f"if the {100 * gap:.0f} points seen are real"
        if gap
        else f"if the best two differ by {100 * EFFECT:.0f} points"
    )
    more = needed - run
    if more <= 0:
        return f"{_about(needed)} trials mostly decide {seen}, and {run} were run: the difference is likely smaller."
    besides = ""
    if aided is not None and aided - run < 0.95 * more:
        besides = f", or {_about(max(aided - run, 1))} with endless simulated ones besides"
    return f"about {_about(more)} more trials of each would decide{besides} ({POWER:.0%} chance, {seen})."


def _about(count: int) -> str:
    """Two digits: a forecast is no better."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"


def more_trials(
    group: Group, pair: Versus, pairs: int = 1, found: Sequence[Group] = ()
) -> tuple[int | None, int | None]:
    """Trials of each policy, in all, that `foretell.budget` forecasts for telling a pair apart: with real trials alone,
    and of real groups with simulation, where `found` has it. None: more than a million, or not known.

    The level is what Holm's adjustment leaves the smallest p-value of `pairs`.
    """
    a, b = (pair.a, pair.b) if pair.mean_a >= pair.mean_b else (pair.b, pair.a)
    low, high = sorted((pair.mean_a, pair.mean_b))
    gap = high - low - 1e-12 if high > low else EFFECT if low + EFFECT <= 1.0 else -EFFECT
    plan: dict[str, Any] = {"power": POWER, "difference": gap, "alpha": ALPHA / max(pairs, 1)}
    sims = [g for g in found if group.real and not g.real and g.task == group.task]
    aided = None
    for sim in sims:
        try:
            told = budget(group.table, sim.table, policies=(a, b), **plan)
        except UsageError:  # not every real scenario was simulated with both
            continue
        aided = told.with_simulation
        break
    try:
        alone = budget(group.table, group.table, policies=(a, b), **plan)  # for how alike their outcomes are
    except UsageError:
        alone = budget(rate=low, **plan)
    return alone.real_only, aided


def _caveats(runs: Runs, found: Sequence[Group]) -> list[Block]:
    """What a reader must know before acting on it."""
    said = []
    under = chosen(runs, found)
    if under:
        said.append(f"All of this is {under}.")
    if any(group.real and group.world.startswith("standin") for group in found):
        said.append(MECHANISM)
    if not any(group.real for group in found):
        said.append("These are simulated episodes: whether reality ranks the policies alike is not in these runs.")
    if any(group.missing for group in found):
        said.append(
            "What is still running is judged by bets on its leading scenarios, which may be looked at any time."
        )
    if any(group.design != "iid" for group in found):
        said.append("Scenarios were not drawn at random, so verdicts speak of these scenarios only.")
    return [Words(" ".join(said))] if said else []
