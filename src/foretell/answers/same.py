"""How real and simulated episodes of a bound differ, or do not: weights, options, scores and worlds."""

from __future__ import annotations

import numpy as np

from foretell.answers.choice import labels
from foretell.answers.units import Measured

__all__ = ["unlike_policies"]


def unlike_policies(real: Measured, sim: Measured) -> list[str]:
    """What a reader should know about how real and simulated episodes differ, or do not."""
    notes = []
    weights = [[h for h in labels(m.table, "policy_hash") if h] for m in (real, sim)]
    if all(weights) and weights[0] != weights[1]:
        notes.append(f"the policy's weights differ: {weights[0][0][:8]} in real, {weights[1][0][:8]} in sim")
    elif all(weights) and labels(real.table, "version") != labels(sim.table, "version"):
        notes.append("the policy's options differ between real and sim")
    if not real.table.episodes and len(common := set(real.ids) & set(sim.ids)) >= 10:
        ids = sorted(common)
        if np.array_equal(real.of(ids), sim.of(ids)) and np.ptp(real.of(ids)) > 0:
            notes.append(
                f"warning: real and simulated scores are equal in all {len(ids)} scenarios: check that the file of "
                "simulations is not a copy of the real trials"
            )
    worlds = [labels(m.table, "world_hash") for m in (real, sim)]
    if worlds[0] and worlds[0] == worlds[1]:
        notes.append("real and sim are the same world with the same parameters")
    return notes
