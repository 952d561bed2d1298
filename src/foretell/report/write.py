"""`foretell report`: the page of some runs, written to a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.errors import UsageError
from foretell.files import create, require_writable
from foretell.notebook import Displayed
from foretell.report.contents import contents
from foretell.report.page import needs_extra, page
from foretell.report.section import Section

__all__ = ["EMBED", "Written", "report"]

EMBED = 20.0
"""Megabytes of videos that a page carries; the others are linked."""


@dataclass(frozen=True, kw_only=True)
class Written(Displayed):
    """A report on disk."""

    path: Path
    bytes: int
    runs: list[dict[str, Any]]
    sections: list[str]
    """Ids, in order."""
    episodes: int
    shown: int
    """Episodes that the page lists: of a large run a sample."""
    videos: int
    """In the file."""
    linked: int
    """Videos beside it that did not fit."""
    notes: list[str]
    """What is missing, and why."""

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "path": str(self.path)}

    def text(self) -> str:
        """A text about what was written."""
        more = f", {counted(self.videos, 'video')} in it" if self.videos else ""
        more += f", {self.linked} linked" if self.linked else ""
        sample = f" ({self.shown:,} of them listed)" if self.shown < self.episodes else ""
        lines = [f"{self.path}: {counted(self.episodes, 'episode')}{sample}, {self.bytes / 1e6:.1f} MB{more}"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def report(
    *runs: str | Path,
    out: str | Path | None = None,
    embed: float = EMBED,
    first: Sequence[Section] = (),
    notify: Callable[[str], None] = lambda text: None,
) -> Written:
    """Write a report of some runs as one HTML page that opens from disk. The default for one run is `report.html` in
    its folder.

    `embed`: megabytes of videos to include, failures first; the others are linked. `first`: sections to put before all
    others. `notify` is called with a message for each step.
    """
    needs_extra()
    given = _together(runs)
    if not given:
        raise UsageError("runs: give at least one run folder, such as runs/demo")
    if not 0 <= embed < 1e6:
        raise UsageError(f"embed is {embed:g}, it must be 0 or more megabytes, and fewer than a million")
    if out is None and len(given) > 1:
        raise UsageError(f"out: {len(given)} runs are given: name the file to write, such as report.html")
    path = given[0] / "report.html" if out is None else Path(out)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"out: {path} should end in .html")
    for run in given:
        if not run.is_dir():
            raise UsageError(f"{run} is not a run folder: there is no such folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"out: cannot write {path}: {error.strerror}") from None
    require_writable(path, "out")
    page_contents = contents(given, place=path.parent, embed=round(embed * 1e6), first=first, notify=notify)
    notify("the page")
    text = page(page_contents).encode()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(create(part), "wb") as file:
            file.write(text)
        part.replace(path)
    except OSError as error:
        raise UsageError(f"out: cannot write {path}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    table = page_contents["episodes"]
    films = {name for name in table["names"]["video"] if name} - set(table["absent"])
    return Written(
        path=path,
        bytes=len(text),
        runs=page_contents["runs"],
        sections=[section["id"] for section in page_contents["sections"]],
        episodes=table["total"],
        shown=table["count"],
        videos=len(page_contents["videos"]),
        linked=len(films - set(page_contents["videos"])),
        notes=page_contents["notes"],
    )


def _together(runs: Sequence[str | Path | Sequence[str | Path]]) -> list[Path]:
    """`report(a, b)` and `report([a, b])` are the same."""
    return [Path(r) for given in runs for r in ([given] if isinstance(given, str | Path) else given)]
