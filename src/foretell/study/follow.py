"""Following a run while it is written: each look reads only what is new."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from foretell.episodes.blind import Mask, mask_of
from foretell.episodes.folder import check_folders
from foretell.episodes.journal import journals, parse
from foretell.episodes.parts import DamagedError, parts, read_part
from foretell.episodes.planned import plan_table
from foretell.episodes.read import JOURNAL
from foretell.episodes.tally import COLUMNS, Tally
from foretell.files import read_file
from foretell.study.lock import writer

__all__ = ["Follower"]


class Follower:
    """Where a run stands, whenever one looks. The folder may not exist yet, and may be replaced by another."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.tally = Tally()
        self.writer: dict[str, Any] | None = None
        self.rows = 0
        """Rows read so far, some of them twice: it changes when there is news."""
        self._is: Any = None
        self._read: dict[str, int] = {}
        """Journal file -> bytes read of it."""
        self._parts: set[str] = set()
        self._mask: Mask | None = None

    @property
    def exists(self) -> bool:
        """Whether it is a run folder by now."""
        return any((self.run / name).exists() for name in ("study.yaml", "journal", "episodes"))

    def look(self) -> None:
        """Take in what is new. Raises UsageError if the rows are of a newer schema or a folder is a link."""
        check_folders(self.run)
        self.writer = writer(self.run)
        identity = tuple(_stat(self.run / name) for name in ("journal", "plan.parquet", "provenance.json"))
        if identity != self._is:
            self._is, self._read, self._parts, self.tally = identity, {}, set(), Tally(plan_table(self.run))
            self._mask = mask_of(self.run)
        self.tally.since = _seconds(self.writer["since"]) if self.writer else 0.0
        # Journal first, as in `store.read`: what vanishes from it meanwhile is in a part that is listed after.
        for path in journals(self.run):
            with contextlib.suppress(OSError):  # gone, or no file at all: `store.read` says so
                data = read_file(path, JOURNAL, start=self._read.get(path.name, 0))
                whole = data.rfind(b"\n") + 1
                self._add(parse(data[:whole], path).rows)
                self._read[path.name] = self._read.get(path.name, 0) + whole
        for path in parts(self.run):
            if path.name not in self._parts:
                with contextlib.suppress(DamagedError, OSError):
                    self._add(read_part(path, COLUMNS).to_pylist())
                self._parts.add(path.name)
                self._read = {}  # the journal was sealed, and the next one may have its name

    def _add(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self.tally.add(row if self._mask is None else self._mask.row(row))
        self.rows += len(rows)


def _stat(path: Path) -> Any:
    """Identifies a file or folder, so that a new one of the same name is noticed. A folder's time is left out, because
    its entries change it."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino, None if path.is_dir() else status.st_mtime_ns)


def _seconds(since: str) -> float:
    with contextlib.suppress(ValueError):
        return datetime.strptime(since, "%Y-%m-%d %H:%M:%S %z").timestamp()
    return 0.0
