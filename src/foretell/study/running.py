"""Where a study stands: of every cell, how many of how many, and a success rate that may be looked at any time.

A *cell* is one world, task, policy, clock and arm: one line of the answer. `Tally.figures` is the one place where its
line is made, for `foretell show`, the terminal, the live view and the report alike.

A cell that has all its planned episodes gets the interval that `foretell bound` gives: Clopper-Pearson's, which wants
n fixed in advance, or `star` on the means of scenarios where some were tried several times. Until then its figures
are *running*: they hold at any moment at which somebody looks or stops (`betting`, Ville's inequality). For
that the order must not depend on the outcomes, and the order in which episodes end does: those that succeed end
first, so the episodes that have ended at some moment look better than they are. So running figures count the leading
scenarios of the plan, up to the first with an episode still to come, and an episode that ended early waits its turn.
Validity asks no more: the interval holds for all prefixes at once, so which one is looked at may depend on anything.
Trials of one scenario, or of children of one parent, are no independent draws, and enter as their mean.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from foretell.clock import label
from foretell.scenario import digest

if TYPE_CHECKING:
    from foretell.stats import Interval

__all__ = ["CELL", "COLUMNS", "Tally"]

CELL = (
    "world", "world_hash", "task", "policy", "policy_hash", "policy_options", "clock", "arm",
    "task_version", "task_hash",
)  # fmt: skip
"""Columns that tell cells apart: a changed weight file, task or θ never mixes with old rows."""
COLUMNS = (*CELL, "episode", "scenario", "parent", "success", "blame", "wall_started", "wall_s")
"""What a tally reads of a row."""
WINDOW, LEAST = 60.0, 10
"""The pace is that of so many seconds, and of at least so many episodes."""


@dataclass
class _Cell:
    units: list[str] = field(default_factory=list)
    """Names of scenarios, or of their parents, in the order of the plan."""
    left: list[int] = field(default_factory=list)
    """Episodes still to come of each unit."""
    judged: list[int] = field(default_factory=list)
    solved: list[int] = field(default_factory=list)
    unplanned: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    """Unit -> judged and solved, of rows that no plan has, as imported trials."""
    leading: int = 0
    """Units at the beginning that are complete."""
    planned: int = 0
    finished: int = 0
    """Of the planned ones."""
    rows: int = 0
    """Planned or not."""
    n: int = 0
    successes: int = 0
    retired: bool = False
    """Whether some of the planned ones will never run."""
    errors: Counter[str] = field(default_factory=Counter)
    began: float = float("inf")
    ends: deque[float] = field(default_factory=lambda: deque(maxlen=200))
    known: tuple[Any, Interval | None] | None = None
    """The interval last made, and what it was made of."""

    def interval(self, alpha: float) -> tuple[int, int, Interval | None]:
        """(n, successes, interval): of all rows when the cell is complete, else of the leading ones."""
        from foretell.stats import betting, bound
        from foretell.stats.order import by_id

        running = self.finished < self.planned
        end = self.leading
        n, k = (sum(self.judged[:end]), sum(self.solved[:end])) if running else (self.n, self.successes)
        made_of = (alpha, running, end, n, k)
        if self.known is None or self.known[0] != made_of:
            found = None
            if running and n:
                pairs = zip(self.solved[:end], self.judged[:end], strict=True)
                found = betting([s / j for s, j in pairs if j], alpha, horizon=len(self.left))
            elif n:
                units = [*zip(self.units, self.judged, self.solved, strict=True)]
                units += [(name, *counts) for name, counts in self.unplanned.items()]
                units = [units[i] for i in by_id([name for name, *_ in units])]  # as `foretell bound` takes them
                found = bound([s / j for _, j, s in units if j], alpha=alpha)
            self.known = (made_of, found)
        return n, k, self.known[1]


class Tally:
    """Counts episodes as they end, in any order and twice if need be. Another thread may ask for figures meanwhile.

    `plan`: what is to come, in its order, each with the columns `CELL`, `episode` and `unit`.
    """

    def __init__(self, plan: Iterable[Mapping[str, Any]] = (), since: float = 0.0) -> None:
        self.since = since
        """Seconds since the epoch: the pace is reckoned from there."""
        self._cells: dict[tuple[str, ...], _Cell] = defaultdict(_Cell)
        self._where: dict[str, tuple[_Cell, int]] = {}
        self._retired = 0
        self._blames: dict[str, str | None] = {}
        self._ends: deque[float] = deque(maxlen=1000)
        units: dict[tuple[int, str], int] = {}
        for entry in plan:
            cell = self._cells[_names(entry)]
            unit = units.setdefault((id(cell), entry["unit"]), len(cell.left))
            if unit == len(cell.left):
                cell.units.append(entry["unit"])
                for counts in (cell.left, cell.judged, cell.solved):
                    counts.append(0)
            cell.left[unit] += 1
            cell.planned += 1
            if entry.get("retired"):
                cell.retired = True
                self._retired += 1
            self._where[entry["episode"]] = (cell, unit)

    @property
    def planned(self) -> int:
        """Without what is retired."""
        return len(self._where) - self._retired

    @property
    def finished(self) -> int:
        """Of those planned."""
        return sum(cell.finished for cell in self._cells.values())

    def add(self, row: Mapping[str, Any]) -> None:
        """One row, with `COLUMNS`. Of several of one key, one that is blamed on the machine gives way."""
        key, blame, success = row["episode"], row["blame"], row["success"]
        again = key in self._blames
        if again and (self._blames[key] != "machine" or blame == "machine"):
            return
        self._blames[key] = blame
        cell, unit = self._where.get(key) or (self._cells[_names(row)], None)
        if again:
            cell.errors["machine"] -= 1
        else:
            cell.rows += 1
        if blame is not None:
            cell.errors[blame] += 1
        judged, solved = (0, 0) if success is None else (1, int(success))
        cell.n += judged
        cell.successes += solved
        if unit is not None:
            cell.finished += not again
            cell.left[unit] -= not again
            cell.judged[unit] += judged
            cell.solved[unit] += solved
            while cell.leading < len(cell.left) and cell.left[cell.leading] == 0:
                cell.leading += 1
        elif judged:
            counts = cell.unplanned[row.get("parent") or row.get("scenario") or key]
            counts[:] = counts[0] + judged, counts[1] + solved
        end = (row["wall_started"] or 0.0) + (row["wall_s"] or 0.0)
        if end >= self.since:
            cell.began = min(cell.began, max(self.since, row["wall_started"] or 0.0))
            cell.ends.append(end)
            self._ends.append(end)

    def pace(self, now: float | None = None) -> float | None:
        """Episodes per second of late; None before the first."""
        return _pace(self._ends, self.since, time.time() if now is None else now)

    def figures(self, alpha: float = 0.05, now: float | None = None) -> list[dict[str, Any]]:
        """One entry per cell: the names, n, successes, rate, interval, errors; `planned`, `finished`, `running` and
        `retired` (n is then that of the leading scenarios), the `method` of the interval, and the `pace` in episodes
        per second.

        Errors blamed on the policy count as failures; those of world or machine are left out of n and counted apart.
        A policy whose weights changed, a task whose file did, or a world whose θ did, under one name is listed once for
        each, with its hash.
        """
        now = time.time() if now is None else now
        hashes: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for world, world_hash, task, policy, policy_hash, options, _, _, *source in self._cells:
            hashes["world", world].add(world_hash)
            if source[0]:  # a plan without versions, of an older foretell
                hashes["task", task].add(digest(source))
            hashes[task, policy].add(digest([policy_hash, options]))
        found = []
        for names in sorted(self._cells, key=_order):
            world, world_hash, task, policy, policy_hash, options, clock, arm, *source = names
            cell = self._cells[names]
            n, successes, interval = cell.interval(alpha)
            left = cell.finished < cell.planned
            if len(hashes["world", world]) > 1:
                world += f"#{world_hash[:6]}"
            if len(hashes[task, policy]) > 1:
                policy += f"#{digest([policy_hash, options])[:6]}"
            if len(hashes["task", task]) > 1:
                task += f"#{digest(source)[:6]}"
            found.append(
                {
                    "world": world,
                    "task": task,
                    "policy": policy,
                    "clock": _label(clock),
                    "arm": arm,
                    "n": n,
                    "successes": successes,
                    "rate": interval.estimate if interval else None,
                    "low": interval.low if interval else None,
                    "high": interval.high if interval else None,
                    "alpha": alpha,
                    "errors": {blame: count for blame, count in dict(cell.errors).items() if count},
                    "method": interval.method if interval else None,
                    "running": left and not cell.retired,
                    "retired": left and cell.retired,
                    "finished": cell.rows,
                    "planned": cell.planned + cell.rows - cell.finished,
                    "pace": _pace(cell.ends, cell.began, now) if left and not cell.retired else None,
                }
            )
        return found


def _names(row: Mapping[str, Any]) -> tuple[str, ...]:
    found = map(row.get, CELL)
    return tuple("" if value is None else str(value) for value in found)  # a part or plan may be older than a column


_label = lru_cache(maxsize=1000)(label)


def _order(names: tuple[str, ...]) -> tuple[Any, ...]:
    """By name, the plain clocks before those with options."""
    *first, clock, arm, version, source = names
    return (*first, version, source, _label(clock).partition(" ")[0], clock, arm)


def _pace(ended: deque[float], since: float, now: float) -> float | None:
    ends = sorted(ended)
    if not ends or now <= since:
        return None
    late = sum(end > now - WINDOW for end in ends)
    count = max(late, min(LEAST, len(ends)))
    if count == len(ends) != ended.maxlen:
        return count / (now - since)
    first = ends[-count]
    return (count - 1) / (now - first) if count > 1 and now > first else None
