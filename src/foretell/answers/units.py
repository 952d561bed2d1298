"""From rows to scenarios, which are the unit of every answer, and from real and simulated ones to pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.answers.choice import labels, single_version
from foretell.answers.held_out import held_out
from foretell.answers.inputs import PROTOCOL, Table, refuse
from foretell.answers.until_success import until_success
from foretell.answers.words import plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import Paired, Units, by_scenario, pair_units
from foretell.stats.order import by_id
from foretell.trials.rows import NO, YES

__all__ = ["Measured", "measure", "pair"]


@dataclass(frozen=True)
class Measured:
    """Scores of one policy, averaged within scenarios."""

    table: Table
    units: Units
    """Its ids are texts."""
    first: dict[str, int]
    """Scenario -> its first row."""
    left_out: dict[str, int]
    """Why episodes do not count (world, machine, not judged) -> how many."""
    alone: int
    """Trials without a scenario, each of which stands for itself."""
    broken: frozenset[str]
    """Scenarios left out because one of their episodes does not count."""
    fitted: frozenset[str] = frozenset()
    """Scenarios whose real trials the rows' simulator was fitted to."""
    repeats: str | None = None
    """A warning, where trials look as if they were repeated until one succeeded."""

    @property
    def ids(self) -> list[str]:
        """Scenarios, in canonical order."""
        return [str(unit) for unit in self.units.ids]

    def as_run(self) -> Measured:
        """The same scenarios in the order of the rows, for whoever looks after every trial."""
        order = sorted(range(len(self.units.ids)), key=lambda i: self.first[str(self.units.ids[i])])
        return replace(self, units=self.units.take(order))

    def only(self, ids: Collection[str]) -> Measured:
        """These scenarios."""
        return self.without({unit for unit in self.ids if unit not in ids})

    def place(self, unit: str) -> str:
        """File and line where a scenario first appears."""
        return self.table.place(self.first[unit])

    def of(self, ids: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Scores of these scenarios, in this order."""
        at = {unit: i for i, unit in enumerate(self.ids)}
        return self.units.scores[[at[unit] for unit in ids]]

    def without(self, units: Collection[str]) -> Measured:
        """All scenarios but these."""
        kept = self.units.take([i for i, unit in enumerate(self.ids) if unit not in units])
        return replace(self, units=kept, fitted=self.fitted - set(units))

    def about(self) -> dict[str, Any]:
        """What was measured, for the answer."""
        named = {c: labels(self.table, c) for c in ("world", "task", "policy", "clock", "arm")}
        return {
            "source": self.table.name,
            **{column: names[0] for column, names in named.items() if names},
            "metric": self.table.metric,
            "rows": len(self.table) - sum(self.left_out.values()),
            "scenarios": len(self.units.ids),
            **({"left_out": self.left_out} if self.left_out else {}),
        }

    def notes(self) -> list[str]:
        told = list(self.table.notes)
        if self.left_out:
            why = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items())
            left = sum(self.left_out.values())
            told.append(f"{self.table.name}: {counted(left, 'episode does', 'episodes do')} not count ({why})")
        if self.alone:
            trials = counted(self.alone, "trial has", "trials have")
            told.append(f"{self.table.name}: {trials} no scenario, so each counts as one of its own")
        return [*told, *([self.repeats] if self.repeats else [])]


def measure(table: Table, *, whole: bool = False, unit_range: bool = True) -> Measured:
    """Average the table's values within scenarios. A bad cell or a repeated (scenario, trial) raises, with its place.

    whole: a scenario with an episode that does not count is left out, so that all average the same number of rows.
    """
    single_version(table)
    if "scenario" not in table.columns:
        known = ", ".join(plain(c) for c in table.columns if c != "value")
        raise UsageError(f"{table.name} has no column 'scenario'; it has {known[:400]}")
    blank: list[Any] = [None] * len(table)
    scenarios, parents = table.columns["scenario"], table.columns.get("parent", blank)
    trials, successes = table.columns.get("trial", blank), table.columns.get("success", blank)
    blames = table.columns.get("blame", blank)
    read = _reader(table)
    seen: dict[tuple[str, str], int] = {}
    rows: list[tuple[str, str | None, float]] = []
    left_out: Counter[str] = Counter()
    alone = 0
    broken: set[str] = set()
    faults: list[str] = []
    first: dict[str, int] = {}
    fitted: set[str] = set()
    marks = table.columns.get("fitted_to", blank)
    tries: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for i, value in enumerate(table.columns["value"]):
        own, up, trial = _name(scenarios[i]), _name(parents[i]), _name(trials[i])
        if own is None and table.episodes:  # a trial whose situation was not written down
            own = f"episode {table.marks[i]}"
            alone += 1
        unit = up or own or ""
        if own is None:
            faults.append(f"{table.place(i)}: the scenario is blank, so the row cannot be placed")
            continue
        if table.episodes and successes[i] is None:
            left_out[str(blames[i] or "not judged")] += 1
            broken.add(unit)
            continue
        before = seen.setdefault((own, trial or ""), i)
        if before != i:
            which = f"trial {plain(trial)!r} of scenario" if trial is not None else "scenario"
            hint = "" if trial is not None else "; a column `trial` tells repeated trials apart"
            faults.append(
                f"{table.place(i)}: {which} {plain(own)!r} is there already, {table.kind} {table.marks[before]}{hint}"
            )
            continue
        score = read(value)
        if score is None or (unit_range and not 0.0 <= score <= 1.0):
            wanted = "a number from 0 to 1" if unit_range else "a number"
            given = "nothing" if value is None else plain(repr(value))[:60]
            faults.append(f"{table.place(i)}, {table.metric!r}: expected {wanted}; given: {given}")
            continue
        if marks[i] is None or marks[i] is False:  # as nearly all are
            pass
        elif (known := _truth(marks[i])) is None:
            faults.append(f"{table.place(i)}, 'fitted_to': expected yes or no; given: {plain(repr(marks[i]))[:60]}")
        elif known:
            fitted.add(unit)
        rows.append((own, up, score))
        tries[unit].append((int(trial) if (trial or "").isdecimal() else i, score))
        first.setdefault(unit, i)
    refuse(faults)
    if whole and broken:
        rows = [row for row in rows if (row[1] or row[0]) not in broken]
    if not rows:
        raise UsageError(f"{table.name} has no row that counts")
    own_names, ups, scores = zip(*rows, strict=True)
    units = by_scenario(own_names, scores, parent=ups)
    units = units.take(by_id(units.ids))  # the answer must not depend on the order of a file
    again = until_success(tries, table.name)
    return Measured(table, units, first, dict(left_out), alone, frozenset(broken), frozenset(fitted), again)


def _reader(table: Table) -> Any:
    if table.metric != "success":
        return table.number
    words = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}

    def read(cell: Any) -> float | None:
        return words.get(cell.lower(), table.number(cell)) if isinstance(cell, str) else table.number(cell)

    return read


def _truth(cell: Any) -> bool | None:
    """Yes or no; blank is no, and None is neither."""
    word = str(cell if cell is not None else "no").strip().lower().removesuffix(".0")
    return True if word in YES else False if word in NO else None


def _name(cell: Any) -> str | None:
    """A scenario or trial as text; 7 and 7.0 are one."""
    if cell is None or isinstance(cell, str):
        return cell or None
    if isinstance(cell, float):
        if cell != cell:
            return None
        return str(int(cell)) if cell.is_integer() else str(cell)
    return str(cell)


def pair(real: Measured, sim: Measured, extra: Measured | None) -> tuple[Paired, list[str]]:
    """Pair real with simulated scenarios; simulated ones without a partner join the extra ones."""
    real, sim, extra, notes = held_out(real, sim, extra)
    known = set(sim.ids)
    lost = [u for u in real.ids if u in sim.broken and u not in known]
    if lost:
        notes.append(
            f"{counted(len(lost), 'real scenario is', 'real scenarios are')} left out because simulation "
            f"could not run there; "
            "the answer speaks of scenarios that it can"
        )
    ids = [u for u in real.ids if u in known]
    advice = "simulate it too, for example with `foretell run STUDY --pair-with REAL`"
    faults = [
        f"{real.place(u)}: scenario {plain(u)!r} has no simulated partner in {sim.table.name}; {advice}"
        for u in real.ids
        if u not in known and u not in sim.broken
    ]
    if faults and len(ids) == len(sim.ids):
        faults[0] += ". Every scenario of sim is in real: if real is the simulation, real and sim are swapped"
    refuse(faults)
    if not ids:
        raise UsageError(f"no scenario of {real.table.name} was simulated in {sim.table.name}")
    if extra is not None:
        _same_simulator(sim, extra)
        again = known | set(real.ids)
        refuse(
            [
                f"{extra.place(u)}: scenario {plain(u)!r} is in {(sim if u in known else real).place(u)} too; "
                "extra scenarios must be others"
                for u in extra.ids
                if u in again
            ]
        )
    _equal_counts(ids, sim, extra)
    kept = Units(tuple(ids), real.of(ids), ())
    return pair_units(kept, sim.units, extra.units if extra is not None else None), notes


def _equal_counts(ids: list[str], sim: Measured, extra: Measured | None) -> None:
    """Paired and extra scores must be draws of one variable, or the control need not have mean zero."""
    if extra is None and len(ids) == len(sim.units.ids):
        return
    if len({*sim.units.counts, *(extra.units.counts if extra is not None else ())}) == 1:
        return
    counted = [(sim, u, c) for u, c in zip(sim.ids, sim.units.counts, strict=True)]
    counted += [(extra, u, c) for u, c in zip(extra.ids, extra.units.counts, strict=True)] if extra else []
    usual = Counter(c for _, _, c in counted).most_common(1)[0][0]
    refuse(
        [
            f"{where.place(u)}: scenario {plain(u)!r} averages {c} rows, others {usual}: "
            "simulated scenarios, paired and extra, must average the same number"
            for where, u, c in counted
            if c != usual
        ]
    )


def _same_simulator(sim: Measured, extra: Measured) -> None:
    for column in ("world", "world_hash", "version", "task", *PROTOCOL, "clock", "arm", "metric"):
        one, other = labels(sim.table, column), labels(extra.table, column)
        if column == "metric":
            one, other = [sim.table.metric], [extra.table.metric]
        if one and other and set(one) != set(other):
            raise UsageError(
                f"extra simulations must be like the paired ones, but {column} is {plain(other[0])!r} in "
                f"{extra.table.name} and {plain(one[0])!r} in {sim.table.name}"
            )
