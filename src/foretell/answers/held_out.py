"""A simulator must not be judged by the real trials that it was fitted to: those pairs are left out, or refused.

A world file says which scenarios it was fitted to (`fitted_to`), and a row of a run whether its own is one of them. It
also has the real episodes (`fitted_episodes`), and so has a run of a search for θ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from foretell.answers.choice import labels
from foretell.answers.inputs import Source, open_table
from foretell.answers.words import plain
from foretell.counting import counted
from foretell.errors import UsageError

if TYPE_CHECKING:
    from foretell.answers.units import Measured

__all__ = ["as_evidence", "held_out", "leave_out", "used"]

LEAST = 2
"""Pairs that must be left."""


def as_evidence(sim: Source | None, metric: str | None, fitted: bool) -> Source | None:
    """The simulations, of which all count where `fitted` asks for it, those too that the simulator was fitted to. The
    answer says so in its notes. Else as they are."""
    if sim is None or not fitted:
        return sim
    table = open_table(sim, "sim", metric=metric)
    rows = sum(str(cell).lower() not in ("none", "false", "no", "0", "") for cell in table.columns.get("fitted_to", ()))
    count = counted(rows, "row counts", "rows count") if rows else "its rows count"
    note = (
        f"{table.name}: {count} although the simulator was fitted to real trials "
        "of the same scenario, because you asked for it (fitted): the answer looks better than the simulator is"
    )
    columns = {name: column for name, column in table.columns.items() if name != "fitted_to"}
    notes = (*table.notes, *([note] if rows or table.fitted_episodes else []))
    return replace(table, columns=columns, notes=notes, fitted_episodes=frozenset())


def used(real: Iterable[Measured], sims: Iterable[Measured]) -> frozenset[str]:
    """Scenarios that simulators were fitted to: as their rows say, or because a real episode of them was used."""
    sims = list(sims)
    fitted = frozenset().union(*(sim.table.fitted_episodes for sim in sims))
    seen = {unit for sim in sims for unit in sim.fitted}
    if fitted:
        for side in real:
            seen.update(unit for unit, row, _ in side.trials if str(side.table.marks[row]) in fitted)
    return frozenset(seen)


def held_out(
    real: Measured, sim: Measured, extra: Measured | None = None
) -> tuple[Measured, Measured, Measured | None, list[str]]:
    """Real and simulated scenarios without those that the simulator was fitted to, and what is to be said about it."""
    sims = [sim, *([extra] if extra is not None else [])]
    seen = used([real], sims)
    if not seen:
        return real, sim, extra, []
    simulated = set(sim.ids)
    _check_left([unit for unit in real.ids if unit in simulated], seen, _world(sims))
    kept, notes = leave_out({"": real}, sims, seen)
    return kept[""], sim.without(seen), extra.without(seen) if extra is not None else None, notes


def leave_out(
    real: Mapping[str, Measured], sims: Iterable[Measured], seen: frozenset[str]
) -> tuple[dict[str, Measured], list[str]]:
    """Real scenarios by name, without those in `seen`. Raises UsageError where fewer than two are left."""
    sims = list(sims)
    world, notes = _world(sims), []
    for name, side in real.items():
        fitted = [unit for unit in side.ids if unit in seen]
        of = f" of policy {plain(name)!r}" if name else ""
        _check_left(side.ids, seen, world, of)
        if fitted:
            notes.append(
                f"{len(fitted)} of {len(side.ids)} pairs{of} are left out, because the {world} was fitted to their "
                f"real trials; {len(side.ids) - len(fitted)} held-out pairs remain"
            )
    tried_units = {unit for side in real.values() for unit in side.ids}
    others = {unit for sim in sims for unit in sim.ids if unit in seen and unit not in tried_units}
    if others:
        few = counted(len(others), "simulated scenario does", "simulated scenarios do")
        notes.append(f"{few} not count as extra either: the {world} was fitted there")
    return {name: side.without(seen) for name, side in real.items()}, notes


def _world(sims: Iterable[Measured]) -> str:
    return next((f"world {plain(w)!r}" for sim in sims for w in labels(sim.table, "world")), "simulator")


def _check_left(pairs: Sequence[str], seen: frozenset[str], world: str, of: str = "") -> None:
    """Raises UsageError where a fit saw some of these scenarios and fewer than two are left."""
    fitted = sum(unit in seen for unit in pairs)
    if fitted and len(pairs) - fitted < LEAST:
        raise UsageError(
            f"the {world} was fitted to the real trials of {fitted} of {counted(len(pairs), 'paired scenario')}{of}, "
            "so these cannot show how well it predicts reality. Try at least 2 scenarios that the fit did not see, or "
            "leave sim out. `bound` and `predictivity` count them all the same with --fitted"
        )
