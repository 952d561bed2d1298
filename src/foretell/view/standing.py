"""Where one run stands: how far it is, and what is wrong with its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretell.episodes.blind import mask_of
from foretell.episodes.parts import DamagedError, parts, read_part
from foretell.errors import ForetellError
from foretell.person.desk import DESK
from foretell.study.follow import Follower
from foretell.study.lock import STOP

__all__ = ["Standing"]


class Standing:
    """One run of the page, looked at again and again. It may be still to come, and may go away."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.there = False
        """Whether it was a run folder at the last look."""
        self.hidden = False
        """Whether a person attends to it and must not see figures: a code beside an outcome tells which policy ran."""
        self._was = False
        """Whether it ever was."""
        self._follower = Follower(run)
        self._sound: dict[tuple[str, int, int], str] = {}
        """A part's name, size and time -> what is wrong with it, or nothing."""

    @property
    def rows(self) -> int:
        """Changes when there is news; 0 where nothing could be read."""
        return self._follower.rows

    def look(self) -> dict[str, Any]:
        """How far it is, as the page takes it."""
        problem = ""
        try:
            self.there = self._follower.exists
            if self._was and not self.there:
                self._follower = Follower(self.run)  # what was read of it is no more
            self._was |= self.there
            self._follower.look()
            problem = self._damage()
        except (ForetellError, OSError) as error:
            problem = str(error)
        attended = (self.run / DESK).is_dir()
        self.hidden = attended and mask_of(self.run) is not None
        tally, writer = self._follower.tally, self._follower.writer
        figures = tally.figures()
        planned, finished = sum(row["planned"] for row in figures), sum(row["finished"] for row in figures)
        pace = tally.pace() if writer else None
        return {
            "name": self.run.resolve().name,
            "path": str(self.run),
            "state": self._state(planned, finished, problem),
            "problem": problem,
            "planned": planned,
            "finished": finished,
            "rows": self.rows,
            "pace": pace,
            "left": (planned - finished) / pace if pace else None,
            "writer": writer,
            "figures": [] if self.hidden else figures,
            "attended": attended,
        }

    def _state(self, planned: int, finished: int, problem: str) -> str:
        if self._follower.writer:
            return "stopping" if (self.run / STOP).exists() else "running"
        if problem:
            return "unreadable"
        if not self.there:
            return "removed" if self._was else "empty" if self.run.is_dir() else "absent"
        if not planned:
            return "unbegun"
        return "complete" if finished >= planned else "stopped"

    def _damage(self) -> str:
        """What is wrong with its parts, each read once: who follows a run passes over those that cannot be read."""
        damage = {}
        for path in parts(self.run):
            try:
                at = path.stat()
                key = (path.name, at.st_size, at.st_mtime_ns)
                damage[key] = self._sound[key] if key in self._sound else _wrong(path)
            except FileNotFoundError:  # a writer has just set it aside
                continue
        self._sound = damage
        return "\n".join(filter(None, damage.values()))


def _wrong(path: Path) -> str:
    try:
        read_part(path)
    except DamagedError as damage:
        missing = "how many episodes are missing is unknown; run the study again to fill the gap"
        return f"{path} is damaged ({damage}): {missing}."
    return ""
