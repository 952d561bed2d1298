"""Would it pay to simulate each scenario more often? From how its trials differ, where there are several."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell import stats
from foretell.answers.units import Measured
from foretell.stats.scores import Floats

__all__ = ["more_trials"]

ONCE = (
    "each scenario was simulated once, so the effect of more trials of each is unknown: "
    "run the simulation with `trials: 2` or more to find out"
)
OFTEN = 10
"""Trials of a scenario that the sentence speaks of."""


def more_trials(
    sim: Measured, y: Floats, f: Floats, extra: float, alpha: float
) -> tuple[dict[str, Any] | None, str | None]:
    """What more simulated trials of each scenario would buy, in numbers and in words; None where nothing is known.

    y, f: paired real and simulated scores, shape (n,). extra: simulated scenarios without a real partner.
    """
    sizes = set(sim.units.counts)
    if len(sizes) != 1 or y.size < 2 or min(float(np.ptp(y)), float(np.ptp(f))) < 1e-12:
        return None, None
    now = sizes.pop()
    if now == 1 or sim.units.within is None:
        return None, ONCE
    rho = float(np.clip(np.corrcoef(y, f)[0, 1], -1.0, 1.0))
    spread = float(np.var(sim.units.scores, ddof=1))
    worth = stats.repeats_worth(
        y.size, float(y.mean()), rho, extra=extra, trials=now, sim_variance=spread, within=sim.units.within,
        variance=float(np.var(y)), alpha=alpha,
    )  # fmt: skip
    numbers = {"now": now, **{k: list(getattr(worth, k)) for k in ("trials", "correlations", "widths")}}
    at = {t: (r, w) for t, r, w in zip(worth.trials, worth.correlations, worth.widths, strict=True)}
    often = OFTEN if now < OFTEN else max(worth.trials)
    times = f"each scenario was simulated {now} times"
    if often == now or at[often][1] > 0.99 * at[now][1]:
        return numbers, f"{times}; more trials of each would hardly narrow the bound (forecast)"
    (rho_now, width_now), (rho_then, width_then) = at[now], at[often]
    return numbers, (
        f"{times}; {often} times would raise the correlation with reality from about {rho_now:.2f} to {rho_then:.2f} "
        f"and narrow the bound by about {1.0 - width_then / width_now:.0%} (forecast)"
    )
