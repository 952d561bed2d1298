"""Is one policy better than another? Every pair tested on common scenarios, adjusted for all, letters and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np

from foretell import stats
from foretell.answers.bound import design_of
from foretell.answers.choice import Choice, choose, labels
from foretell.answers.forecast import CHOOSE_FIRST, Forecast, at_every_look, simulated, simulations
from foretell.answers.held_out import leave_out, used
from foretell.answers.inputs import PROTOCOL, Source, Table, open_table
from foretell.answers.reality import check_roles
from foretell.answers.stopped import compared_horizon
from foretell.answers.units import Measured, measure
from foretell.answers.versus import Versus, versus
from foretell.answers.weights import other_weights
from foretell.answers.words import ANYTIME, amount, level, noted, of_scenarios, plain, table
from foretell.counting import counted
from foretell.errors import UsageError, suggest
from foretell.notebook import Displayed
from foretell.stats.compare import EFFECT, Test
from foretell.stats.family import bets_aim, expected
from foretell.stats.interval import Horizon

__all__ = ["Compared", "compare"]


@dataclass(frozen=True, kw_only=True)
class Compared(Displayed):
    """Policies in order of their mean, best first, and every pair of them."""

    policies: list[dict[str, Any]]
    """policy, mean, n, letters, rank and what was measured; letters are shared by policies not shown to differ."""
    pairs: list[Versus]
    """With two policies in the order given; else the one with the higher mean first."""
    alpha: float
    notes: tuple[str, ...]
    forecast: dict[str, Any] | None = None
    """What ordered the tests of more than two policies: source, scenarios and means by policy; None for Holm."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form; with two policies their comparison also stands at the top."""
        rows = [pair.to_dict() for pair in self.pairs]
        top = rows[0] if len(rows) == 1 else {}
        fields = {**top, "alpha": self.alpha, "policies": self.policies, "comparisons": rows, "notes": list(self.notes)}
        return fields if self.forecast is None else {**fields, "forecast": self.forecast}

    def text(self) -> str:
        """Verdicts in plain sentences; a table where there are more than two policies."""
        parts = []
        if len(self.policies) > 2:
            metric = self.policies[0]["metric"]
            header = ["policy", "mean", "n", "letters", "rank"]
            rows = [
                [p["policy"], amount(p["mean"], metric), str(p["n"]), p["letters"], "{} to {}".format(*p["rank"])]
                for p in self.policies
            ]
            how = "Holm" if self.forecast is None else "closed tests in the order of the forecast"
            parts = [table(header, rows), f"Policies that share a letter are not shown to differ ({how})."]
        for pair in self.pairs:
            parts += [*self._contradiction(pair), self._sentence(pair)]
        if all(pair.anytime for pair in self.pairs):
            parts.append(ANYTIME)
        return "\n".join(parts + noted(self.notes))

    def _contradiction(self, pair: Versus) -> list[str]:
        """What to say before the verdict where the trials refute every difference."""
        if pair.difference.contradiction is None:
            return []
        return [
            f"Early and late trials of {plain(pair.a)} and {plain(pair.b)} contradict each other: no difference of the "
            f"means fits both with {level(pair.difference.alpha)} confidence. The ends below are those of level "
            f"{pair.difference.contradiction:.3g}: do not rely on them."
        ]

    def _sentence(self, pair: Versus) -> str:
        metric = self.policies[0]["metric"]
        a, b = plain(pair.a), plain(pair.b)
        verdict = {
            "better": f"{a} is better than {b}",
            "worse": f"{a} is worse than {b}",
            "no difference shown": f"no difference shown between {a} and {b}",
            "too few trials": f"too few trials to tell {a} and {b} apart",
        }[pair.verdict]
        on = (
            f"on {counted(pair.n_a, 'common scenario')}"
            if pair.paired
            else f"on {pair.n_a} and {counted(pair.n_b, 'scenario')}"
        )
        p = f"p = {pair.p_value:.3g}" if pair.p_value >= 1e-4 else "p < 0.0001"
        if len(self.pairs) > 1:
            p += f", adjusted {pair.p_adjusted:.3g}"
        interval = pair.difference
        numbers = f"{amount(pair.mean_a, metric)} against {amount(pair.mean_b, metric)}"
        ends = f"{amount(interval.low, metric)} to {amount(interval.high, metric)}"
        text = f"{verdict}: {numbers} {on}, difference {level(interval.alpha)} within {ends}, {p} ({pair.test})"
        return text[:1].upper() + text[1:] if pair.verdict in ("no difference shown", "too few trials") else text


