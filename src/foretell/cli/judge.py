"""Judge episodes again: by a rule, a person or a detector.

Examples:
    foretell judge runs/first-study
    foretell judge runs/first-study --task my_task.py:HigherLift --out runs/higher
    foretell judge runs/our-robot --by ann  # ann judges the films
    foretell judge runs/our-robot --detector my_detector.py:Judge --confirm 0.2
    foretell judge runs/our-robot --detector Judge --by ann  # ann confirms some
"""

from __future__ import annotations

import json
from typing import Annotated

from foretell.cli._flags import Alpha, Confidence, Json, OutRun, Run, named

__all__ = ["main"]


def main(
    *,
    run: Annotated[Run, named(None, "A run folder with recorded steps (`record: {steps: all}`), or films for --by.")],
    task: Annotated[str | None, named("TASK", default="each episode's own task, as it is now")],
    out: Annotated[OutRun, named(None, default="none")],
    by: Annotated[str | None, named("NAME", default="the task judges")],
    detector: Annotated[str | None, named("DETECTOR", default="none")],
    confirm: Annotated[float, named("SHARE")],
    seed: Annotated[int, named("SEED")],
    alpha: Alpha,
    confidence: Confidence = None,
    json_: Json = False,
) -> None:
    """Judge success, stages and events again from recorded steps, without physics. Or let a detector judge the films.

    Args:
        task: The task whose rule judges: a name, or file.py:Class.
        by: A second judge, who judges the films of the run at this terminal: blind, in random order. Run the same
            command to go on another day. Rows do not change.
        detector: Judge the films by a detector of success: file.py:Class, or an .onnx file. Its verdicts are proposals
            for `foretell bound --detector`, and change no row. With --by, the name of one that has judged: the person
            sees only the films that were drawn to confirm it.
        confirm: The share of the scenarios that a person confirms, drawn at random.
        seed: The seed of that draw.
    """
    import sys

    from foretell.answers.agreement import agreement
    from foretell.cli._confidence import alpha_of
    from foretell.study.judge import judge
    from foretell.study.second import SecondJudged

    level = alpha_of(alpha, confidence)
    judged = judge(
        run, task=task, out=out, by=by, detector=detector, confirm=confirm, seed=seed, alpha=level,
        notify=lambda text: print(text, file=sys.stderr),
    )  # fmt: skip
    # while films are left, to hear how one agrees would steer the verdicts to come
    seconds = agreement(run, by, level) if isinstance(judged, SecondJudged) and not judged.left else []
    if json_:
        about = {"agreement": [second.to_dict() for second in seconds]} if by is not None else {}
        print(json.dumps({**judged.to_dict(), **about}, indent=2))
    else:
        print("\n".join([judged.text(), *(second.text() for second in seconds)]))
