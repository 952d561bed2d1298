"""Is it true? A combination that a search has found, tried on scenarios that the search has never seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.redteam.looks import Looks
from foretell.redteam.search import Combination, Sightings, excess
from foretell.stats import Interval, clopper_pearson, newcombe_paired, star

__all__ = ["ATTEMPTS", "Verified", "attempts", "least", "solved", "too_few", "verify"]

ATTEMPTS = 3
"""Combinations that may be verified; each is held to a third of alpha, so that the three together keep it."""

MOST = 16384
"""Fresh scenarios beyond which it is not asked how many would do."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A combination on fresh scenarios."""

    combination: Combination
    clean: Interval
    """The policy's success on the clean controls of the same scenarios."""
    broken: Interval
    """Under the combination."""
    change: Interval
    """Paired: broken less clean."""
    margin: Interval
    """Broken success less the share of clean success that it must stay below; verified if it lies below 0."""
    expert: tuple[int, int]
    """Scenarios the scripted expert solves under the combination, of how many."""
    failing: tuple[int, ...]
    """Seeds where the policy solves the clean control and the expert the perturbed one, which the policy does not."""

    @property
    def verified(self) -> bool:
        return self.margin.high is not None and self.margin.high < 0

    def to_dict(self) -> dict[str, Any]:
        c = self.combination
        return {
            "arm": c.arm,
            "factors": dict(c.severities),
            "severities_sum": c.mildness[1],
            "verified": self.verified,
            "clean": self.clean.to_dict(),
            "broken": self.broken.to_dict(),
            "change": self.change.to_dict(),
            "margin": self.margin.to_dict(),
            "certificate": {"solved": self.expert[0], "n": self.expert[1]},
        }


def attempts(sightings: Sightings, breaks: float) -> list[Combination]:
    """What to verify, in this order: the mildest; the mildest that was clear (three standard errors); the clearest."""

    def doubt(c: Combination, errors: float) -> float:
        above, error = excess(sightings.outcomes[c], sightings.clean, breaks)
        return above + errors * error

    if not sightings.hits:
        return []
    broke = [c for c, verdict in sightings.verdicts.items() if verdict == "breaks" and c not in sightings.discarded]
    others = sorted((c for c in broke if c.mildness > sightings.hits[0].mildness), key=lambda c: c.mildness)
    order = sightings.hits[:1]
    order += [c for c in others if doubt(c, 3.0) < 0][:1]
    order += sorted(others, key=lambda c: (doubt(c, 0.0), c.mildness))[:1]
    return list(dict.fromkeys(order))[:ATTEMPTS]


def verify(looks: Looks, c: Combination, n: int, breaks: float, alpha: float, expert: np.ndarray) -> Verified | None:
    """Try a combination on n fresh scenarios, next to their clean controls; None where the budget does not allow it."""
    clean_arm = Combination()
    outcomes = looks.policy([clean_arm, c], n)
    if c not in outcomes:
        return None
    before, after = outcomes[clean_arm], outcomes[c]
    finite = np.isfinite(before) & np.isfinite(after)
    a, b = after[finite].astype(int), before[finite].astype(int)
    both, only_a, only_b, neither = (int(np.sum((a == x) & (b == y))) for x, y in ((1, 1), (1, 0), (0, 1), (0, 0)))
    failing = [s for s, x, y, e in zip(looks.seeds(n), after, before, expert, strict=True) if (x, y, e) == (0, 1, 1)]
    return Verified(
        combination=c,
        clean=clopper_pearson(int(b.sum()), len(b), alpha),
        broken=clopper_pearson(int(a.sum()), len(a), alpha),
        change=newcombe_paired(both, only_a, only_b, neither, alpha),
        margin=_margin(a, b, breaks, alpha),
        expert=solved(expert),
        failing=tuple(failing),
    )


def _margin(broken: np.ndarray, clean: np.ndarray, breaks: float, alpha: float) -> Interval:
    # scenarios stand as planned, in an order that cannot follow outcomes
    return star(broken - breaks * clean, alpha / ATTEMPTS, within=(-breaks, 1.0), shuffled=True)


def too_few(n: int, breaks: float, alpha: float) -> bool:
    """Whether n fresh scenarios verify nothing, even if all are solved clean and all fail under the combination."""
    high = _margin(np.zeros(n), np.ones(n), breaks, alpha).high if n > 0 else None
    return high is None or high >= 0


def least(breaks: float, alpha: float) -> int:
    """The fewest fresh scenarios that can verify anything; at most MOST are looked at, and then more are needed."""
    low, high = 0, 16
    while high < MOST and too_few(high, breaks, alpha):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if too_few(middle, breaks, alpha) else (low, middle)
    return high


def solved(outcomes: Sequence[float] | np.ndarray) -> tuple[int, int]:
    """Successes, of how many; an episode without a verdict is not one."""
    return int(np.nansum(np.asarray(outcomes))), len(outcomes)
