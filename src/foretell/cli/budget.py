"""Plan real trials: how many for a wanted width or power.

Examples:
    foretell budget --width 0.2                           # trials until the interval is 20 points wide
    foretell budget --power 0.8 --difference 0.15 --rate 0.6
    foretell budget --width 0.2 --real runs/pilot --sim runs/first-study --policy mine
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    width: float | None = None,
    power: float | None = None,
    difference: float | None = None,
    real: Path | None = None,
    sim: Path | None = None,
    correlation: float | None = None,
    rate: float | None = None,
    agreement: float | None = None,
    variance: float | None = None,
    n_extra: int | None = None,
    alpha: float | None = None,
    confidence: float | None = None,
    policy: tuple[str, ...] = (),
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    stand_in: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Plan real trials for a wanted width of the bound, or a wanted chance of telling two policies apart.

    Args:
        width: The width wanted of the bound.
        power: Instead of a width: the chance wanted of seeing a difference.
        difference: The difference to be seen, added to the rate.
        real: A pilot's real trials: CSV, Parquet or a run folder. It gives rate and correlation.
        sim: Their simulations.
        correlation: Of real and sim over scenarios (for power: of the differences); goes before the pilot's. Without
            either, real trials alone are planned.
        rate: Mean score to expect; goes before the pilot's, default 0.5.
        agreement: Correlation of two policies' real scores over scenarios; default the pilot's, or 0.
        variance: Of the real score; default the pilot's, or that of a success.
        n_extra: Simulated scenarios to come; default endless.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        policy: The pilot's policy; for power its two policies.
        task: Which task.
        clock: Which clock.
        arm: Which perturbation arm.
        metric: Which column; default score or success, in run folders success.
        stand_in: A simulated world plays reality in --real.
        json_: Print JSON.
    """
    from foretell.answers.budget import budget
    from foretell.cli._level import alpha_of

    alpha = alpha_of(alpha, confidence)
    found = budget(
        real, sim, width=width, power=power, difference=difference, rate=rate, correlation=correlation,
        agreement=agreement, variance=variance, n_extra=n_extra, alpha=alpha, policies=policy, task=task,
        clock=clock, arm=arm, metric=metric, stand_in=stand_in,
    )  # fmt: skip
    print(json.dumps(found.to_dict(), indent=2) if json_ else found.text())
