"""The search itself: which combination of factors to look at next. It knows nothing of simulators.

Mild means few factors, then a small sum of severities. Single factors come first, all at full severity; a race gives
up early on those that the policy stands. Of those that break it, the severity is halved again and again, and none is
looked at that could not be milder than the mildest found. Only if no single factor breaks the policy come pairs, the
most promising first, then threes. A combination counts only if the scripted expert can do it.

It takes for granted that harm grows with severity, to the policy and to the expert. Where that is wrong it may miss a
milder combination; what it finds is verified elsewhere, on scenarios that it has never seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, Protocol

import numpy as np

from foretell.testset.testset import REQUIRED

__all__ = ["Combination", "Outcomes", "Sightings", "excess", "search"]

STEPS = 8
"""Severities that are told apart: eighths of the highest."""
SIZES = (4, 8, 16)
"""Scenarios looked at before a race gives up, goes on, or decides."""
FINAL = 32
"""Scenarios on which the mildest must still break the policy: the luckiest of many looks is not to be believed."""
SURE = 8
"""Least scenarios for an early verdict that a combination breaks the policy."""
PAIRS, BEAM = 12, 4
"""Combinations of two or more factors that enter a race; those that are extended by one more factor."""

Verdict = Literal["breaks", "holds", "not decided"]


@dataclass(frozen=True)
class Combination:
    """Factors that are on together, each with its severity, in the catalogue's order; none at all is the clean
    control."""

    severities: tuple[tuple[str, float], ...] = ()

    @property
    def arm(self) -> str:
        """As a study writes it."""
        return "+".join(f if s == 1 else f"{f}@{s:g}" for f, s in self.severities) or "none"

    @property
    def mildness(self) -> tuple[int, float, str]:
        """What is milder sorts first: fewer factors, then a smaller sum of severities."""
        return len(self.severities), round(sum(s for _, s in self.severities), 9), self.arm


class Outcomes(Protocol):
    """Where outcomes come from: arrays (n,) of 1, 0 or NaN (no verdict), one per scenario, always of the same
    scenarios in the same order. What can no longer be afforded is left out."""

    def policy(self, wanted: Sequence[Combination], n: int) -> Mapping[Combination, np.ndarray]: ...

    def expert(self, wanted: Sequence[Combination], n: int) -> Mapping[Combination, np.ndarray]: ...


@dataclass(kw_only=True)
class Sightings:
    """What a search has seen."""

    hits: list[Combination] = field(default_factory=list)
    """Those that break the policy and that the expert can do, the mildest first. Where the budget did not allow to ask
    the expert, the mildest that breaks the policy."""
    verdicts: dict[Combination, Verdict] = field(default_factory=dict)
    """All that were looked at, in that order."""
    outcomes: dict[Combination, np.ndarray] = field(default_factory=dict)
    experts: dict[Combination, np.ndarray] = field(default_factory=dict)
    """The expert's outcomes, of the mildest that break the policy."""
    discarded: list[Combination] = field(default_factory=list)
    """Those of them that the expert cannot do."""
    clean: np.ndarray = field(default_factory=lambda: np.empty(0))
    """The policy's clean outcomes, of as many scenarios as the longest look."""
    complete: bool = True
    """False where the budget ended the search."""


@dataclass(kw_only=True)
class _SeverityLine:
    """One set of factors, at a severity that all of them share."""

    factors: tuple[str, ...]
    tops: tuple[float, ...]
    held: int = 0
    broke: int = STEPS + 1
    paid: bool = True
    """False once the budget has ended."""

    def at(self, step: int) -> Combination:
        return Combination(tuple((f, top * step / STEPS) for f, top in zip(self.factors, self.tops, strict=True)))


def excess(outcomes: np.ndarray, clean: np.ndarray, breaks: float) -> tuple[float, float]:
    """How far success lies above `breaks` times clean success on the same scenarios (n,), and a standard error.

    The error has one scenario's worth of doubt in it, so that it is never 0.
    """
    d = outcomes - breaks * clean[: len(outcomes)]
    d = d[np.isfinite(d)]
    n = max(len(d), 1)
    return float(d.mean()) if len(d) else 0.0, float(np.sqrt((d.var() + 0.25 / n) / n)) if len(d) else 1.0


