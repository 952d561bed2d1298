"""Measure what latency costs a policy.

Examples:
    foretell clocks runs/latency
    foretell clocks runs/latency --policy bc --task can --keep 0.9
"""

from __future__ import annotations

import json
from typing import Annotated

from foretell.cli._flags import Alpha, Arm, Confidence, Json, Policies, Runs, Seed, named

__all__ = ["main"]


def main(
    *,
    sources: Annotated[Runs, named(None, "Run folders or Parquet files, with episodes under sync and other clocks.")],
    policy: Policies,
    task: Annotated[tuple[str, ...], named("TASK ...", "Choose one or more tasks.", default="all")],
    arm: Arm,
    keep: Annotated[float, named("SHARE")],
    alpha: Alpha,
    confidence: Confidence = None,
    seed: Seed,
    json_: Json = False,
) -> None:
    """Compare success under asynchronous clocks with success under sync: gaps, trends, ranks, and the latency budget.

    Args:
        keep: The share of synchronous success that the latency budget keeps.
    """
    from foretell.answers.clocks import clocks
    from foretell.cli._confidence import alpha_of

    alpha = alpha_of(alpha, confidence)
    answer = clocks(*sources, policy=policy, task=task, arm=arm, keep=keep, alpha=alpha, seed=seed)
    print(json.dumps(answer.to_dict(), indent=2, allow_nan=False) if json_ else answer.text())
