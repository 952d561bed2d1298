"""The videos that a report may show: those of its runs, and nothing else of the reader's disk.

A row names its video by a path, and a row may come from someone else. A page is made to be shared, so a file gets into
it, or is linked from it, only where it lies in the run folder (of imported trials: in the folder of their sheet or
below), wherever links lead; where it is a regular file; and where it begins as a video does.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from foretell.files import SMALL, read_file
from foretell.report.runs import OneRun

__all__ = ["Film", "film_of"]

Film = tuple[Path | None, str]
"""Where a video is, and if nowhere, why it is not shown; neither for one that is merely not on the disk."""


def film_of(run: OneRun, video: str) -> Film:
    """The video that a row of a run names."""
    return _find(os.path.realpath(run.path), _sheet(run), video)


def _sheet(run: OneRun) -> str | None:
    """The folder of the sheet that trials were imported from, where the sheet is still there as it was then."""
    origin: Any = run.provenance.get("imported")
    if not isinstance(origin, dict) or not isinstance(origin.get("file"), str):
        return None
    try:
        at = os.stat(origin["file"])
    except (OSError, ValueError):
        return None
    return _unchanged(origin["file"], str(origin.get("sha256")), at.st_mtime_ns, at.st_size)


@lru_cache(maxsize=32)
def _unchanged(sheet: str, sha256: str, time: int, size: int) -> str | None:
    try:
        same = hashlib.sha256(read_file(sheet, SMALL, follow=True)).hexdigest() == sha256
    except OSError:
        return None
    return os.path.realpath(os.path.dirname(sheet)) if same else None


def _find(root: str, sheet: str | None, video: str) -> Film:
    outside = "it is not in the run folder"
    if sheet:
        outside += ", nor beside the sheet of these trials"
    try:
        named = Path(os.path.normpath(os.path.join(root, video)))
        path = Path(os.path.realpath(named))
    except (OSError, ValueError):  # no file can be called that
        return None, "it is no path"
    roots = [Path(folder) for folder in (root, sheet) if folder]
    if not any(path.is_relative_to(folder) for folder in roots):
        return None, outside
    if not os.path.lexists(named):
        return None, ""
    return (path, "") if _is_video(path) else (None, "it is no mp4 or webm file")


def _is_video(path: Path) -> bool:
    try:
        if not path.is_file():  # a pipe would wait for ever
            return False
        with open(path, "rb") as file:
            head = file.read(12)
    except OSError:
        return False
    return head[4:8] == b"ftyp" or head[:4] == b"\x1aE\xdf\xa3"
