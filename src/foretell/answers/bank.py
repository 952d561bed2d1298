"""A bound from real trials and several simulators of the same scenarios: a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell import stats
from foretell.answers.bound import Bound, design_of
from foretell.answers.bound_options import require_two
from foretell.answers.choice import Choice, choose
from foretell.answers.draw import unlike
from foretell.answers.held_out import as_evidence
from foretell.answers.inputs import Source, open_table
from foretell.answers.reality import check_roles, check_sources
from foretell.answers.same import unlike_policies
from foretell.answers.stopped import check_fixed, planned_horizon
from foretell.answers.units import Measured, measure, pair
from foretell.answers.words import of_scenarios, plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats.bounds import default_method, weigh_design
from foretell.stats.interval import Horizon

__all__ = ["bound_by_bank"]


def bound_by_bank(
    real: Source,
    sims: Sequence[Source],
    extras: Any,
    method: str,
    alpha: float,
    choice: Choice,
    design: tuple[Any, bool],
    about: tuple[str | None, bool, bool],
    *,
    horizon: Horizon,
    detector: str | None,
) -> Bound:
    """`bound` with several simulators. design: how scenarios came about, and whether they were randomised; about:
    metric, whether a world stands in for reality, and whether trials that were fitted to count."""
    metric, stand_in, fitted = about
    more = _checked(method, sims, extras, detector)
    given = [real, *(as_evidence(source, metric, fitted) for source in (*sims, *more))]
    names = ["real", *(f"sim {k + 1}" for k in range(len(sims))), *(f"extra {k + 1}" for k in range(len(more)))]
    opened = [open_table(source, name, metric=metric) for source, name in zip(given, names, strict=True)]
    tables, notes = choose(opened, choice)
    simulated = tables[1 : len(sims) + 1]
    for source, table in zip(sims, simulated, strict=True):
        notes += [note for note in check_roles(tables[0], table, stand_in) if note not in notes]
        check_sources(real, source)
    horizon, more_notes = planned_horizon(tables[0], horizon, "blocked", False)
    notes += more_notes
    check_fixed(tables[1:])
    tried = measure(tables[0]) if horizon is None else measure(tables[0]).as_run()
    kept, more_notes = design_of(tables, design[0])
    ran = [measure(table, whole=True) for table in simulated]
    further = [measure(table, whole=True) for table in tables[len(sims) + 1 :]]
    if horizon is not None:
        if not further:
            raise UsageError("horizon with several sim needs an extra for each: scenarios that will never be tried")
        ran = [simulator.only(set(tried.ids)) for simulator in ran]
    for part in (tried, *ran, *further):
        notes += [note for note in part.notes() if note not in notes]
    y, f, e, remarks = _paired(tried, ran, further)
    options: dict[str, Any] = {"horizon": horizon, "shuffled": not tried.alone}
    interval = of_scenarios(weigh_design(stats.bank(y, f, e, alpha, **options), kept, design[1]))
    alone = stats.bound(
        y, alpha=alpha, method=default_method(y, None, None, horizon=horizon), design=kept, randomised=design[1],
        unordered=tried.alone > 0, **options,
    )  # fmt: skip
    worlds = [str(simulator.about().get("world", simulator.table.name)) for simulator in ran]
    shares = zip(worlds, stats.last_weights(y, f, e), strict=True)
    listed = ", ".join(f"{plain(world)} {share:.0%}" for world, share in shares)
    return Bound(
        intervals=(interval,),
        every=False,
        default="bank",
        not_applicable={},
        mean=float(y.mean()),
        real=tried.about(),
        sim={**ran[0].about(), "world": " + ".join(worlds), "simulators": [simulator.about() for simulator in ran]},
        extra=None,
        design=kept,
        notes=(*notes, *remarks, *more_notes, f"weights of the simulators after the last trial: {listed}"),
        alone=of_scenarios(alone) if interval.width > alone.width else None,
    )


def _checked(method: str, sims: Sequence[Source], extras: Any, detector: str | None) -> list[Source]:
    """The extra sources, one for each simulator or none."""
    if detector is not None:
        raise UsageError("detector: it takes the place of simulation: leave sim out")
    if method not in ("auto", "bank"):
        raise UsageError(f"method: {method!r} takes one simulator; several are used by `bank`, which is the default")
    more = list(extras) if isinstance(extras, (list, tuple)) else [] if extras is None else [extras]
    if more and len(more) != len(sims):
        raise UsageError(f"extra: {len(more)} given for {len(sims)} simulators: give one for each, in their order")
    return more


def _paired(
    tried: Measured, ran: list[Measured], further: list[Measured]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Real scores (n,), simulated ones (n, K) and extra ones (N, K), of scenarios that all simulators ran."""
    notes: list[str] = []
    for simulator in ran:
        notes += [note for note in unlike_policies(tried, simulator) if note not in notes]
    pools = [simulator.ids for simulator in ran] if not further else [simulator.ids for simulator in further]
    every, known = set(pools[0]).intersection(*pools[1:]), set(tried.ids)
    lost = len(set().union(*pools) - every - known)
    if lost:
        notes.append(f"{counted(lost, 'scenario is', 'scenarios are')} left out that not every simulator ran")
    if further:
        further = [simulator.only(every) for simulator in further]
    else:
        ran = [simulator.only(every | known) for simulator in ran]
    paired = []
    for k, simulator in enumerate(ran):
        made, remarks = pair(tried, simulator, further[k] if further else None)
        notes += [
            note for note in (*remarks, *unlike(made, simulator, further[k] if further else None)) if note not in notes
        ]
        paired.append(made)
    shared = [unit for unit in paired[0].ids if all(unit in made.ids for made in paired)]
    if len(shared) < max(len(made.ids) for made in paired):
        return _paired(tried.only([str(unit) for unit in shared]), ran, further)
    if len({made.extra.size for made in paired}) > 1:
        raise UsageError("sim: the simulators have different scenarios left: some were fitted to trials of them")
    if not paired[0].extra.size:
        raise UsageError(
            "sim: a bank needs scenarios that every simulator ran and that have no real trial: run more of them in all"
        )
    require_two(len(shared), tried.table.name)
    sims, extras = (np.stack([getattr(made, part) for made in paired], axis=1) for part in ("sim", "extra"))
    return paired[0].real, sims, extras, notes
