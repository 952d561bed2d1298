"""What simulation expects of several policies, to order and direct their comparison.

A forecast must not know the outcomes that are tested. A simulator can repeat a real outcome on its own scenario, so
only scenarios on which no policy was tried count here. If simulation is to be the control of bets as well, it needs
such scenarios too, and none may serve both ends: a hash of the scenario's name deals them out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from foretell.answers.choice import Choice, choose, labels
from foretell.answers.inputs import Table
from foretell.answers.units import Measured, measure
from foretell.answers.words import listed, plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats.compare import Test
from foretell.stats.scores import is_binary

__all__ = ["CHOOSE_FIRST", "Forecast", "at_every_look", "forecast", "simulated", "simulations"]

CHOOSE_FIRST = (
    "choose whether to use simulation before you look at the outcomes: "
    "the better of the two p-values, with and without it, is not valid"
)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Expected mean of each policy, and what is left of the simulation for control."""

    means: dict[str, float]
    scenarios: int
    """Simulated scenarios behind the means, of the policy that has fewest."""
    source: str
    control: dict[str, Measured] | None
    """Simulations without the scenarios used for the means; None if they cannot be a control."""
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {"source": self.source, "scenarios": self.scenarios, "means": self.means}


def simulations(sim: Table, names: Iterable[str]) -> dict[str, Measured]:
    """Simulated scores of each policy."""
    if not labels(sim, "policy"):
        raise UsageError(f"{sim.name} has no column 'policy': it must name the policy of each simulated episode")
    sims = {}
    for name in names:
        tables, _ = choose([sim], Choice(policy=name), ("policy",))
        sims[name] = measure(tables[0], whole=True)
    return sims


def simulated(
    sims: dict[str, Measured], entrants: dict[str, Measured], test: Test, unpaired: bool
) -> tuple[dict[str, Measured], Forecast | None]:
    """Control of each policy (none: empty), and with more than two policies the forecast."""
    if len(entrants) == 2:
        return sims, None
    bets = test == "betting" or (
        test == "auto" and not all(is_binary(entry.units.scores) for entry in entrants.values())
    )
    common = min(len(set(a.ids) & set(b.ids)) for a, b in combinations(entrants.values(), 2))
    bets = bets and common >= 2 and not unpaired
    ahead = forecast(sims, entrants, bets=bets)
    return ahead.control or {}, ahead


def at_every_look(sims: dict[str, Measured], tried: dict[str, Measured]) -> Forecast:
    """The forecast of whoever looks more than once. It must be the same at every look, so none of its scenarios may be
    tried, now or later; it is no control."""
    real = {unit for measured in tried.values() for unit in measured.ids}
    for name, measured in sims.items():
        both = [unit for unit in measured.ids if unit in real]
        if both:
            raise UsageError(
                f"{measured.table.name} has {counted(len(both), 'scenario')} of policy {plain(name)!r} with a real "
                f"trial ({plain(both[0])!r} is one). With a horizon the order of the tests must be the same at every "
                "look: give sim scenarios that are never tried"
            )
    return forecast(sims, tried, bets=False)


def forecast(sims: dict[str, Measured], tried: dict[str, Measured], *, bets: bool) -> Forecast:
    """Forecast from simulations of the policies tried, by name; bets: leave half of the scenarios for control."""
    real = {unit for measured in tried.values() for unit in measured.ids}
    fresh = {name: [unit for unit in measured.ids if unit not in real] for name, measured in sims.items()}
    source = next(iter(sims.values())).table.name
    lacking = next((name for name, ids in fresh.items() if not ids), None)
    if lacking is not None:
        raise UsageError(
            f"{source} has no scenario of policy {plain(lacking)!r} without a real trial; the order of the tests must "
            "come from other scenarios than the real ones: simulate more, or compare without --sim"
        )
    why = _no_control(sims, tried, fresh) if bets else None
    halve = bets and why is None
    used = {name: [unit for unit in ids if not halve or _dealt(unit)] for name, ids in fresh.items()}
    means = {name: float(np.mean(sims[name].of(ids))) for name, ids in used.items()}
    ranked = sorted(means, key=lambda name: (-means[name], name))
    count = min(map(len, used.values()))
    best_first = listed([plain(name) for name in ranked])
    notes = [
        f"pairs are tested in the order and direction that simulation expects ({best_first}, best first, from {count} "
        "simulated scenarios without a real trial); a wrong forecast costs power, not validity"
    ]
    if why is not None:
        notes.append(f"simulation orders the tests and is not a control of the bets: {why}")
    spent = {unit for ids in used.values() for unit in ids}
    rest = {name: measured.without(spent) for name, measured in sims.items()}
    return Forecast(means=means, scenarios=count, source=source, control=rest if halve else None, notes=tuple(notes))


def _no_control(sims: dict[str, Measured], tried: dict[str, Measured], fresh: dict[str, list[str]]) -> str | None:
    for name, measured in tried.items():
        known = set(sims[name].ids)
        missing = next((unit for unit in measured.ids if unit not in known), None)
        if missing is not None:
            return f"scenario {plain(missing)!r} was not simulated with {plain(name)!r}"
        if len(set(sims[name].units.counts)) > 1:
            return f"simulated scenarios of {plain(name)!r} do not average the same number of rows"
    shared = set.intersection(*(set(ids) for ids in fresh.values()))
    if len({_dealt(unit) for unit in shared}) < 2:
        return "there are too few simulated scenarios without a real trial"
    return None


def _dealt(unit: str) -> bool:
    """Whether a scenario serves the forecast; about half of them do."""
    return bool(hashlib.blake2b(unit.encode(), key=b"forecast", digest_size=1).digest()[0] & 1)
