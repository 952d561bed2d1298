"""Tell how well simulation ranks policies as reality does.

Examples:
    foretell predictivity rates.csv                       # columns policy, real, sim
    foretell predictivity --real runs/real --sim runs/first-study --task lift
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import tyro

__all__ = ["main"]


def main(
    table: Annotated[Path | None, tyro.conf.Positional] = None,
    real: Path | None = None,
    sim: Path | None = None,
    proxy: str | None = None,
    lower_is_better: bool = False,
    over: Literal["trials", "policies"] | None = None,
    alpha: float | None = None,
    confidence: float | None = None,
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    stand_in: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Predictivity of a simulator over policies, from a table of rates or from real and simulated trials.

    Args:
        table: CSV or Parquet with columns policy, real, sim; optional n_real, n_sim, task.
        real: Instead of a table: real trials, a run folder or a file with columns policy, scenario, score.
        sim: Their simulations. Each policy is rated on the scenarios that both have.
        proxy: A column (in run folders: a metric) that stands for sim.
        lower_is_better: The proxy is an error: less is better.
        over: What is uncertain, the trials of these policies or the choice of policies; default trials where their
            numbers are known, else policies.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        task: Which task; default all, and their mean.
        clock: Which clock.
        arm: Which perturbation arm.
        metric: Which column of trials; default score or success, in run folders success.
        stand_in: A simulated world plays reality in --real.
        json_: Print JSON.
    """
    from foretell.answers.predictivity import predictivity
    from foretell.cli._level import alpha_of

    alpha = alpha_of(alpha, confidence)
    found = predictivity(
        table, real=real, sim=sim, proxy=proxy, lower_is_better=lower_is_better, over=over, alpha=alpha,
        task=task, clock=clock, arm=arm, metric=metric, stand_in=stand_in,
    )  # fmt: skip
    print(json.dumps(found.to_dict(), indent=2) if json_ else found.text())
