"""Which trials a person confirms: a coin of known probability for each scenario, flipped before anybody looks.

The coin depends on the seed and the scenario only, never on what a detector says. So the confirmed trials are a random
sample, and a bound from them holds whatever the detector's errors are. All trials of a scenario share its coin: answers
average them.
"""

from __future__ import annotations

from foretell.errors import UsageError
from foretell.seeding import generator

__all__ = ["SHARE", "check_share", "confirms"]

SHARE = 0.2
"""Share of the scenarios that a person confirms, unless asked otherwise."""


def check_share(share: float) -> float:
    """The share itself. Raises UsageError where it is none."""
    if not 0.0 < share <= 1.0:
        raise UsageError(f"confirm is {share:g}, it should be above 0 and at most 1: the share that a person confirms")
    return float(share)


def confirms(unit: str, share: float = SHARE, seed: int = 0) -> bool:
    """Whether a person confirms the trials of a scenario. unit: its parent or id (`scenario.pair`)."""
    return bool(generator(unit, seed, "confirm").random() < check_share(share))
