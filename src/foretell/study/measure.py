"""Measuring how long a policy thinks: a trace of its calls on this machine, to be replayed by the `virtual` clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.files import require_writable
from foretell.study.config import PolicyEntry
from foretell.study.stopwatch import time_calls

__all__ = ["Trace", "latency"]


@dataclass(frozen=True)
class Trace:
    """Wall seconds of successive inferences, one robot at a time."""

    seconds: tuple[float, ...]
    execute: int
    """Actions run per inference."""

    def to_dict(self) -> dict[str, Any]:
        """The trace with its summary, JSON-able."""
        low, middle, high, most = np.quantile(self.seconds, [0.05, 0.5, 0.95, 1.0]).tolist()
        return {
            "calls": len(self.seconds),
            "p5": low,
            "median": middle,
            "p95": high,
            "max": most,
            "median_per_action": middle / self.execute,
            "trace": list(self.seconds),
        }


def latency(
    policy: str | PolicyEntry | Any,
    task: str = "lift",
    *,
    world: str | dict[str, Any] = "mujoco",
    calls: int = 100,
    options: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
) -> Trace:
    """Measure the time of `calls` inferences of a policy during real episodes, without the first ten. Do not use the
    machine meanwhile. A policy with an option `batch` is timed with batch 1, as on a robot, unless `options` set it.

    `out` writes the trace, one number of seconds per line. The `virtual` clock can replay it.
    """
    if calls < 1:
        raise UsageError(f"latency: calls is {calls}, it must be at least 1")
    if out is not None:
        require_writable(Path(out), "out")
    entry = PolicyEntry(use=policy, **dict(options or {})) if isinstance(policy, str) else policy
    try:
        seconds, execute = time_calls(entry, calls, task=task, world=world)
    except UsageError as error:
        raise UsageError(f"latency: {error}") from None
    trace = Trace(tuple(seconds), execute)
    if out is not None:
        try:
            Path(out).write_text("\n".join(f"{s:.9f}" for s in trace.seconds) + "\n")
        except OSError as error:
            raise UsageError(f"out: cannot write {out}: {error.strerror}") from None
    return trace
