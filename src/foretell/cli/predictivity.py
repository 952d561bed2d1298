"""Measure how well simulation predicts the ranking of policies.

Examples:
    foretell predictivity rates.csv  # columns policy, real, sim
    foretell predictivity --real runs/real --sim runs/first-study --task lift
    foretell predictivity --real runs/real --sim runs/variants --arm aggregate
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, cast

import tyro

from foretell.cli._flags import (
    Alpha,
    Clock,
    Confidence,
    Fitted,
    Json,
    Metric,
    Real,
    Seed,
    Sim,
    StandIn,
    Switch,
    Task,
    choice,
    named,
)

__all__ = ["main"]


def main(
    *,
    table: Annotated[Path | None, tyro.conf.Positional, named("[TABLE]")],
    real: Real,
    sim: Sim,
    fitted: Fitted,
    proxy: Annotated[str | None, named("COLUMN", default="sim")],
    lower_is_better: Switch,
    over: Annotated[
        str | None, choice("trials", "policies", default="trials if their numbers are known, else policies")
    ],
    alpha: Alpha,
    confidence: Confidence = None,
    task: Annotated[Task, named(None, default="the mean over all tasks")],
    clock: Clock,
    arm: Annotated[str | None, named("ARM")],
    metric: Metric,
    stand_in: StandIn,
    top: Annotated[int | None, named("K", default="3, or all but one of fewer")],
    gap: Annotated[str, choice("real", "sim")],
    seed: Seed,
    json_: Json = False,
) -> None:
    """Compare the ranking of policies in simulation with the ranking in reality. Give a table of rates, or --real and
    --sim. Each policy is then rated on the scenarios that both have. The answer begins with the policy that simulation
    picks, and what that may cost.

    Args:
        table: A CSV or Parquet file with the columns policy, real and sim. Optional columns: n_real, n_sim, task
            and run, the training run that a checkpoint comes from.
        proxy: Another column (in run folders: a metric) to use in place of the simulated rate.
        lower_is_better: The proxy is an error: lower values are better.
        arm: Choose one arm. `aggregate` and `arm_colours` are the mean over these arms of the simulation, and `each`
            is every arm in turn. These are compared with real trials without perturbation.
        top: Size of the short list: simulation's K best policies, of which real trials choose.
        gap: The side on which mmrv measures what a wrong order costs: the difference of real success, as SIMPLER has
            it, or of simulated success, as some papers print it.
        over: The source of uncertainty: the trials of these policies, or the choice of policies.
    """
    from foretell.answers.predictivity import predictivity
    from foretell.cli._confidence import alpha_of

    alpha = alpha_of(alpha, confidence)
    over_ = cast(Literal["trials", "policies"] | None, over)  # the function refuses other words
    answer = predictivity(
        table, real=real, sim=sim, fitted=fitted, proxy=proxy, lower_is_better=lower_is_better, over=over_, alpha=alpha,
        task=task, clock=clock, arm=arm, metric=metric, stand_in=stand_in, top=top,
        gap=cast(Literal["real", "sim"], gap), seed=seed,
    )  # fmt: skip
    print(json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
