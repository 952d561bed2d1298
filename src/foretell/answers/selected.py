"""A bound from scenarios that a study chose among simulated ones with unequal, known chances (`scenarios: select`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretell.answers.choice import labels
from foretell.answers.inputs import Table
from foretell.answers.units import Measured
from foretell.answers.words import of_scenarios
from foretell.counting import counted
from foretell.episodes.selection import Chosen, read_selection
from foretell.errors import UsageError
from foretell.stats.interval import Interval
from foretell.stats.sampling import sampled_bound

__all__ = ["selected_bound", "unequally_chosen"]

UNKNOWN = 0.5
"""Score of a scenario that simulation could not run: any number is valid that no real trial decided."""


def unequally_chosen(real: Table, sim: object, method: str, other: bool) -> Chosen | None:
    """The choice that a bound on these real rows must take into account; None where every scenario had the same chance.
    Raises UsageError where it cannot. sim: the simulations, if any. other: whether a horizon or extra was given."""
    if real.run is None:
        return None
    tasks = [name.partition("#")[0].partition(" (")[0] for name in labels(real, "task")]
    known = read_selection(real.run)
    chosen = next((known[task] for task in tasks if task in known), None)
    if chosen is None or chosen.selection.rule == "uniform":
        return None
    why = f"the scenarios of {real.name} were chosen with unequal chances (select: {chosen.selection.rule})"
    if sim is None:
        raise UsageError(f"{why}, so real trials alone are no fair sample: give sim, the run that they come from")
    if method not in ("auto", "all") or other:
        raise UsageError(f"{why}, and only the method sampled_bound applies: leave method, horizon and extra out")
    if real.early is not None:
        raise UsageError(f"{why}, and some have no trial yet: run the rest of the study first")
    return chosen


def selected_bound(chosen: Chosen, real: Measured, sim: Measured, alpha: float) -> tuple[Interval, list[str]]:
    """The interval of the mean over all scenarios that could have been chosen, and notes.

    A chosen scenario whose trial does not count, because the world failed, is a failure for the lower end and a success
    for the upper one. Which others would have failed so, nobody knows.
    """
    pool, notes = list(chosen.pool), []
    simulated = dict(zip(sim.ids, sim.units.scores.tolist(), strict=True))
    if not simulated.keys() & set(pool):
        raise UsageError(
            f"{sim.table.name} has none of the scenarios among which those of {real.table.name} were chosen"
        )
    f = np.array([simulated.get(unit, UNKNOWN) for unit in pool])
    if lacking := sum(unit not in simulated for unit in pool):
        notes.append(f"{counted(lacking, 'scenario was', 'scenarios were')} not simulated, and counts as {UNKNOWN}")
    tried = dict(zip(real.ids, real.units.scores.tolist(), strict=True))
    missing = [unit for unit in chosen.ids if unit not in tried]
    if missing:
        notes.append(
            f"{counted(len(missing), 'chosen scenario has', 'chosen scenarios have')} no trial that counts: a failure "
            "for the lower end, a success for the upper one"
        )
    low, high = (
        sampled_bound([tried.get(unit, worst) for unit in chosen.ids], f, chosen.selection, alpha)
        for worst in (0.0, 1.0)
    )
    least, most = chosen.selection.probability.min(), chosen.selection.probability.max()
    notes.append(
        f"{len(chosen.ids)} of {len(pool)} scenarios were chosen by coins with chances of {least:.1%} to {most:.1%} "
        f"(select: {chosen.selection.rule}); the bound is on the mean over all of them"
    )
    estimate = min(max((low.estimate + high.estimate) / 2, low.low or 0.0), 1.0 if high.high is None else high.high)
    return of_scenarios(replace(low, high=high.high, estimate=estimate, n=len(tried.keys() & set(chosen.ids)))), notes
