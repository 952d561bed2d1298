"""Print a run's results: success rates with intervals.

Examples:
    foretell show runs/first-study
    foretell show runs/first-study --failed               # episodes, with keys for replay and timeline
    foretell show runs/first-study --confidence 99 --json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    run: Annotated[Path, tyro.conf.Positional],
    alpha: float | None = None,
    confidence: float | None = None,
    episodes: bool = False,
    failed: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Success rates of a run, with Clopper-Pearson intervals (while episodes are to come: anytime-valid ones).

    Args:
        run: A run folder.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        episodes: List every episode with its key (for `foretell replay`) and how it ended.
        failed: List the episodes that did not succeed.
        json_: Print a list of objects instead of a table.
    """
    from foretell.answers.show import episode_table, show, table
    from foretell.answers.show import episodes as list_episodes
    from foretell.cli._arrow import leave_pandas_out
    from foretell.cli._level import alpha_of

    leave_pandas_out()
    alpha = alpha_of(alpha, confidence)
    each = episodes or failed
    rows = list_episodes(run, failed=failed) if each else show(run, alpha=alpha)
    if json_:
        print(json.dumps(rows, indent=2))
    else:
        (episode_table if each else table)(rows)
