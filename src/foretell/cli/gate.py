"""Decide whether a policy may replace another.

Examples:
    foretell gate runs/release runs/candidate
    foretell gate runs/both:old runs/both:new --margin 0.03 --json
    foretell gate base.csv candidate.csv --horizon 200
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Alpha, Arm, Clock, Confidence, Horizon, Json, Metric, StandIn, Switch, named

__all__ = ["main"]

Side = Annotated[str, tyro.conf.Positional]


def main(
    *,
    base: Annotated[Side, named("BASE")],
    candidate: Annotated[Side, named("CANDIDATE")],
    margin: Annotated[float, named("RATE")],
    alpha: Alpha,
    confidence: Confidence = None,
    metric: Metric,
    task: Annotated[tuple[str, ...], named("TASK ...", default="every task of the base")],
    clock: Clock,
    arm: Arm,
    sim: Annotated[tuple[Path, ...], named("RUN|FILE ...", default="the trials alone")],
    every_task: Switch,
    unpaired: Switch,
    horizon: Horizon,
    power: Annotated[float, named("CHANCE")],
    stand_in: StandIn,
    json_: Json = False,
) -> None:
    """Decide whether CANDIDATE is not worse than BASE by more than a margin. For releases and continuous integration.

    The exit code is the decision: 0 pass, 1 fail, 2 undecided, and then the text says how many more trials are needed.
    Errors have other codes: 64 wrong arguments or files, 65 unreadable data, 70 a crash.

    Args:
        base: The policy to compare with: a run folder, a CSV or Parquet file, or RUN:POLICY.
        candidate: The policy that wants to replace it, likewise.
        margin: How much worse it may be: 0.05 is 5 points of success.
        task: Decide on these tasks only.
        sim: Simulations of both policies as control: one source with both, or two, first that of BASE.
        every_task: Each task has to pass. Otherwise the mean over tasks has to, and no task may fail.
        unpaired: Do not pair trials of the same scenario.
        horizon: Give this if you look at the results more than once: the number of scenarios of each task planned
            before the first look, or `open` if there is no plan.
        power: The chance of a decision that the number of further trials aims at.
    """
    from foretell.answers.gate import gate
    from foretell.cli._confidence import alpha_of
    from foretell.cli._decided import end_with

    answer = gate(
        base, candidate, margin=margin, alpha=alpha_of(alpha, confidence), metric=metric, task=task, clock=clock,
        arm=arm, sim=sim, every_task=every_task, unpaired=unpaired, horizon=horizon, power=power, stand_in=stand_in,
    )  # fmt: skip
    end_with(answer.exit_code, json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
