"""From rows to scenarios, which are the unit of every answer, and from real and simulated ones to pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.answers.choice import labels, single_version
from foretell.answers.counted import at_once, row_by_row
from foretell.answers.held_out import held_out
from foretell.answers.inputs import PROTOCOL, Table, refuse
from foretell.answers.turns import first_trials
from foretell.answers.until_success import until_success
from foretell.answers.words import plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import Paired, Units, by_scenario, pair_units
from foretell.stats.order import by_id

__all__ = ["Measured", "measure", "pair"]


@dataclass(frozen=True, kw_only=True)
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
    trials: Sequence[tuple[str, int, float]] = ()
    """(scenario, row, score) of every trial that counts."""
    turn: Mapping[str, int] | None = None
    """Scenario -> its turn, where scenarios stand as run."""
    waiting: int = 0
    """Trials that do not count because scenarios stand as run: later ones of a scenario, or ahead of the plan."""

    @property
    def ids(self) -> list[str]:
        """Scenarios, in canonical order."""
        return [str(unit) for unit in self.units.ids]

    def as_planned(self) -> Measured:
        """The scenarios in the order planned, with all their trials, of a study that stops by a rule."""
        turn = {unit: self.table.rows[self.first[unit]] for unit in self.ids}
        order = sorted(range(len(self.ids)), key=lambda i: turn[self.ids[i]])
        units = self.units.take(order)
        return replace(self, units=units, turn={str(unit): turn[str(unit)] for unit in units.ids})

    def as_run(self) -> Measured:
        """The scenarios in the order run, each with its first trial, for whoever looks after every trial. Those of a
        study that stops by a rule stand as planned."""
        if self.table.horizon is not None:
            return self.as_planned()
        turn, scores = first_trials(self.table, self.trials)
        if not turn:
            raise UsageError(
                f"{self.table.name}: no trial counts yet: with --horizon trials count in the order planned, and the "
                "first planned trial has not ended; wait for it, or leave --horizon out"
            )
        units = Units(tuple(turn), np.array(scores), (1,) * len(turn))
        return replace(self, units=units, turn=turn, waiting=len(self.trials) - len(turn))

    def only(self, ids: Collection[str]) -> Measured:
        """The same with these scenarios only."""
        return self.without({unit for unit in self.ids if unit not in ids})

    def place(self, unit: str) -> str:
        """File and line where a scenario first appears."""
        return self.table.place(self.first[unit])

    def of(self, ids: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Scores of these scenarios, in this order."""
        at = {unit: i for i, unit in enumerate(self.ids)}
        return self.units.scores[[at[unit] for unit in ids]]

    def without(self, units: Collection[str]) -> Measured:
        """The same without these scenarios."""
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
        notes = list(self.table.notes)
        if self.left_out:
            why = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items())
            left = sum(self.left_out.values())
            notes.append(f"{self.table.name}: {counted(left, 'episode does', 'episodes do')} not count ({why})")
        if self.alone:
            trials = counted(self.alone, "trial has", "trials have")
            notes.append(f"{self.table.name}: {trials} no scenario, so each counts as one of its own")
        if self.waiting:
            trials = counted(self.waiting, "trial does", "trials do")
            notes.append(
                f"{self.table.name}: {trials} not count, because a horizon is given: each scenario counts once, by its "
                "first trial, and a planned study up to the first trial that is still to come"
            )
        return [*notes, *([self.repeats] if self.repeats else [])]


def measure(table: Table, *, whole: bool = False, unit_range: bool = True) -> Measured:
    """Average the table's values within scenarios. A bad cell or a repeated (scenario, trial) raises, with its place.

    whole: a scenario with an episode that does not count is left out, so that all average the same number of rows.
    """
    single_version(table)
    if "scenario" not in table.columns:
        known = ", ".join(plain(c) for c in table.columns if c != "value")
        raise UsageError(f"{table.name} has no column 'scenario'; it has {known[:400]}")
    rows = at_once(table) or row_by_row(table, unit_range)
    trials = list(zip(rows.units(), rows.rows, rows.scores, strict=True))
    if whole and rows.broken:
        trials = [trial for trial in trials if trial[0] not in rows.broken]
    if not trials:
        raise UsageError(f"{table.name} has no row that counts")
    names, _, scores = zip(*trials, strict=True)
    units = by_scenario(names, scores)
    units = units.take(_canonical(units, rows.unplaced))  # the answer must not depend on the order of a file
    again = until_success(rows.tries(), table.name)
    return Measured(
        table=table,
        units=units,
        first=rows.first(),
        left_out=dict(rows.left_out),
        alone=len(rows.unplaced),
        broken=frozenset(rows.broken),
        fitted=frozenset(rows.fitted),
        repeats=again,
        trials=trials,
    )


def _canonical(units: Units, unplaced: Collection[str]) -> NDArray[np.int64]:
    """Permutation of shape (n,) into the order of a hash of the ids.

    An unplaced trial has no scenario, and its id follows its line. So these change places until their scores rise, and
    `Measured.alone` tells who bets that their order means nothing.
    """
    order = by_id(units.ids)
    loose = [place for place, i in enumerate(order) if str(units.ids[i]) in unplaced]
    order[loose] = sorted(order[loose], key=lambda i: float(units.scores[i]))
    return order


def pair(real: Measured, sim: Measured, extra: Measured | None) -> tuple[Paired, list[str]]:
    """Pair real with simulated scenarios; simulated ones without a partner join the extra ones."""
    real, sim, extra, notes = held_out(real, sim, extra)
    known = set(sim.ids)
    lost = [u for u in real.ids if u in sim.broken and u not in known]
    if lost:
        notes.append(
            f"{counted(len(lost), 'real scenario is', 'real scenarios are')} left out because simulation "
            f"could not run there; "
            "the answer holds for scenarios that can be simulated"
        )
    ids = [u for u in real.ids if u in known]
    advice = "simulate it too, for example with `foretell run STUDY --pair-with REAL`"
    faults = [
        f"{real.place(u)}: scenario {plain(u)!r} has no simulated partner in {sim.table.name}; {advice}"
        for u in real.ids
        if u not in known and u not in sim.broken
    ]
    if faults and len(ids) == len(sim.ids):
        hint = "Every scenario of sim is in real: if real is the simulation, real and sim are swapped"
        if len(faults) > len(ids):
            raise UsageError(
                f"{len(faults)} of {len(real.ids)} scenarios of {real.table.name} have no simulated partner in "
                f"{sim.table.name}. {hint}; otherwise simulate them too, with `foretell run STUDY --pair-with REAL`"
            )
        faults[0] += f". {hint}"
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
        paired, added = labels(sim.table, column), labels(extra.table, column)
        if column == "metric":
            paired, added = [sim.table.metric], [extra.table.metric]
        if paired and added and set(paired) != set(added):
            raise UsageError(
                f"extra simulations must be like the paired ones, but {column} is {plain(added[0])!r} in "
                f"{extra.table.name} and {plain(paired[0])!r} in {sim.table.name}"
            )
