"""Trials that were repeated until one succeeded: their mean is not the success rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretell.counting import counted

__all__ = ["until_success"]

MANY = 3
"""Scenarios repeated until success that make a habit."""


def until_success(trials: Mapping[str, Sequence[tuple[int, float]]], name: str) -> str | None:
    """A warning, if in many scenarios all trials but the last failed and no trial follows a success; else None.

    trials: scenario -> (trial, or its place in the table; score) of each of its rows, of scenarios with several.
    """
    repeated, stopped = 0, 0
    for tries in trials.values():
        *before, last = [score for _, score in sorted(tries)]
        if any(score >= 1.0 for score in before):
            return None  # somebody went on after a success: the number of trials did not hang on it here
        repeated += bool(before)
        stopped += bool(before) and last >= 1.0 and not any(before)
    if stopped < MANY or 2 * stopped < repeated:
        return None
    return (
        f"warning: {name}: in {counted(stopped, 'scenario')} every trial failed but the last, and no trial follows a "
        "success, as if trials were repeated until one succeeded. That makes the policy look better than it is: count "
        "the first trial of each scenario only, or fix the number of trials in advance"
    )
