"""Print success rates with confidence intervals.

Examples:
    foretell show runs/first-study
    foretell show runs/first-study --failed  # with keys for replay
    foretell show runs/first-study --confidence 99 --json
"""

from __future__ import annotations

import json

from foretell.cli._flags import Alpha, Confidence, Json, Run, Switch

__all__ = ["main"]


def main(
    *,
    run: Run,
    alpha: Alpha,
    confidence: Confidence = None,
    episodes: Switch,
    failed: Switch,
    json_: Json = False,
) -> None:
    """Print the success rates of a run with Clopper-Pearson confidence intervals. While episodes are still to run, the
    intervals are anytime-valid.

    Args:
        episodes: List every episode with its key and its outcome.
        failed: List only the episodes that did not succeed.
    """
    from foretell.answers.show import episode_table, remarks, show, table
    from foretell.cli._arrow import leave_pandas_out
    from foretell.cli._confidence import alpha_of

    leave_pandas_out()
    rows = show(run, alpha=alpha_of(alpha, confidence), episodes=episodes, failed=failed)
    if json_:
        print(json.dumps(rows, indent=2))
    else:
        episode_table(rows) if episodes or failed else table(rows, remarks(run))