def compare(
    *sources: Source,
    sim: Source | None = None,
    policy: str | Sequence[str] = (),
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    test: Test = "auto",
    unpaired: bool = False,
    effect: float = EFFECT,
    alpha: float = stats.ALPHA,
    horizon: Horizon = None,
    stand_in: bool = False,
) -> Compared:
    """Compare policies: two or more files of one policy each, or run folders and files with several.

    Scenarios that both policies of a pair have are compared one to one, the others left out; without any, or with
    `unpaired`, as independent trials. `sim`: simulations of these policies. For two policies they are the control of a
    betting test. For more, those of scenarios without a real trial give the order and direction in which pairs are
    tested; if the test is betting, half of them do, and the other half are the control.
    Choose `sim` or not before looking at the outcomes. `stand_in`: with `sim`, a simulated world plays reality in the
    sources. Without `sim` policies may be compared in any world.

    horizon: for whoever looks more than once: the number of scenarios planned before the first look, or "open". Rows
    must then stand as run, and the test is betting. Pairs are taken as they became complete, and each scenario counts
    by its first trial. Two files tell that only if both policies met scenarios in one order. `sim` then only gives the
    order and direction of the tests, and must hold scenarios that are never tried, the same at every look.
    """
    if not sources:
        raise UsageError("nothing to compare: give two files, or a run folder with two policies or more")
    _check(test, effect, alpha)
    opened = [open_table(source, f"table {i + 1}", metric=metric) for i, source in enumerate(sources)]
    given = [*opened, *([open_table(sim, "sim", metric=metric)] if sim is not None else [])]
    chosen, notes = choose(given, Choice(task, None, clock, arm), ("task", "clock", "arm"))
    for tried in chosen[: len(opened)] if sim is not None else ():
        notes += check_roles(tried, chosen[-1], stand_in)
    entrants = _entrants(chosen[: len(opened)], [policy] if isinstance(policy, str) else policy)
    horizon, more_notes = compared_horizon([m.table for m in entrants.values()], horizon, test)
    notes += more_notes
    if horizon is not None:
        entrants = {name: entrant.as_run() for name, entrant in entrants.items()}
    sims = simulations(chosen[-1], entrants) if sim is not None else {}
    notes += [note for name in sims for note in other_weights(name, entrants[name].table, sims[name].table)]
    if seen := used(entrants.values(), sims.values()):
        entrants, omitted = leave_out(entrants, sims.values(), seen)
        sims, notes = {name: scores.without(seen) for name, scores in sims.items()}, [*notes, *omitted]
    if len(entrants) < 2:
        listed = ", ".join(plain(name) for name in entrants)
        raise UsageError(f"only one policy to compare ({listed}); give another file, or a run with another policy")
    order = sorted(entrants, key=lambda name: -float(entrants[name].units.scores.mean()))
    names = list(entrants) if len(entrants) == 2 else order
    pairs = list(combinations(names, 2))
    control: dict[str, Measured] = {}
    ahead: Forecast | None = None
    if sims and horizon is not None:
        ahead = at_every_look(sims, entrants)
    elif sims:
        control, ahead = simulated(sims, entrants, test, unpaired)
    aim = bets_aim(alpha, len(names), ahead is not None)
    try:
        compared = [
            versus(
                (a, entrants[a]), (b, entrants[b]), (control[a], control[b]) if control else None,
                test=test, unpaired=unpaired, effect=effect, alpha=alpha, aim=aim, horizon=horizon,
                expected=None if ahead is None else expected(ahead.means[a], ahead.means[b]),
            )
            for a, b in pairs
        ]  # fmt: skip
    except ValueError as error:
        raise UsageError(str(error)) from None
    raw = {(pair.a, pair.b): pair.p_value for pair in compared}
    adjusted = stats.holm([*raw.values()]) if ahead is None else stats.in_forecast_order(raw, ahead.means).values()
    compared = [_adjusted(pair, float(p), alpha, effect) for pair, p in zip(compared, adjusted, strict=True)]
    compared = [replace(pair, difference=of_scenarios(pair.difference)) for pair in compared]
    if sim is not None:
        notes += [*(ahead.notes if ahead is not None else ()), CHOOSE_FIRST]
    notes += _contradictions(compared, alpha)
    design, _ = design_of(chosen, None)
    if design != "iid":
        why = f"scenarios are {design}, not drawn at random: verdicts hold for these scenarios only"
        notes.append(why)
        compared = [replace(p, difference=replace(p.difference, guarantee="asymptotic", reason=why)) for p in compared]
    worlds = {w for m in entrants.values() for w in labels(m.table, "world")}
    if len(worlds) > 1:
        notes.append(f"policies were tried in different worlds: {', '.join(sorted(map(plain, worlds)))}")
    notes = [*_protocols([m.table for m in entrants.values()]), *notes]
    notes += [note for scores in [*entrants.values(), *control.values()] for note in scores.notes()]
    notes += [note for pair in compared for note in pair.notes]
    return Compared(
        policies=_ranked(order, entrants, compared),
        pairs=compared,
        alpha=alpha,
        notes=tuple(dict.fromkeys(notes)),
        forecast=None if ahead is None else ahead.to_dict(),
    )


