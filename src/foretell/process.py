"""Processes of our own: they import what we would, speak JSON over their pipes, and never outlive us.

Each leads a process group of its own. A policy may start processes too; they are in the group, and end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

__all__ = ["end", "gone", "kill", "leave", "listen", "serve", "start"]

THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LP_NUM_THREADS": "1"}
_STARTED: weakref.WeakSet[subprocess.Popen[str]] = weakref.WeakSet()
"""Those that have not been ended."""
_READERS: weakref.WeakKeyDictionary[subprocess.Popen[str], threading.Thread] = weakref.WeakKeyDictionary()


def start(
    module: str, *, fds: tuple[int, ...] = (), one_thread: bool = False, says: str | None = None
) -> subprocess.Popen[str]:
    """Run `python -m MODULE`, with pipes to and from it. It inherits the descriptors `fds`. `one_thread`: its numeric
    libraries use one thread, unless the user says otherwise. `says`: the file to which its prints are appended; None:
    they go to our standard error."""
    # -P: the current folder is on our path or not; on a child's own it could hide Python's modules
    command = [sys.executable, "-P", "-m", module]
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "pass_fds": fds}
    pipes["process_group"] = 0
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child says that it ignores it
    try:
        with contextlib.ExitStack() as files:
            if says is not None:
                pipes["stderr"] = files.enter_context(open(says, "ab"))
            process = subprocess.Popen(
                command, env={**(THREADS if one_thread else {}), **os.environ, "PYTHONPATH": path}, **pipes
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _STARTED.add(process)
    return process


def listen(process: subprocess.Popen[str], heard: Callable[[dict[str, Any] | None], None]) -> None:
    """Call `heard` in a thread with every message that the process writes, and with None at the end.

    The thread alone reads and closes the pipe. A helper process of a policy may hold the other end open for ever, and
    whoever closed the pipe meanwhile would wait as long.
    """
    assert process.stdout is not None
    pipe = process.stdout

    def read() -> None:
        rest = b""
        with contextlib.suppress(OSError, ValueError):  # ValueError: cut off in the middle of a line
            while data := os.read(pipe.fileno(), 1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    heard(json.loads(line))
        with contextlib.suppress(OSError):
            pipe.close()
        heard(None)

    _READERS[process] = threading.Thread(target=read, daemon=True)
    _READERS[process].start()


def gone(process: subprocess.Popen[str]) -> bool:
    """Whether the process has ended. Its number is kept until `end`, so that its group can still be named."""
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):  # macOS
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def kill(process: subprocess.Popen[str]) -> None:
    """Kill the process and every process of its group, and do not wait."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def end(process: subprocess.Popen[str], patience: float = 0.0) -> int:
    """End the process, which has so many seconds to do so itself, and its group. Returns its exit code."""
    until = time.monotonic() + patience
    while not gone(process) and time.monotonic() < until:
        time.sleep(0.005)
    kill(process)
    code = process.wait()
    _STARTED.discard(process)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    if process in _READERS:
        _READERS.pop(process).join(1.0)  # longer only if a helper has left the group, and holds the pipe
    return code


def leave() -> NoReturn:
    """In a child whose parent has gone: end, together with all that was started here or by a policy."""
    for process in list(_STARTED):
        kill(process)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


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
