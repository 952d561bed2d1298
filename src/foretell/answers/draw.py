"""Paired and extra scenarios: whether they were drawn alike, and how their difference moves the estimate."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from foretell.answers.inputs import PROTOCOL
from foretell.answers.units import Measured
from foretell.answers.words import amount, plain
from foretell.counting import counted
from foretell.stats import Paired, same_draw

__all__ = ["LARGE", "LEVEL", "EstimateShift", "shift_of", "unlike"]

LEVEL = 0.01
"""Scenarios that were drawn alike are called unlike in at most this share of studies."""
LARGE = 0.1
"""A shift of the estimate that is worth a warning."""
VISIBLE = 0.0005
"""The smallest shift that is printed."""
ALIKE = 0.02
"""Mean simulated scores that differ by no more show neither hard nor easy scenarios."""


@dataclass(frozen=True)
class EstimateShift:
    """Where the estimate goes with simulation, and why."""

    real_mean: float
    sim_tried: float
    """Mean simulated score of the scenarios that were also tried for real."""
    sim_others: float
    """Mean simulated score of the extra ones."""
    p_value: float
    """p-value of the hypothesis that both were drawn alike (a permutation test)."""

    def to_dict(self) -> dict[str, float]:
        """JSON-able form."""
        return asdict(self)

    def sentence(self, estimate: float, metric: str) -> str | None:
        """Why the estimate is not the mean of the real trials; None where it is."""
        if abs(estimate - self.real_mean) < VISIBLE:
            return None
        hard = self.sim_others > self.sim_tried
        why = f", so the tried ones were {'hard' if hard else 'easy'}"
        if hard != (estimate > self.real_mean):
            why = ", and real scores fell where simulated ones rose"
        elif abs(self.sim_others - self.sim_tried) <= ALIKE:
            why = ""
        return (
            f"the estimate is {amount(estimate, metric)}, but the mean of the real trials is "
            f"{amount(self.real_mean, metric)}: {self._facts(metric)}{why}"
        )

    def warnings(self, estimate: float, metric: str) -> list[str]:
        """What should make a reader doubt that the scenarios were drawn alike."""
        messages = []
        if self.p_value <= LEVEL:
            messages.append(
                f"warning: {self._facts(metric)}. Scenarios drawn in the same way differ so much in fewer than "
                f"{LEVEL:.0%} of studies (permutation test, p = {max(self.p_value, 1e-4):.1g}), so the others were "
                "probably drawn differently from the tried ones, and the interval may miss more often than stated"
            )
        if (moved := abs(estimate - self.real_mean)) > LARGE:
            far = f"{100 * moved:.1f} points" if metric == "success" else f"{moved:.3f}"
            messages.append(
                f"warning: simulation moves the estimate by {far}, which is right only if tried and other scenarios "
                "were drawn in the same way"
            )
        return messages

    def _facts(self, metric: str) -> str:
        verb, on = ("solves", "of") if metric == "success" else ("scores", "on")
        tried, others = (amount(value, metric) for value in (self.sim_tried, self.sim_others))
        return f"simulation {verb} {tried} {on} the tried scenarios and {others} {on} the others"


def shift_of(paired: Paired) -> EstimateShift | None:
    """Compare paired and extra scores; None without extra scores."""
    if not paired.extra.size:
        return None
    return EstimateShift(
        real_mean=float(paired.real.mean()),
        sim_tried=float(paired.sim.mean()),
        sim_others=float(paired.extra.mean()),
        p_value=same_draw(paired.sim, paired.extra),
    )


def unlike(paired: Paired, sim: Measured, extra: Measured | None) -> list[str]:
    """What the rows say of paired and extra scenarios that cannot be so if they were drawn alike."""
    tried = {str(unit) for unit in paired.ids}
    ours = [(sim, unit) for unit in sim.ids if unit in tried]
    others = [(sim, unit) for unit in sim.ids if unit not in tried]
    others += [(extra, unit) for unit in extra.ids] if extra is not None else []
    if not others:
        return []
    notes = []
    for column, words in {**PROTOCOL, "arm": "arm"}.items():
        mine, theirs = ({_cell(m, unit, column) for m, unit in side} - {None} for side in (ours, others))
        if mine and theirs and mine != theirs:
            listed = " and ".join(", ".join(sorted(plain(str(v)) for v in side)) for side in (mine, theirs))
            notes.append(f"warning: paired and extra scenarios differ in the task's {words} ({listed})")
    factors = [{_factors(_cell(m, unit, "factors")) for m, unit in side} for side in (ours, others)]
    if factors[0].isdisjoint(factors[1]):
        listed = " and ".join(", ".join(sorted("+".join(sorted(f)) or "none" for f in side)) for side in factors)
        notes.append(f"warning: paired and extra scenarios were drawn under different factors ({listed})")
    bases = [{_cell(m, unit, "base") for m, unit in side} - {None} for side in (ours, others)]
    if again := len(bases[0] & bases[1]):
        notes.append(
            f"warning: {counted(again, 'extra scenario has', 'extra scenarios have')} the layout and "
            f"seed of a paired one; such scenarios are not independent draws"
        )
    if (
        extra is not None
        and None not in (sim.table.design, extra.table.design)
        and sim.table.design != extra.table.design
    ):
        notes.append(
            f"warning: scenarios of {sim.table.name} are {sim.table.design}, those of {extra.table.name} "
            f"{extra.table.design}: they were not drawn in the same way"
        )
    return notes


def _cell(measured: Measured, unit: str, column: str) -> Any:
    cells = measured.table.columns.get(column)
    return None if cells is None else cells[measured.first[unit]]


def _factors(cell: Any) -> frozenset[str]:
    """Names of the factors that are set."""
    try:
        factors = json.loads(cell or "{}")
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(factors) if isinstance(factors, dict) else frozenset()
