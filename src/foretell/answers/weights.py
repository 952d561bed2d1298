"""Whether a policy that is paired by its name is one policy on both sides."""

from __future__ import annotations

from foretell.answers.choice import labels
from foretell.answers.inputs import Table
from foretell.answers.words import plain

__all__ = ["other_weights"]


def other_weights(name: str, real: Table, sim: Table) -> list[str]:
    """A warning where a policy has other weights or code in reality than in simulation. Both tables hold its rows only;
    people seldom note a version, and then there is nothing to say."""
    tried, simulated = ([h for h in labels(table, "policy_hash") if h] for table in (real, sim))
    if not tried or not simulated or set(tried) == set(simulated):
        return []
    return [
        f"warning: {plain(name)} has other weights or code in real ({tried[0][:8]}) than in sim "
        f"({simulated[0][:8]}): these may be two policies"
    ]