class _Search:
    def __init__(self, looks: Outcomes, *, clean: np.ndarray, breaks: float, required: float, sightings: Sightings):
        self.looks, self.clean, self.breaks, self.required = looks, clean, breaks, required
        self.sightings = sightings

    def race(self, wanted: Sequence[Combination]) -> None:
        """Look at combinations until each has a verdict."""
        alive = [c for c in wanted if c not in self.sightings.verdicts]
        for n in SIZES:
            outcomes = self.looks.policy(alive, n) if alive else {}
            still = []
            for c in alive:
                if c not in outcomes:
                    self.sightings.complete = False
                    self.sightings.verdicts[c] = "not decided"
                    continue
                self.sightings.outcomes[c] = outcomes[c]
                above, error = excess(outcomes[c], self.clean, self.breaks)
                if n == SIZES[-1]:
                    self.sightings.verdicts[c] = "breaks" if above + error < 0 else "holds"
                elif above - error > 0:
                    self.sightings.verdicts[c] = "holds"
                elif n >= SURE and above + 2 * error < 0:
                    self.sightings.verdicts[c] = "breaks"
                else:
                    still.append(c)
            alive = still

    def confirm(self, wanted: Sequence[Combination]) -> None:
        """Look longer at what seems to break the policy; what does not after all holds. Without a budget for it, the
        first look stands."""
        outcomes = self.looks.policy([Combination(), *wanted], FINAL) if wanted else {}
        self.clean = outcomes.get(Combination(), self.clean)
        for c in wanted:
            if c not in outcomes:
                self.sightings.complete = False
                continue
            self.sightings.outcomes[c] = outcomes[c]
            above, error = excess(outcomes[c], self.clean, self.breaks)
            self.sightings.verdicts[c] = "breaks" if above + error < 0 else "holds"

    def certify(self, wanted: Sequence[Combination]) -> None:
        """Let the expert try what breaks the policy, on all scenarios of the search."""
        wanted = [c for c in wanted if self.sightings.verdicts.get(c) == "breaks" and c not in self.sightings.experts]
        outcomes = self.looks.expert(wanted, SIZES[-1]) if wanted else {}
        for c in wanted:
            if c not in outcomes:
                self.sightings.complete = False
                continue
            self.sightings.experts[c] = outcomes[c]
            certified = float(np.nan_to_num(outcomes[c]).mean()) >= self.required
            (self.sightings.hits if certified else self.sightings.discarded).append(c)

    def descend(self, lines: Sequence[_SeverityLine]) -> None:
        """The least severity at which any of the lines breaks the policy, if the expert can do it there.

        Where the expert cannot, it can do no harsher one of that line either: the line is given up.
        """
        alive = list(lines)
        while alive:
            least = min(line.broke for line in alive)
            steps = {}
            for i, line in enumerate(alive):
                if line.paid and least - line.held > 1:
                    steps[i] = STEPS if least > STEPS else (line.held + least) // 2
            if steps:
                self.race([alive[i].at(step) for i, step in steps.items()])
                for i, step in steps.items():
                    verdict = self.sightings.verdicts[alive[i].at(step)]
                    if verdict == "holds":
                        alive[i].held = step
                    elif verdict == "breaks":
                        alive[i].broke = step
                    else:
                        alive[i].paid = False
                continue
            best = [line for line in alive if line.broke == least <= STEPS]
            self.confirm([line.at(least) for line in best])
            for line in best:
                if self.sightings.verdicts[line.at(least)] == "holds":
                    line.held, line.broke = least, self._breaks_above(line, least)
            if any(line.held == least for line in best):
                continue
            self.certify([line.at(least) for line in best])
            if not best or any(line.at(least) not in self.sightings.discarded for line in best):
                return
            alive = [line for line in alive if line not in best]

    def _breaks_above(self, line: _SeverityLine, step: int) -> int:
        above = range(step + 1, STEPS + 1)
        return next((i for i in above if self.sightings.verdicts.get(line.at(i)) == "breaks"), STEPS + 1)

    def trim(self, best: Combination, tops: Mapping[str, float]) -> None:
        """Make the factors of a combination milder one by one, the rest as they are."""
        begun = best
        for name, severity in best.severities:
            held, broke = 0, round(STEPS * severity / tops[name])
            while broke - held > 1:
                step = (held + broke) // 2
                milder = tops[name] * step / STEPS
                trial = Combination(tuple((f, milder if f == name else s) for f, s in best.severities))
                self.race([trial])
                if self.sightings.verdicts[trial] == "breaks":
                    broke, best = step, trial
                elif self.sightings.verdicts[trial] == "holds":
                    held = step
                else:
                    break
        if best != begun:
            self.confirm([best])
            self.certify([best])


