"""Judge recorded episodes again, after a task's rule changed or by a rule of your own.

Examples:
    foretell judge runs/first-study
    foretell judge runs/first-study --task my_task.py:HigherLift
    foretell judge runs/first-study --task my_task.py:HigherLift --out runs/higher
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    run: Annotated[Path, tyro.conf.Positional],
    task: str | None = None,
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    alpha: float | None = None,
    confidence: float | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Judge success, stages and events again from recorded steps, without running physics.

    Args:
        run: A run folder whose study recorded steps (`record: {steps: all}`).
        task: Judge by this task: a name, or file.py:Class. Default: each episode's own task, as it is now.
        out: Write the new rows into this new run folder.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        json_: Print what was found as JSON.
    """
    from foretell.cli._level import alpha_of
    from foretell.study.judge import judge

    found = judge(run, task=task, out=out, alpha=alpha_of(alpha, confidence))
    if json_:
        answer = {**asdict(found), "run": str(found.run), "out": str(found.out) if found.out else None}
        print(json.dumps(answer, indent=2))
    else:
        print(found.text())
