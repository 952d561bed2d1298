"""Bound real performance from few real trials and many simulated ones.

Examples:
    foretell bound 14/20                                  # successes of trials, without simulation
    foretell bound --real runs/real --sim runs/first-study --policy mine --task lift
    foretell bound --real trials.csv --confidence 90
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import tyro

__all__ = ["main"]


def main(
    trials: Annotated[str | None, tyro.conf.Positional] = None,
    real: str | None = None,
    sim: Path | None = None,
    extra: Path | None = None,
    method: str = "auto",
    alpha: float | None = None,
    confidence: float | None = None,
    policy: str | None = None,
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    design: Literal["iid", "grid", "chosen"] | None = None,
    randomised: bool = False,
    horizon: int | Literal["open"] | None = None,
    stand_in: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Bound a policy's mean real performance. Files have columns scenario and score; docs/answers.md says more.

    Args:
        trials: The same as --real: `foretell bound 14/20`.
        real: Real trials: CSV, Parquet, a run folder, or successes of trials such as 14/20.
        sim: Simulations of the same scenarios; further scenarios in it count as extra.
        extra: More simulated scenarios.
        method: strata, blocked, star, ...; `all` for every one; `auto` picks by the data's size and kind.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        policy: Which policy, where there are several.
        task: Which task.
        clock: Which clock.
        arm: Which perturbation arm.
        metric: Which column; default score or success, in run folders success.
        design: How scenarios came about; a run folder knows, a file is taken as iid.
        randomised: The cells of a grid were drawn or ordered at random.
        horizon: For looking more than once: the number of real trials planned before the first look, or `open`.
        stand_in: A simulated world plays reality in --real.
        json_: Print JSON.
    """
    from foretell.answers.bound import bound
    from foretell.cli._level import alpha_of
    from foretell.errors import UsageError

    alpha = alpha_of(alpha, confidence)
    if (trials is None) == (real is None):
        raise UsageError("give the real trials once: --real FILE, --real RUN, or counts as in `foretell bound 14/20`")
    found = bound(
        trials if real is None else real, sim, extra, method=method, alpha=alpha, policy=policy, task=task,
        clock=clock, arm=arm, metric=metric, design=design, randomised=randomised, horizon=horizon, stand_in=stand_in,
    )  # fmt: skip
    print(json.dumps(found.to_dict(), indent=2) if json_ else found.text())
