"""Tell whether one policy is better than another.

Examples:
    foretell compare runs/first-study --task lift
    foretell compare a.csv b.csv
    foretell compare runs/real --policy bc dp --sim runs/first-study
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import tyro

__all__ = ["main"]


def main(
    sources: Annotated[tuple[Path, ...], tyro.conf.Positional],
    policy: tuple[str, ...] = (),
    sim: Path | None = None,
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    test: Literal["auto", "barnard", "fisher", "mcnemar", "betting"] = "auto",
    unpaired: bool = False,
    effect: float = 0.2,
    alpha: float | None = None,
    confidence: float | None = None,
    horizon: int | Literal["open"] | None = None,
    stand_in: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Compare policies: `compare a.csv b.csv`, or a run folder with several policies.

    Args:
        sources: Files (columns scenario and score, several policies with a column policy) or run folders.
        policy: Which policies; default all.
        sim: Simulations of the same policies: a run folder or a file with a column policy. Two policies: control of a
            betting test. More: simulated scenarios without a real trial order the tests. Choose before looking.
        task: Which task.
        clock: Which clock.
        arm: Which perturbation arm.
        metric: Which column; default score or success, in run folders success.
        test: Default: McNemar or Barnard for success, betting for partial credit.
        unpaired: Do not match trials on common scenarios.
        effect: A difference worth knowing about; trials are too few if both +effect and -effect are still possible.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        horizon: For looking more than once: the number of scenarios planned before the first look, or `open`.
        stand_in: With --sim: a simulated world plays reality in the sources.
        json_: Print JSON.
    """
    from foretell.answers.compare import compare
    from foretell.cli._level import alpha_of

    alpha = alpha_of(alpha, confidence)
    found = compare(
        *sources, sim=sim, policies=policy, task=task, clock=clock, arm=arm, metric=metric, test=test,
        unpaired=unpaired, effect=effect, alpha=alpha, horizon=horizon, stand_in=stand_in,
    )  # fmt: skip
    print(json.dumps(found.to_dict(), indent=2) if json_ else found.text())
