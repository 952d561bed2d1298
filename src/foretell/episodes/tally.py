"""Where a study stands: of every cell, how many of how many, and a success rate that may be looked at any time.

A *cell* is one world, task, controller, policy, clock and arm: one line of the answer. `Tally.figures` is the one place
where its line is made, for `foretell show`, the terminal, the live view and the report alike.

A cell that has all its planned episodes gets the interval that `foretell bound` gives: Clopper-Pearson's, which wants
n fixed in advance, or `star` on the means of scenarios where some were tried several times. Until then its figures
are *running*: they hold at any moment at which somebody looks or stops (`betting`, Ville's inequality). For
that the order must not depend on the outcomes, and the order in which episodes end does: those that succeed end
first, so the episodes that have ended at some moment look better than they are. So running figures count the leading
scenarios of the plan, up to the first with an episode still to come, and an episode that ended early waits its turn.
Validity asks no more: the interval holds for all prefixes at once, so which one is looked at may depend on anything.
Trials of one scenario, or of children of one parent, are no independent draws, and enter as their mean.

A cell that stops by a rule (`until` in a study) has a number of scenarios that depends on outcomes. Its interval is
that of the rule (`stats.until`), before and after it stopped.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episodes.cells import Cell, cells_of, turns_of
from foretell.episodes.columns import by_name, cells, codes
from foretell.episodes.count import Count, pace_of
from foretell.episodes.names import names_of
from foretell.episodes.planned import CELL, PLAN, is_retired, rules_of
from foretell.episodes.units import unit_of, units
from foretell.stats.interval import ALPHA

__all__ = ["COLUMNS", "Tally"]

COLUMNS = (*CELL, "judge", "episode", "scenario", "parent", "success", "blame", "events", "wall_started", "wall_s")
"""What a tally reads of a row."""


class Tally:
    """Counts episodes as they end, in any order and twice if need be. Another thread may ask for figures meanwhile.

    `plan`: what is to come, with the columns `PLAN`. `rows`: what has ended before, with `COLUMNS`, each episode once.
    """

    def __init__(
        self, plan: pa.Table | Iterable[Mapping[str, Any]] = (), since: float = 0.0, rows: pa.Table | None = None
    ) -> None:
        self.since = since
        """Seconds since the epoch: the pace is reckoned from there."""
        self._cells: dict[Cell, Count] = defaultdict(Count)
        self._plan: Any = None
        self._rows: Any = None
        """What `_load` was given, until `add` needs it by key."""
        self._retired = 0
        self._ends: deque[float] = deque(maxlen=1000)
        table = plan if isinstance(plan, pa.Table) else pa.Table.from_pylist(list(plan), schema=PLAN)
        if len(table) or rows is not None:
            self._load(table, PLAN.empty_table() if rows is None else rows)

    @cached_property
    def _where(self) -> dict[str, tuple[Count, int]]:
        """Planned episode -> its cell, and which unit of that."""
        if self._plan is None:
            return {}
        names, owners, group, within = self._plan
        return dict(zip(cells(names), zip(_spread(owners, group), within.tolist(), strict=True), strict=True))

    @cached_property
    def _blames(self) -> dict[str, str | None]:
        """Episode -> its blame, for all rows so far."""
        return dict(zip(*map(cells, self._rows), strict=True)) if self._rows else {}

    def _load(self, plan: pa.Table, rows: pa.Table) -> None:
        """The plan, and the rows that there are, all at once: as `add` for each, in a hundredth of the time."""
        group, names = cells_of(plan)
        owners = [self._cells[name] for name in names]
        for cell, name in zip(owners, names, strict=True):
            cell.shown = name.shown
        turn = turns_of(group, codes(plan["unit"])[0])
        number, unit = turn.number, turn.owner
        titles = np.array(plan["unit"].take(pa.array(turn.first)).to_pylist(), dtype=object)
        self._plan = (plan["episode"], owners, group, turn.within[number])
        for index, rule in rules_of(plan, group).items():
            owners[index].rule = rule
        given_up = np.bincount(group[is_retired(plan)], minlength=len(owners))
        self._retired = int(given_up.sum())
        left, judged, solved = np.bincount(number, minlength=len(unit)), *np.zeros((2, len(unit)), dtype=np.int64)
        for cell, planned in zip(owners, np.bincount(group, minlength=len(owners)).tolist(), strict=True):
            cell.planned = planned
        for index in np.flatnonzero(given_up).tolist():
            owners[index].retired = True
        if rows.num_rows:
            at = pc.index_in(rows["episode"], value_set=plan["episode"].combine_chunks()).fill_null(-1).to_numpy()
            mine, others = cells_of(rows)
            every = [*owners, *(self._cells[name] for name in others)]
            number_of = {shown: i for i, shown in enumerate(dict.fromkeys(n.shown for n in [*names, *others]))}
            mine_of, other_of = (np.array([number_of[n.shown] for n in ns], dtype=int) for ns in (names, others))
            known = at >= 0
            known[known] = mine_of[group[at[known]]] == other_of[mine[known]]
            place = len(owners) + mine
            place[known] = group[at[known]]
            counts, right = _judged(rows["success"])
            left -= np.bincount(number[at[known]], minlength=len(unit))
            judged += np.bincount(number[at[known]], counts[known], minlength=len(unit)).astype(np.int64)
            solved += np.bincount(number[at[known]], right[known], minlength=len(unit)).astype(np.int64)
            self._count(every, place, known, counts, right, rows)
            self._unplanned(every, place, np.flatnonzero(~known & (counts > 0)), right, rows)
        for index, (cell, leading) in enumerate(zip(owners, turn.leading(left, len(owners)).tolist(), strict=True)):
            mine = unit == index
            cell.units, cell.left, cell.judged, cell.solved = (a[mine].tolist() for a in (titles, left, judged, solved))
            cell.leading = leading

    def _count(
        self,
        every: list[Count],
        place: np.ndarray,
        known: np.ndarray,
        counts: np.ndarray,
        right: np.ndarray,
        rows: Any,
    ) -> None:
        """Rows into the cells of their place; a cell may have two."""
        blame, blames = codes(rows["blame"])
        self._rows = (rows["episode"], rows["blame"])
        sums = (
            np.bincount(place, given, minlength=len(every)).astype(int).tolist()
            for given in (None, counts, right, known)
        )
        for cell, ended, n, successes, finished in zip(every, *sums, strict=True):
            cell.rows += ended
            cell.n += n
            cell.successes += successes
            cell.finished += finished
        wrong = np.flatnonzero(blame >= 0)
        pairs, first, times = np.unique(
            place[wrong] * (len(blames) + 1) + blame[wrong], return_index=True, return_counts=True
        )
        for i in np.argsort(first).tolist():  # in the order in which they come
            every[pairs[i] // (len(blames) + 1)].errors[blames[pairs[i] % (len(blames) + 1)]] += int(times[i])
        for name, number in by_name(rows["events"]).items():
            happened = np.bincount(place[number > 0], minlength=len(every))
            for index in np.flatnonzero(happened).tolist():
                every[index].events[name] += int(happened[index])
        began, took = (rows[c].fill_null(0.0).to_numpy() for c in ("wall_started", "wall_s"))
        late = np.flatnonzero(began + took >= self.since)
        for i in late[np.argsort(began[late] + took[late], kind="stable")].tolist() if self.since else ():
            cell = every[place[i]]
            cell.began = min(cell.began, max(self.since, float(began[i])))
            cell.ends.append(float(began[i] + took[i]))
            self._ends.append(float(began[i] + took[i]))

    def _unplanned(
        self, every: list[Count], place: np.ndarray, which: np.ndarray, right: np.ndarray, rows: Any
    ) -> None:
        """Count judged rows that no plan has, each for its unit."""
        rows = rows.select(["parent", "scenario", "episode"]).take(pa.array(which))
        for i, unit in zip(which.tolist(), cells(units(rows)), strict=True):
            counts = every[place[i]].unplanned[unit]
            counts[:] = counts[0] + 1, counts[1] + int(right[i])
        unplaced = units(rows.drop_columns("episode")).is_null().to_numpy()
        for owner in np.unique(place[which[unplaced]]).tolist():
            every[owner].unplaced = True

    @property
    def planned(self) -> int:
        """Without what is retired."""
        return sum(cell.planned for cell in self._cells.values()) - self._retired

    @property
    def finished(self) -> int:
        """Number of planned episodes that have ended."""
        return sum(cell.finished for cell in self._cells.values())

    def add(self, row: Mapping[str, Any]) -> None:
        """One row, with `COLUMNS`. Of several of one key, one that is blamed on the machine gives way."""
        key, blame, success = row["episode"], row["blame"], row["success"]
        again = key in self._blames
        if again and (self._blames[key] != "machine" or blame == "machine"):
            return
        self._blames[key] = blame
        cell, unit = self._where.get(key, (None, None))
        mine = Cell.of(row)
        if cell is None or cell.shown != mine.shown:
            cell, unit = self._cells[mine], None
        if again:
            cell.errors["machine"] -= 1
        else:
            cell.rows += 1
        if blame is not None:
            cell.errors[blame] += 1
        cell.events.update(name for name, times in dict(row.get("events") or ()).items() if times > 0)
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
            placed = unit_of(row.get("parent"), row.get("scenario"))
            cell.unplaced |= placed is None
            counts = cell.unplanned[placed or key]
            counts[:] = counts[0] + judged, counts[1] + solved
        end = (row["wall_started"] or 0.0) + (row["wall_s"] or 0.0)
        if end >= self.since:
            cell.began = min(cell.began, max(self.since, row["wall_started"] or 0.0))
            cell.ends.append(end)
            self._ends.append(end)

    def spare(self, episodes: Iterable[str]) -> None:
        """These episodes will not run: their cells stopped before."""
        for key in episodes:
            cell, unit = self._where.pop(key, (None, 0))
            if cell is not None:
                cell.planned -= 1
                cell.left[unit] -= 1
                cell.spared.add(unit)
                while cell.leading < len(cell.left) and cell.left[cell.leading] == 0:
                    cell.leading += 1

    def failing(self) -> list[str]:
        """Planned policies of which every episode so far ended in an error, whoever is to blame."""
        ended: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        for cell, count in self._cells.items():
            if count.planned:
                ended[cell.policy] += count.rows
                wrong[cell.policy] += count.errors.total()
        return [policy for policy, total in ended.items() if total and wrong[policy] == total]

    def pace(self, now: float | None = None) -> float | None:
        """Episodes per second of late; None before the first."""
        return pace_of(self._ends, self.since, time.time() if now is None else now)

    def figures(
        self, alpha: float = ALPHA, now: float | None = None, *, begun: bool = False, besides: Iterable[Cell] = ()
    ) -> list[dict[str, Any]]:
        """One entry per cell: the names, n, successes, rate, interval, errors, `events` (in how many episodes
        each happened); `planned`, `finished`, `running` and `retired` (n is then that of the leading scenarios), the
        `method` of the interval, `until` (the rule by which the cell stops, or None), `stopped` (whether it did so
        before its largest number of scenarios), and the `pace` in episodes per second.

        Errors blamed on the policy count as failures; those of world or machine are left out of n and counted apart.
        A policy whose weights changed, a task whose file did, or a world whose θ did, under one name is listed once for
        each, with its hash. `begun`: only cells that have rows, with the names that these rows have in other answers.
        `besides`: cells of other runs on the same page, as `names_of` takes them.
        """
        now = time.time() if now is None else now
        cells = sorted((cell for cell, count in self._cells.items() if count.rows or not begun), key=_order)
        entries = []
        for cell, name in zip(cells, names_of(cells, besides), strict=True):
            count = self._cells[cell]
            n, successes, interval = count.interval(alpha)
            left = count.finished < count.planned
            entries.append(
                {
                    **asdict(name),
                    "n": n,
                    "successes": successes,
                    "rate": interval.estimate if interval else None,
                    "low": interval.low if interval else None,
                    "high": interval.high if interval else None,
                    "alpha": alpha,
                    "errors": {blame: k for blame, k in dict(count.errors).items() if k},
                    "events": {event: k for event, k in dict(count.events).items() if k},
                    "method": interval.method if interval else None,
                    "running": left and not count.retired,
                    "retired": left and count.retired,
                    "finished": count.rows,
                    "planned": count.planned + count.rows - count.finished,
                    "until": count.rule,
                    "stopped": count.stopped,
                    "pace": pace_of(count.ends, count.began, now) if left and not count.retired else None,
                }
            )
        return entries


def _spread(values: list[Any], index: np.ndarray) -> list[Any]:
    """values[i] for each i of the index."""
    boxed = np.empty(len(values), dtype=object)
    boxed[:] = values
    spread: list[Any] = boxed[index].tolist()
    return spread


def _judged(success: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Row -> whether it was judged, and whether it succeeded, as 0 and 1."""
    valid, right = success.is_valid(), success.fill_null(False)
    return valid.to_numpy().astype(np.int64), right.to_numpy().astype(np.int64)


def _order(cell: Cell) -> tuple[Any, ...]:
    """By name, the plain clocks before those with options."""
    names = (cell.world, cell.world_hash, cell.task, cell.policy, cell.policy_hash, cell.policy_options)
    return (*names, cell.task_version, cell.task_hash, cell.controller, _kind(cell.clock), cell.clock, cell.arm)


@lru_cache(maxsize=1000)
def _kind(clock: str) -> str:
    return str(json.loads(clock)["kind"])
