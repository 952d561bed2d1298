"""A pilot: what a few real trials and their simulations tell whoever plans the next ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.answers.choice import Choice, choose, labels
from foretell.answers.inputs import Source, open_table
from foretell.answers.more_trials import more_trials
from foretell.answers.reality import check_roles, check_sources
from foretell.answers.units import measure, pair
from foretell.answers.weights import other_weights
from foretell.answers.words import plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import ALPHA

__all__ = ["Pilot", "read_pilot"]


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """Moments of the pairs."""

    n: int
    rate: float
    """Mean real score; of two policies the second's."""
    variance: float
    correlation: float
    """Correlation of real and simulated scores, or of the differences of two policies; 0 if one side never varies."""
    correlation_low: float
    correlation_high: float
    """95 % interval of the correlation, asymptotic: few pairs leave it wide open."""
    agreement: float = 0.0
    """Correlation of two policies' real scores over scenarios."""
    repeats: dict[str, Any] | None = None
    """What simulating each scenario more often would buy, with endless scenarios; None where it is not known."""


def read_pilot(
    real: Source, sim: Source, choice: Choice, metric: str | None, policies: tuple[str, ...], stand_in: bool = False
) -> tuple[Pilot, list[str]]:
    """One policy's pilot or, of two policies, that of the first less the second."""
    check_sources(real, sim)
    opened = [open_table(real, "real", metric=metric), open_table(sim, "sim", metric=metric)]
    if len(policies) > 2:
        raise UsageError(f"a pilot has one policy or two, not {len(policies)}")
    pairs, notes = [], []
    for policy in policies or (None,):
        tables, about = choose(opened, replace(choice, policy=policy))
        about += check_roles(tables[0], tables[1], stand_in)
        about += [note for name in labels(tables[0], "policy") for note in other_weights(name, *tables)]
        tried, simulated = measure(tables[0]), measure(tables[1], whole=True)
        paired, lost = pair(tried, simulated, None)
        pairs.append(paired)
        notes += about + tried.notes() + simulated.notes() + lost
    a, b = pairs[0], pairs[-1]
    worth: dict[str, Any] | None = None
    if len(pairs) == 2:
        where = {unit: i for i, unit in enumerate(b.ids)}
        both = [(i, where[unit]) for i, unit in enumerate(a.ids) if unit in where]
        if len(both) < 2:
            both_names = " and ".join(repr(plain(p)) for p in policies)
            raise UsageError(
                f"{opened[0].name}: {both_names} have {counted(len(both), 'scenario')} in common; at least 2 are needed"
            )
        i, j = (list(side) for side in zip(*both, strict=True))
        first, second = a.real[i], b.real[j]
        y, f = first - second, a.sim[i] - b.sim[j]
        rate, spread, alike = float(second.mean()), float(np.var(second)), _correlation(first, second) or 0.0
    else:
        y, f, alike = a.real, a.sim, 0.0
        worth, note = more_trials(simulated, y, f, math.inf, ALPHA)
        notes += [note] if note else []
        rate, spread = float(y.mean()), float(np.var(y))
    if y.size < 2:
        raise UsageError(f"{opened[0].name} has {y.size} scenario that counts; a pilot needs at least 2")
    rho = _correlation(y, f)
    if rho is None:
        flat = " and ".join(name for name, x in (("real", y), ("sim", f)) if np.ptp(x) < 1e-12)
        notes.append(f"{flat} never varies in the pilot: its correlation is taken as 0")
    low, high = _ends(rho or 0.0, y.size)
    return Pilot(
        n=int(y.size),
        rate=rate,
        variance=spread,
        correlation=rho or 0.0,
        correlation_low=low,
        correlation_high=high,
        agreement=alike,
        repeats=worth,
    ), list(dict.fromkeys(notes))


def _correlation(x: Any, y: Any) -> float | None:
    if min(np.ptp(x), np.ptp(y)) < 1e-12:
        return None
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))


def _ends(rho: float, n: int) -> tuple[float, float]:
    """Fisher's interval at 95 %."""
    if n <= 3:
        return -1.0, 1.0
    middle, reach = math.atanh(max(-0.999999, min(0.999999, rho))), 1.959964 / math.sqrt(n - 3)
    return math.tanh(middle - reach), math.tanh(middle + reach)
