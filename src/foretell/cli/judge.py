"""Judge recorded episodes again, by a changed rule or your own.

Examples:
    foretell judge runs/first-study
    foretell judge runs/first-study --task my_task.py:HigherLift
    foretell judge runs/first-study --task my_task.py:HigherLift --out runs/higher
    foretell judge runs/first-study --detector my_detector.py:Judge --confirm 0.2
"""

from __future__ import annotations

import json
from typing import Annotated

from foretell.cli._flags import Alpha, Confidence, Json, OutRun, Run, named

__all__ = ["main"]


def main(
    *,
    run: Annotated[Run, named(None, "A run folder whose study recorded steps (`record: {steps: all}`).")],
    task: Annotated[str | None, named("TASK", default="each episode's own task, as it is now")],
    out: Annotated[OutRun, named(None, default="none")],
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
        detector: Judge the films by a detector of success: file.py:Class, or an .onnx file. Its verdicts are proposals
            for `foretell bound --detector`, and change no row.
        confirm: The share of the scenarios that a person confirms, drawn at random.
        seed: The seed of that draw.
    """
    import sys

    from foretell.cli._confidence import alpha_of
    from foretell.study.judge import judge

    judged = judge(
        run, task=task, out=out, detector=detector, confirm=confirm, seed=seed, alpha=alpha_of(alpha, confidence),
        notify=lambda text: print(text, file=sys.stderr),
    )  # fmt: skip
    if json_:
        print(json.dumps(judged.to_dict(), indent=2))
    else:
        print(judged.text())
