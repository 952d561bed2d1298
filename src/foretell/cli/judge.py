"""Judge recorded episodes again, by a changed rule, your own, or a second person.

Examples:
    foretell judge runs/first-study
    foretell judge runs/first-study --task my_task.py:HigherLift
    foretell judge runs/first-study --task my_task.py:HigherLift --out runs/higher
    foretell judge runs/our-robot --by ann  # ann judges the films; foretell view plays them
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from foretell.cli._flags import Alpha, Confidence, Json, OutRun, Run, named

__all__ = ["main"]


def main(
    *,
    run: Annotated[Run, named(None, "A run folder with recorded steps (`record: {steps: all}`), or films for --by.")],
    task: Annotated[str | None, named("TASK", default="each episode's own task, as it is now")],
    out: Annotated[OutRun, named(None, default="none")],
    by: Annotated[str | None, named("NAME", default="the task judges")],
    alpha: Alpha,
    confidence: Confidence = None,
    json_: Json = False,
) -> None:
    """Judge success, stages and events again from recorded steps, without physics.

    Args:
        task: The task whose rule judges: a name, or file.py:Class.
        by: A second judge, who judges the films of the run at this terminal: blind, in random order. Run the same
            command to go on another day. Rows do not change.
    """
    from foretell.answers.agreement import agreement
    from foretell.cli._confidence import alpha_of
    from foretell.study.judge import judge
    from foretell.study.second import SecondJudged

    level = alpha_of(alpha, confidence)
    judged = judge(run, task=task, out=out, by=by, alpha=level)
    if isinstance(judged, SecondJudged):
        # while films are left, to hear how one agrees would steer the verdicts to come
        made = [] if judged.left else agreement(run, by, level)
        if json_:
            answer = {**asdict(judged), "run": str(judged.run), "agreement": [second.to_dict() for second in made]}
            print(json.dumps(answer, indent=2))
        else:
            print("\n".join([judged.text(), *(second.text() for second in made)]))
    elif json_:
        answer = {**asdict(judged), "run": str(judged.run), "out": str(judged.out) if judged.out else None}
        print(json.dumps(answer, indent=2))
    else:
        print(judged.text())
