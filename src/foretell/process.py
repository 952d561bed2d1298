"""Processes of our own: they import what we would, speak JSON over their pipes, and never outlive us."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import Any, TextIO

__all__ = ["serve", "start"]

THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LP_NUM_THREADS": "1"}


def start(module: str, *, fds: tuple[int, ...] = (), one_thread: bool = False) -> subprocess.Popen[str]:
    """Run `python -m MODULE`, with pipes to and from it. It inherits the descriptors `fds`. `one_thread`: its numeric
    libraries use one thread, unless the user says otherwise."""
    # -P: the current folder is on our path or not; on a child's own it could hide Python's modules
    command = [sys.executable, "-P", "-m", module]
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "pass_fds": fds}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child says that it ignores it
    try:
        return subprocess.Popen(
            command, env={**(THREADS if one_thread else {}), **os.environ, "PYTHONPATH": path}, **pipes
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def serve() -> tuple[TextIO, int]:
    """In a child, first of all: the pipe to write to, and the descriptor to read orders from. What a policy, or a
    program that it starts, prints goes to standard error, and there is nothing for it to read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if sys.platform == "linux":  # a policy stuck in C never lets us see that the parent has gone
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    wire, orders = os.fdopen(os.dup(1), "w", buffering=1), os.dup(0)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = sys.stderr
    return wire, orders
