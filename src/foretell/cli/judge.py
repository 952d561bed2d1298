"""Judge recorded episodes again, by a changed rule or your own.

Examples:
    foretell judge runs/first-study
    foretell judge runs/first-study --task my_task.py:HigherLift
    foretell judge runs/first-study --task my_task.py:HigherLift --out runs/higher
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from foretell.cli._flags import Alpha, Confidence, Json, OutRun, Run, named

__all__ = ["main"]


def main(
    *,
    run: Annotated[Run, named(None, "A run folder whose study recorded steps (`record: {steps: all}`).")],
    task: Annotated[str | None, named("TASK", default="each episode's own task, as it is now")],
    out: Annotated[OutRun, named(None, default="none")],
    alpha: Alpha,
    confidence: Confidence = None,
    json_: Json = False,
) -> None:
    """Judge success, stages and events again from recorded steps, without physics.

    Args:
        task: The task whose rule judges: a name, or file.py:Class.
    """
    from foretell.cli._confidence import alpha_of
    from foretell.study.judge import judge

    judged = judge(run, task=task, out=out, alpha=alpha_of(alpha, confidence))
    if json_:
        answer = {**asdict(judged), "run": str(judged.run), "out": str(judged.out) if judged.out else None}
        print(json.dumps(answer, indent=2))
    else:
        print(judged.text())