def _check(test: str, effect: float, alpha: float) -> None:
    """Refuse options that make no sense, before any file is read."""
    tests = get_args(Test)
    if test not in tests:
        raise UsageError(f"test {test!r} is not known; {suggest(test, tests)}")
    if not 0.0 < alpha < 1.0 or not 0.0 < effect <= 1.0:
        raise UsageError(f"alpha must lie between 0 and 1 and effect in (0, 1], got {alpha:g} and {effect:g}")


def _contradictions(pairs: Sequence[Versus], alpha: float) -> list[str]:
    """Notes on pairs whose interval and verdict seem to differ."""
    notes = []
    for pair in pairs:
        reason = _disagree(pair, alpha)
        if reason:
            notes.append(f"{plain(pair.a)} and {plain(pair.b)}: {reason}" if len(pairs) > 1 else reason)
    return notes


def _adjusted(pair: Versus, p: float, alpha: float, effect: float) -> Versus:
    word = stats.verdict(p, pair.difference, alpha, effect, pair.mean_a - pair.mean_b)
    return replace(pair, p_adjusted=p, verdict=word)


def _protocols(tables: Sequence[Table]) -> list[str]:
    """What makes the task another for one policy than for the other. What a person judged has its own rules."""
    notes = []
    for column, words in PROTOCOL.items():
        sources: dict[str, list[str]] = {}
        for source in tables:
            if labels(source, "judge") != ["person"]:
                for value in labels(source, column):
                    sources.setdefault(value, []).append(source.name)
        if len(sources) > 1:
            listed = "; ".join(
                f"{plain(v)} in {', '.join(map(plain, dict.fromkeys(names)))}" for v, names in sources.items()
            )
            notes.append(f"the task's {words} is not the same everywhere ({listed}): rates are not comparable")
    return notes


def _disagree(pair: Versus, alpha: float) -> str | None:
    """Why the interval holds 0 although the policies are told apart, or leaves it out although they are not."""
    holds, interval = 0.0 in pair.difference, pair.difference
    if pair.p_adjusted <= alpha and pair.verdict not in ("better", "worse"):
        return "the trials contradict each other: the test favours one policy, the means do not, so nothing is decided"
    if holds == (pair.verdict not in ("better", "worse")):
        return None
    if holds == (pair.p_value > alpha):
        return "the interval is for this pair alone; the verdict is adjusted for the number of pairs"
    if pair.test in ("mcnemar", "barnard", "fisher") and interval.guarantee == "asymptotic":
        return f"the interval is approximate ({interval.method}); the verdict follows the exact test"
    return f"the interval ({interval.method}) and the test are computed apart; the verdict follows the test"


def _ranked(order: list[str], entrants: dict[str, Measured], pairs: list[Versus]) -> list[dict[str, Any]]:
    at = {name: i for i, name in enumerate(order)}
    better = np.zeros((len(order), len(order)), dtype=bool)
    for pair in pairs:
        better[at[pair.a], at[pair.b]] = pair.verdict == "better"
        better[at[pair.b], at[pair.a]] = pair.verdict == "worse"
    letters, ranks = stats.compact_letters(better | better.T), stats.rank_ranges(better)
    rows = []
    for name, word, rank in zip(order, letters, ranks, strict=True):
        units = entrants[name].units
        row = {"policy": name, "mean": float(units.scores.mean()), "n": len(units.ids), "letters": word}
        about = {k: v for k, v in entrants[name].about().items() if k != "policy"}
        rows.append({**row, "rank": [int(rank[0]), int(rank[1])], **about})
    return rows


def _entrants(tables: list[Table], wanted: Sequence[str]) -> dict[str, Measured]:
    """Name -> scores. A policy's name where that is enough, else with its world or source; a file without policies
    is named after itself."""
    parts: list[tuple[list[str], Table]] = []
    known: set[str] = set()
    for source in tables:
        for policy in labels(source, "policy"):
            rows = [i for i, cell in enumerate(source.columns["policy"]) if str(cell) == policy]
            worlds = [f"{policy} in {world}" for world in labels(source, "world")[:1]]
            names = [policy, *worlds, f"{policy} in {source.name}"]
            words = {*names, *(word for word, meant in source.also.get("policy", {}).items() if meant == {policy})}
            known |= words
            if not wanted or words & set(wanted):
                parts.append((names, source.keep(rows)))
        if not labels(source, "policy"):
            if wanted:
                raise UsageError(f"{source.name} has no column 'policy', so policies cannot be picked from it")
            parts.append(([Path(source.name).stem, source.name], source))
    for name in wanted:
        if name not in known:
            every = {label for source in tables for label in labels(source, "policy")}
            raise UsageError(f"policy {plain(name)!r} is in none of the sources; {suggest(name, map(plain, every))}")
    depth = 0
    while depth < 2 and len({names[min(depth, len(names) - 1)] for names, _ in parts}) < len(parts):
        depth += 1
    made: dict[str, Measured] = {}
    for names, source in parts:
        name = base = names[min(depth, len(names) - 1)]
        for again in range(2, len(parts) + 2):
            if name not in made:
                break
            name = f"{base} ({again})"
        made[name] = measure(source)
    return made
