"""Going before all else: a tick that is late is a machine that is too slow."""

from __future__ import annotations

import contextlib
import os

__all__ = ["hurry"]


def hurry(now: bool) -> None:
    """Go before all else on this machine, where that is allowed; the other processes do not inherit it."""
    if hasattr(os, "SCHED_RESET_ON_FORK"):
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK if now else os.SCHED_OTHER
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, policy, os.sched_param(1 if now else 0))
