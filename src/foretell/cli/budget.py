"""Plan how many real trials you need.

Examples:
    foretell budget --width 0.2  # trials until the interval is 20 points wide
    foretell budget --power 0.8 --difference 0.15 --rate 0.6
    foretell budget --width 0.2 --real runs/pilot --sim runs/sim --policy mine
    foretell budget --next 40 --sim runs/sim --rule stratified
"""

from __future__ import annotations

import json
from typing import Annotated

from foretell.cli._flags import (
    Alpha,
    Arm,
    Clock,
    Confidence,
    Json,
    Metric,
    Policies,
    Real,
    Sim,
    StandIn,
    Task,
    choice,
    named,
)

__all__ = ["main"]


def main(
    *,
    width: Annotated[float | None, named("WIDTH")],
    power: Annotated[float | None, named("POWER")],
    difference: Annotated[float | None, named("RATE")],
    real: Real,
    sim: Sim,
    correlation: Annotated[float | None, named("R", default="the pilot's")],
    rate: Annotated[float | None, named("RATE", default="the pilot's, else 0.5")],
    agreement: Annotated[float | None, named("R", default="the pilot's, else 0")],
    variance: Annotated[float | None, named("VARIANCE", default="the pilot's, else that of successes")],
    n_extra: Annotated[int | None, named("N", default="unlimited")],
    alpha: Alpha,
    confidence: Confidence = None,
    policy: Annotated[Policies, named(None, "The policy of the pilot. With --power: its two policies.")],
    task: Task,
    clock: Clock,
    arm: Arm,
    metric: Metric,
    stand_in: StandIn,
    next: Annotated[int | None, named("N")],
    rule: Annotated[str, choice("uniform", "stratified", "active")],
    seed: Annotated[int, named("SEED")],
    json_: Json = False,
) -> None:
    """Plan real trials: for an interval of a given width, or for a given chance (power) to see a difference.

    A pilot (--real and --sim) shows what simulation saves. Without it, give --correlation, or plan real trials alone.

    Args:
        width: The width of the interval, such as 0.2 for 20 points.
        power: The chance of seeing a difference, such as 0.8. Use it instead of --width.
        difference: With --power: the difference to see. It is added to --rate.
        correlation: The correlation of real and simulated scores over scenarios. With --power, that of the differences.
        rate: The expected success rate or mean score.
        agreement: With --power: the correlation of the real scores of the two policies over scenarios.
        variance: The variance of the real score.
        n_extra: The number of simulated scenarios that you will add.
        next: Choose about this many scenarios of --sim to run for real, by coins of known chances, and print them.
        rule: With --next: every scenario has the same chance (uniform), real trials are spread over all simulated
            scores (stratified), or scenarios are preferred on which simulation is unsure (active).
        seed: With --next: the seed of the coins.
    """
    from foretell.answers.budget import budget
    from foretell.cli._confidence import alpha_of

    alpha = alpha_of(alpha, confidence)
    answer = budget(
        real, sim, width=width, power=power, difference=difference, rate=rate, correlation=correlation,
        agreement=agreement, variance=variance, n_extra=n_extra, alpha=alpha, policy=policy, task=task,
        clock=clock, arm=arm, metric=metric, stand_in=stand_in, next=next, rule=rule, seed=seed,
    )  # fmt: skip
    print(json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
