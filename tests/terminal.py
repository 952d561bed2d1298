"""A study run at a real pseudo-terminal: answers are typed when their prompts are on the screen."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import foretell


def converse(folder: Path, study: str, answers: list[tuple[str, str]], *more: str) -> tuple[int, str]:
    """Run `foretell run STUDY` in a folder; its exit code, and all that was on the screen."""
    here = str(Path(foretell.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, str(folder)]), "TERM": "xterm"}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "foretell", "run", study, *more],
        cwd=folder, env=environment, start_new_session=True, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    screen, seen, waiting = "", 0, list(answers)
    until = time.monotonic() + 120
    try:
        while time.monotonic() < until:
            ready, _, _ = select.select([ours], [], [], 0.2)
            try:
                data = os.read(ours, 65536) if ready else b""
            except OSError:  # the other end is closed
                break
            screen += data.decode()
            if waiting and (at := screen.find(waiting[0][0], seen)) >= 0:
                seen = at + len(waiting[0][0])
                os.write(ours, waiting.pop(0)[1].encode() + b"\n")
            if process.poll() is not None and not ready:
                break
        assert not waiting, screen
        return process.wait(timeout=30), screen
    finally:
        process.kill()
        process.wait()
        os.close(ours)
