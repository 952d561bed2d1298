"""Scripts of ours in another Python environment, each with one end of a pair of sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from foretell.errors import UsageError

__all__ = ["finish", "spawn"]


def spawn(
    python: str, script: Path, *, field: str, apart: bool = True, more: Mapping[str, str] | None = None
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Run `PYTHON SCRIPT DESCRIPTOR`; the process, and our end of the link. `field`: where a user names the Python.
    `apart`: in a process group of its own, so that it outlives us for as long as it needs to let go of a robot.
    `more`: variables of its environment."""
    ours, theirs = socket.socketpair()
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    command = [python, str(script), str(theirs.fileno())]
    try:
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**clean, **(more or {})},
            process_group=0 if apart else None,
        )
    except OSError as error:
        ours.close()
        raise UsageError(f"{field}: {python} cannot be run: {error}") from None
    finally:
        theirs.close()
    return process, ours


def finish(process: subprocess.Popen[bytes], grace: float = 6.0) -> None:
    """Let the process end by itself; kill it if it hangs. Somebody in a hurry need not wait for it."""
    until = time.monotonic() + grace
    while process.poll() is None:
        if time.monotonic() > until:
            process.kill()
            process.wait()
            return
        time.sleep(0.005)
