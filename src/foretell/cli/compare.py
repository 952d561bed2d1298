"""Test whether one policy is better than another.

Examples:
    foretell compare runs/first-study --task lift
    foretell compare a.csv b.csv
    foretell compare runs/real --policy bc dp --sim runs/first-study
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import tyro

from foretell.cli._flags import (
    Alpha,
    Arm,
    Clock,
    Confidence,
    Horizon,
    Json,
    Metric,
    Policies,
    Sim,
    StandIn,
    Switch,
    Task,
    choice,
    named,
)

if TYPE_CHECKING:
    from foretell.stats.compare import Test

__all__ = ["main"]


def main(
    *,
    sources: Annotated[tuple[Path, ...], tyro.conf.Positional, named("RUN|FILE ...")],
    policy: Policies,
    sim: Annotated[Sim, named(None, default="real trials alone")],
    task: Task,
    clock: Clock,
    arm: Arm,
    metric: Metric,
    test: Annotated[str, choice("auto", "barnard", "fisher", "mcnemar", "betting")],
    unpaired: Switch,
    effect: Annotated[float, named("RATE")],
    alpha: Alpha,
    confidence: Confidence = None,
    horizon: Horizon,
    stand_in: StandIn,
    json_: Json = False,
) -> None:
    """Compare two or more policies. Policies that tried the same scenarios are compared scenario by scenario.

    With --sim, two policies are compared by a betting test that uses simulation as control; for more policies,
    simulation orders the tests. Choose --sim or not before you look at the outcomes.

    Args:
        sources: Run folders, or files with the columns scenario and score (and policy, if a file has several).
        test: The test. `auto` takes McNemar's or Barnard's for success, and betting for partial scores.
        unpaired: Do not pair trials of the same scenario.
        effect: The smallest difference that matters to you. If +effect and -effect are both still possible, the result
            is "too few trials".
        horizon: Give this if you look at the results more than once: the number of scenarios planned before the first
            look, or `open` if there is no plan. Then --sim only orders the tests, and holds scenarios never tried.
    """
    from foretell.answers.compare import compare
    from foretell.cli._confidence import alpha_of

    alpha = alpha_of(alpha, confidence)
    answer = compare(
        *sources, sim=sim, policy=policy, task=task, clock=clock, arm=arm, metric=metric, test=cast("Test", test),
        unpaired=unpaired, effect=effect, alpha=alpha, horizon=horizon, stand_in=stand_in,
    )  # fmt: skip
    print(json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
