"""The count of one cell: its episodes, its success rate with the interval that fits, and its pace. See `tally`."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foretell.episodes.stopped import rule_words

if TYPE_CHECKING:
    from foretell.stats import Interval

__all__ = ["METHOD_NAMES", "Count", "method_name", "pace_of"]

WINDOW, LEAST = 60.0, 10
"""The pace is that of so many seconds, and of at least so many episodes."""
METHOD_NAMES = {
    "clopper_pearson": "Clopper-Pearson",
    "star": "star, where scenarios were tried several times",
    "betting": "betting (valid at every look), where episodes are still to come",
}
"""Method of an interval -> what a table says of it."""


def method_name(entry: Mapping[str, Any]) -> str:
    """What a table says of the method of an entry's interval."""
    if rule := entry.get("until"):
        return f"{entry['method']} (valid at every look), where scenarios run until {rule_words(rule)}"
    return METHOD_NAMES.get(entry["method"], str(entry["method"]))


@dataclass(kw_only=True)
class Count:
    """What there is of a cell."""

    shown: tuple[str, ...] = ()
    """Names that the plan gives to its episodes. A row with other names was altered, and is no episode of this cell."""
    units: list[str] = field(default_factory=list)
    """Names of scenarios, or of their parents, in the order of the plan."""
    left: list[int] = field(default_factory=list)
    """Episodes still to come of each unit."""
    judged: list[int] = field(default_factory=list)
    solved: list[int] = field(default_factory=list)
    unplanned: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    """Unit -> judged and solved, of rows that no plan has, as imported trials."""
    unplaced: bool = False
    """Whether some of these have no scenario: then nothing orders them, and the interval must not depend on order."""
    leading: int = 0
    """Units at the beginning that are complete."""
    planned: int = 0
    finished: int = 0
    """Number of planned episodes that have ended."""
    rows: int = 0
    """Planned or not."""
    n: int = 0
    successes: int = 0
    retired: bool = False
    """Whether some of the planned ones will never run."""
    errors: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    """Event -> in how many rows it happened."""
    began: float = float("inf")
    ends: deque[float] = field(default_factory=lambda: deque(maxlen=200))
    known: tuple[Any, Interval | None] | None = None
    """The interval last made, and what it was made of."""
    spared: set[int] = field(default_factory=set)
    """Units that do not run, because the cell stopped before."""
    rule: dict[str, Any] | None = None
    """By which it stops, as `planned.rules_of` gives it."""

    @property
    def stopped(self) -> bool:
        """Whether its rule stopped it before the largest number of scenarios."""
        units = len(self.left) - len(self.spared)
        return self.rule is not None and self.finished == self.planned and units < int(self.rule["horizon"])

    def interval(self, alpha: float) -> tuple[int, int, Interval | None]:
        """(n, successes, interval): of all rows when the cell is complete, else of the leading ones."""
        from foretell.stats import betting, bound
        from foretell.stats.order import by_id
        from foretell.stats.until import interval_at

        running = self.finished < self.planned
        end, early = self.leading, running or self.rule is not None
        n, k = (sum(self.judged[:end]), sum(self.solved[:end])) if early else (self.n, self.successes)
        basis = (alpha, running, end, n, k)
        if self.known is None or self.known[0] != basis:
            interval = None
            if early and n:
                scores = [s / j for s, j in zip(self.solved[:end], self.judged[:end], strict=True) if j]
                if self.rule is not None:
                    interval = interval_at(scores, int(self.rule["horizon"]), alpha)
                else:
                    interval = betting(scores, alpha, horizon=len(self.left))
            elif n:
                units = {name: (j, s) for name, j, s in zip(self.units, self.judged, self.solved, strict=True)}
                for name, (judged, solved) in self.unplanned.items():  # a scenario may have planned rows and others
                    j, s = units.get(name, (0, 0))
                    units[name] = (j + judged, s + solved)
                pairs = list(units.values())
                if any(j > 1 for j, _ in pairs):  # bets see one after the other; what is counted has no order
                    pairs = [pairs[i] for i in by_id(list(units))]  # as `foretell bound` takes them
                means = [s / j for j, s in pairs if j]
                interval = bound(means, alpha=alpha, unordered=self.unplaced, shuffled=not self.unplaced)
            self.known = (basis, interval)
        return n, k, self.known[1]


def pace_of(ended: deque[float], since: float, now: float) -> float | None:
    """Episodes per second of late, from the times at which they ended; None before the first."""
    ends = sorted(ended)
    if not ends or now <= since:
        return None
    late = sum(end > now - WINDOW for end in ends)
    count = max(late, min(LEAST, len(ends)))
    if count == len(ends) != ended.maxlen:
        return count / (now - since)
    first = ends[-count]
    return (count - 1) / (now - first) if count > 1 and now > first else None
