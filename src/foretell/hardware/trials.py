"""What is written down of every trial of a robot: that it began, and that it ended, with a verdict or without (lost).
`episodes.begun` reads it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Literal

__all__ = ["FILE", "note_trial"]

FILE = "trials.jsonl"
"""In the run folder."""


def note_trial(run: Path, episode: str, what: Literal["began", "ended", "lost"]) -> None:
    """Append a line; it is on the disk when this returns."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    line = json.dumps({"episode": episode, "what": what, "wall_time": time.time()}) + "\n"
    file = os.open(run / FILE, flags, 0o644)
    try:
        os.write(file, line.encode())
        os.fsync(file)
    finally:
        os.close(file)
