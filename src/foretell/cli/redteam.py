"""Find the mildest combination of factors that breaks a policy.

Examples:
    foretell redteam study.yaml --policy mine --budget 400
    foretell redteam study.yaml --factors MO_Size Light_Color --most 2
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    study: Annotated[Path, tyro.conf.Positional],
    policy: str | None = None,
    task: str | None = None,
    factors: tuple[str, ...] = (),
    budget: int = 800,
    most: int = 3,
    severity: float = 1.0,
    breaks: float = 0.5,
    certificate: float = 0.9,
    fresh: int = 50,
    alpha: float | None = None,
    confidence: float | None = None,
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    workers: int | None = None,
    slots: int = 32,
    video: bool = True,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Search within a budget of episodes, and verify what is found on fresh scenarios. The same command again runs
    nothing twice.

    Args:
        study: A study file (YAML): its world, clock and seed are used, and one of its tasks and policies.
        policy: Which policy, where the study has several.
        task: Which task, where the study has several.
        factors: Which factors; default all that apply to the task.
        budget: Episodes in all: of the search, the expert's, and of the verification.
        most: At most so many factors together.
        severity: Up to which severity; 1 is the published extreme.
        breaks: Success below this share of clean success counts as broken.
        certificate: Share of the same scenarios that the scripted expert must solve.
        fresh: Scenarios to verify on; fewer than could verify anything are refused.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        out: The folder; default runs/NAME-redteam.
        workers: Processes; default one per core; 0 runs everything in this process.
        slots: Episodes side by side in each worker. Rows do not depend on it.
        video: Film a failing episode.
        json_: Print JSON.
    """
    from foretell.cli._level import alpha_of
    from foretell.redteam import redteam
    from foretell.study.progress import Bar

    alpha = alpha_of(alpha, confidence)
    with Bar() as bar:
        found = redteam(
            study, policy=policy, task=task, factors=factors, budget=budget, most=most, severity=severity,
            breaks=breaks, certificate=certificate, fresh=fresh, alpha=alpha, out=out, workers=workers, slots=slots,
            video=video, progress=bar.update, told=bar.say,
        )  # fmt: skip
    print(json.dumps(found.to_dict(), indent=2) if json_ else found.text())
