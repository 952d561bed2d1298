"""Lines of verdicts that come after a row: `RUN/verdicts/NAME.jsonl`, a file for each judge, which only grows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from foretell.errors import UsageError

__all__ = ["VERDICTS", "append_verdict"]

VERDICTS = "verdicts"
"""Folder of a run."""


def append_verdict(run: Path, judge: str, line: dict[str, Any]) -> None:
    """Append a line to the file of a judge; it is on disk when this returns. A torn line of a crash before is ended
    first, so that it spoils no other."""
    folder = run / VERDICTS
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link, and a run folder holds its own files: remove it")
    folder.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(folder / f"{judge}.jsonl", flags, 0o666)
    try:
        end = os.lseek(fd, 0, os.SEEK_END)
        torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
        os.write(fd, b"\n" * torn + json.dumps(line, allow_nan=False).encode() + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)
