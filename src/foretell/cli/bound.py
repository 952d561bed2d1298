"""Bound a policy's real performance from few real trials.

Examples:
    foretell bound 14/20  # successes of trials, without simulation
    foretell bound --real runs/real --sim runs/first-study --policy mine
    foretell bound --real trials.csv --confidence 90
    foretell bound --real runs/real --sim runs/first --sim runs/second
    foretell bound runs/real --detector Judge
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
    Fitted,
    Horizon,
    Json,
    Metric,
    Policy,
    StandIn,
    Switch,
    Task,
    choice,
    named,
)

if TYPE_CHECKING:
    from foretell.answers.bound import Design

__all__ = ["main"]


def main(
    *,
    trials: Annotated[str | None, tyro.conf.Positional, named("[TRIALS]")] = None,
    real: Annotated[str | None, named("TRIALS")] = None,
    sim: Annotated[
        tyro.conf.UseAppendAction[tuple[Path, ...]],
        named("RUN|FILE", "Simulations of the same scenarios. Give it again for a second simulator.", default="none"),
    ],
    fitted: Fitted,
    extra: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], named("RUN|FILE", default="none")],
    method: Annotated[str, named("METHOD")],
    alpha: Alpha,
    confidence: Confidence = None,
    policy: Policy,
    task: Task,
    clock: Clock,
    arm: Arm,
    metric: Metric,
    design: Annotated[str | None, choice("iid", "grid", "chosen", default="as recorded in the run folder, else iid")],
    randomised: Switch,
    horizon: Horizon,
    stand_in: StandIn,
    detector: Annotated[str | None, named("NAME", default="none")],
    json_: Json = False,
) -> None:
    """Bound the mean real performance of a policy, with a guarantee. Many simulations make the bound narrower.

    Files need the columns scenario and score. docs/answers.md explains the methods.

    Args:
        trials: The same as --real.
        real: Real trials: a run folder, a CSV or Parquet file, or counts such as 14/20 (successes/trials).
        extra: Simulations of further scenarios, which have no real trial. With several --sim, one for each.
        method: The method, such as strata, blocked or star. `all` shows every method. `auto` chooses one by the size
            and kind of the data.
        design: How the scenarios were chosen: drawn at random (iid), on a grid, or by hand (chosen).
        randomised: The cells of the grid were drawn or ordered at random.
        horizon: Give this if you look at the results more than once: the number of real trials planned before the first
            look, or `open` if there is no plan.
        detector: A detector that judged the films of the run (`foretell judge --detector`). Its verdicts take the place
            of simulation, and a person's on a random share that of real trials.
    """
    from foretell.answers.bound import bound
    from foretell.cli._confidence import alpha_of
    from foretell.errors import UsageError

    alpha = alpha_of(alpha, confidence)
    if (trials is None) == (real is None):
        raise UsageError("give the real trials once: --real RUN, --real FILE, or counts as in `foretell bound 14/20`")
    answer = bound(
        trials if real is None else real, sim, extra, method=method, alpha=alpha, policy=policy,
        task=task, clock=clock, arm=arm, metric=metric, design=cast("Design | None", design), randomised=randomised,
        horizon=horizon, stand_in=stand_in, fitted=fitted, detector=detector,
    )  # fmt: skip
    print(json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