def search(
    looks: Outcomes,
    factors: Mapping[str, float],
    clean: np.ndarray,
    *,
    most: int = 3,
    breaks: float = 0.5,
    required: float = REQUIRED,
) -> Sightings:
    """Search for the mildest combination of at most `most` factors that breaks a policy.

    factors: name -> the highest severity to look at. clean: (n,) the policy's clean outcomes, n the last of SIZES.
    A combination breaks the policy if success is below `breaks` times clean success, by a standard error, and counts
    if the expert's success is at least `required`.
    """
    sightings = Sightings()
    state = _Search(looks, clean=clean, breaks=breaks, required=required, sightings=sightings)
    order = list(factors)
    singles = {name: _SeverityLine(factors=(name,), tops=(factors[name],)) for name in order}
    groups: list[tuple[str, ...]] = [(name,) for name in order]
    for count in range(1, min(most, len(order)) + 1):
        lines = [_SeverityLine(factors=g, tops=tuple(factors[f] for f in g)) for g in groups]
        state.descend(lines)
        hits = [c for c in sightings.hits if len(c.severities) == count]
        if hits:
            if count > 1:
                state.trim(min(hits, key=lambda c: c.mildness), factors)
            break
        if not sightings.complete:
            break
        rate = {name: _rate(sightings, singles[name].at(STEPS)) for name in order}
        groups = _larger(groups, order, rate, {line.factors: _rate(sightings, line.at(STEPS)) for line in lines})
    sightings.clean = state.clean
    sightings.hits.sort(key=lambda c: c.mildness)
    broke = [c for c, verdict in sightings.verdicts.items() if verdict == "breaks" and c not in sightings.experts]
    if (
        not sightings.hits and not sightings.complete and broke
    ):  # no budget for a certificate: verification has one of its own
        sightings.hits.append(min(broke, key=lambda c: c.mildness))
    return sightings


def _rate(sightings: Sightings, c: Combination) -> float:
    """Success of what was looked at, drawn a little towards a half."""
    seen = sightings.outcomes.get(c, np.empty(0))
    return float((np.nansum(seen) + 1) / (np.isfinite(seen).sum() + 2))


def _larger(
    groups: Iterable[tuple[str, ...]],
    order: Sequence[str],
    single: Mapping[str, float],
    rate: Mapping[tuple[str, ...], float],
) -> list[tuple[str, ...]]:
    """The most promising sets of one more factor: those that would hurt most if factors did not interact."""
    begun = sorted(groups, key=lambda g: rate[g])
    guess: dict[tuple[str, ...], float] = {}
    if begun and len(begun[0]) == 1:
        guess = {pair: single[pair[0]] * single[pair[1]] for pair in combinations(order, 2)}
    else:
        for g in begun[:BEAM]:
            for name in order:
                if name not in g:
                    larger = tuple(f for f in order if f in g or f == name)
                    guess[larger] = min(rate[g] * single[name], guess.get(larger, 1.0))
    return sorted(guess, key=lambda g: (guess[g], g))[:PAIRS]
