"""The lock of a run folder: who writes it, and how to ask that process to stop."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from pathlib import Path
from typing import Any

from foretell.document import load_json
from foretell.errors import UsageError
from foretell.files import read_file

__all__ = ["STOP", "ask_to_stop", "lock", "writer"]

STOP = "stop"
"""A file of this name in a run folder makes its writer stop."""


def lock(run: Path) -> int:
    """The open lock file. The kernel frees it with the process, however that ends; the file itself stays: if
    it were deleted, two processes could each lock a file of that name."""
    try:  # a link, in a folder of someone else's, would have us write what it leads to
        fd = os.open(run / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UsageError(f"run {run.name} ({run}): lock is a link: remove it") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise UsageError(f"run {run.name} ({run}): lock is not a regular file: remove it")
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(OSError):  # who holds it is a courtesy; a full disk must not stop us here
            holder = {"pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps({**holder, "host": os.uname().nodename}).encode(), 0)
    except BlockingIOError:
        try:
            holder = json.loads(os.pread(fd, 4096, 0))
            who = f"process {holder['pid']} on {holder['host']} since {holder['since']}"
        except (ValueError, LookupError, TypeError):  # it has only just taken the lock
            who = "another process"
        os.close(fd)
        raise UsageError(
            f"run {run.name} ({run}) is being written by {who}: wait until it ends, or stop it, then run the same "
            "command again; the run can be read meanwhile"
        ) from None
    except BaseException:
        os.close(fd)
        raise
    return fd


def writer(run: Path | str) -> dict[str, Any] | None:
    """Who is writing the run: `pid`, `host` and `since`; None if nobody is. Takes no lock, so that it never keeps a
    study from starting. What another machine's process says of itself is believed."""
    path = Path(run) / "lock"
    try:
        contents = load_json(read_file(path, 4096))
        pid = int(contents["pid"])
        holder = {"pid": pid, "host": str(contents["host"]), "since": str(contents["since"])}
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return holder if holder["host"] != os.uname().nodename or _holds(pid, path.resolve()) else None


def _holds(pid: int, lock: Path) -> bool:
    """Whether that process of this machine lives and, as far as can be seen, has the lock open: it may have been
    killed, and its number given to another."""
    try:
        os.kill(pid, 0)
        return str(lock) in [os.readlink(fd.path) for fd in os.scandir(f"/proc/{pid}/fd")]
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's, or no /proc here
        return True


def ask_to_stop(run: Path | str) -> bool:
    """Ask whoever writes the run to end as on Ctrl-C, with everything finished kept; False if nobody does.

    A file says so, which the writer looks for a few times a second: unlike a signal it can hit no other process, and
    it reaches other machines and containers.
    """
    if writer(run) is None:
        return False
    with contextlib.suppress(FileExistsError):  # asked before; a link there is not followed
        os.close(os.open(Path(run) / STOP, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    return True
