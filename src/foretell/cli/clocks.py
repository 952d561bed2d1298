"""Tell what latency costs: success under asynchronous clocks beside sync, and the latency budget.

Examples:
    foretell clocks runs/latency
    foretell clocks runs/latency --policy bc --task can --keep 0.9
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    policy: tuple[str, ...] = (),
    task: tuple[str, ...] = (),
    arm: str | None = None,
    keep: float = 0.95,
    alpha: float | None = None,
    confidence: float | None = None,
    seed: int = 0,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Gap between sync and async, retention, trends with latency and speed, latency budgets, and changes of rank.

    Args:
        runs: Run folders, or Parquet files made from one, with episodes under sync and under other clocks.
        policy: Which policies; default all.
        task: Which tasks; default all.
        arm: Which perturbation arm.
        keep: Share of synchronous success that a latency budget must keep.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        seed: Seed of the resampling behind intervals.
        json_: Print JSON.
    """
    from foretell.answers.clocks import clocks
    from foretell.cli._level import alpha_of

    alpha = alpha_of(alpha, confidence)
    found = clocks(*runs, policies=policy, tasks=task, arm=arm, keep=keep, alpha=alpha, seed=seed)
    print(json.dumps(found.to_dict(), indent=2, allow_nan=False) if json_ else found.text())
