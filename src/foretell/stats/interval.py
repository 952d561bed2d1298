"""`Interval`: one bound on one number, with what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any, Literal

Guarantee = Literal["finite-sample", "asymptotic"]
"""`finite-sample`: covers at the stated level for every n. `asymptotic`: only as n grows."""

OPEN: Literal["open"] = "open"
"""Horizon of whoever looks at will without having planned a number of trials."""
Horizon = int | Literal["open"] | None
"""Planned number of trials of whoever looks after each one; None: a single look at the end, in canonical order."""

ALPHA = 0.05
"""Default miscoverage: intervals are 95 % unless asked otherwise."""

IID = "scores drawn independently from one distribution"
PAIRS = "which simulated scores have a real partner chosen without looking at outcomes"
ALIKE = "paired and extra scores drawn from the same distribution"
UNFITTED = "a simulator that was not fitted to these real trials"
RANGE = "scores bounded in the stated range"
NORMAL = "sample large enough for a normal approximation"
BINARY = "scores are 0 or 1"
FIXED_N = "number of trials fixed in advance"
HASHED = "scores taken in an order drawn by a hash of all of them, which cannot follow outcomes"
SHUFFLED = "scores listed in an order that cannot follow outcomes"
UNITED = "scores taken in several orders drawn by a hash of all of them, and the intervals united"
AS_RUN = "scores listed in the order in which trials were run, and that order chosen without looking at outcomes"
PLANNED = "planned number of trials fixed before the first look"
SAME_EXTRA = "the same extra scores at every look"
CONTRADICTION = "early and late trials contradict each other at this level, so the interval is that of level {:.3g}"


def check_horizon(horizon: Any) -> Horizon:
    """`horizon` itself: None, "open" or a whole number from 1 on. Anything else is no plan, and raises."""
    if horizon is None or (isinstance(horizon, str) and horizon == OPEN):
        return None if horizon is None else OPEN
    if not isinstance(horizon, bool) and hasattr(horizon, "__index__") and (planned := index(horizon)) >= 1:
        return planned
    raise ValueError(f"horizon must be a whole number from 1 on, or 'open', got {horizon!r}")


def looked_at(horizon: Horizon, extra: int = 0) -> tuple[str, ...]:
    """What a bet trial by trial assumes about the order; `horizon` as in `bounds.bound`. extra: scores without a real
    partner, which are dealt to the trials."""
    if horizon is None:
        return (HASHED, FIXED_N)
    return (AS_RUN, *((PLANNED,) if horizon != OPEN else ()), *((SAME_EXTRA,) if extra else ()))


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A two-sided confidence interval [low, high] at level 1 - alpha."""

    estimate: float
    """Point estimate; always inside [low, high] when both are given."""
    low: float | None
    """Lower end; None when the data cannot support one (see `reason`)."""
    high: float | None
    """Upper end; None when the data cannot support one."""
    alpha: float
    """Allowed probability of missing the truth."""
    method: str
    """Name of the function that produced it."""
    guarantee: Guarantee
    """How strong the claim is."""
    assumes: tuple[str, ...]
    """What the guarantee relies on, in words."""
    n: int
    """Number of real scenarios (or trials)."""
    n_extra: int = 0
    """Number of simulated scenarios without a real partner."""
    reason: str | None = None
    """Why an end is missing, or why the guarantee was lowered."""
    anytime: bool = False
    """True when the interval may be looked at after every trial and the run stopped at will: its horizon was given."""
    contradiction: float | None = None
    """Level of these ends where early and late trials contradict each other at alpha; None where they do not."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader, e.g. which method was chosen and why."""
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    """Numbers that help to judge the interval (see `bounds.diagnose`)."""

    @property
    def width(self) -> float:
        """high - low; infinite when an end is missing."""
        if self.low is None or self.high is None:
            return float("inf")
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form. `reason`, `anytime`, `contradiction`, `notes` and `diagnostics` stand there only where they
        say something."""
        row: dict[str, Any] = {
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "alpha": self.alpha,
            "method": self.method,
            "guarantee": self.guarantee,
            "assumes": list(self.assumes),
            "n": self.n,
            "n_extra": self.n_extra,
        }
        if self.reason is not None:
            row["reason"] = self.reason
        if self.anytime:
            row["anytime"] = True
        if self.contradiction is not None:
            row["contradiction"] = self.contradiction
        if self.notes:
            row["notes"] = list(self.notes)
        if self.diagnostics:
            row["diagnostics"] = dict(self.diagnostics)
        return row
