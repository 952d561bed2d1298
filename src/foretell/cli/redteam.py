"""Find the mildest combination of factors that breaks a policy.

Examples:
    foretell redteam study.yaml --policy mine --budget 400
    foretell redteam study.yaml --factors MO_Size Light_Color --most 2
"""

from __future__ import annotations

import json
from typing import Annotated

from foretell.cli._flags import Alpha, Confidence, Json, OutRun, Policy, Slots, Study, Switch, Task, Workers, named

__all__ = ["main"]


def main(
    *,
    study: Study,
    policy: Policy,
    task: Task,
    factors: Annotated[tuple[str, ...], named("FACTOR ...", default="all that apply to the task")],
    budget: Annotated[int, named("N")],
    most: Annotated[int, named("N")],
    severity: Annotated[float, named("SEVERITY")],
    breaks: Annotated[float, named("SHARE")],
    required: Annotated[float, named("RATE")],
    fresh: Annotated[int, named("N")],
    alpha: Alpha,
    confidence: Confidence = None,
    out: Annotated[OutRun, named("FOLDER", "The folder to write.", default="runs/NAME-redteam")],
    workers: Workers,
    slots: Slots,
    video: Switch,
    json_: Json = False,
) -> None:
    """Search within a budget of episodes, and verify the result on fresh scenarios. Run the same command to resume.

    The study gives the world, the clock, the seed, one task and one policy.

    Args:
        factors: Search only these factors.
        budget: Number of episodes in all, for the search, for the scripted expert and for the verification.
        most: The largest number of factors in one combination.
        severity: The highest severity to try. 1 is the published extreme.
        breaks: A combination breaks the policy if success is below this share of success without perturbation.
        required: The success rate of the scripted expert, on the same scenarios, that certifies a combination.
        fresh: Number of scenarios for the verification. A number too small to verify anything is an error.
        video: Do not film a failed episode.
    """
    from foretell.cli._confidence import alpha_of
    from foretell.redteam import redteam
    from foretell.study.progress import Bar

    alpha = alpha_of(alpha, confidence)
    with Bar() as bar:
        answer = redteam(
            study, policy=policy, task=task, factors=factors, budget=budget, most=most, severity=severity,
            breaks=breaks, required=required, fresh=fresh, alpha=alpha, out=out, workers=workers, slots=slots,
            video=video, progress=bar.update, notify=bar.say,
        )  # fmt: skip
    print(json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
