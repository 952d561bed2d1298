"""Corrections of verdicts: lines that are appended to `RUN/verdicts/person.jsonl`. The row stays as it was on disk;
who reads the run applies the newest correction (`episodes.verdicts`).

A world does not know the key of its episode. A correction names the trial by its scenario, its number and the time at
which it was judged, which fit one row: an attended world runs one episode at a time.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from foretell.files import create, read_file
from foretell.person.judgement import Judgement
from foretell.person.person import TrialCard

__all__ = ["VERDICTS", "LastTrial", "append_verdict", "correct"]

VERDICTS = "verdicts"
"""Folder of a run that has a file of lines for each judge."""
LAST = "desk/last.json"
MOST = 1 << 20
"""Bytes of the file of the last trial."""


@dataclass(frozen=True, kw_only=True)
class LastTrial:
    """The trial that was judged last."""

    task: str
    scenario: str
    trial: int
    seconds: float
    judged: float
    """Unix time of the first verdict."""
    judgement: Judgement

    @classmethod
    def of(cls, trial: TrialCard, judgement: Judgement) -> Self:
        return cls(
            task=trial.task.name,
            scenario=trial.scenario.id,
            trial=trial.trial,
            seconds=trial.seconds,
            judged=time.time(),
            judgement=judgement,
        )

    def keep(self, run: Path) -> None:
        """For the next process."""
        path = run / LAST
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(create(part := path.with_suffix(".part")), "w", encoding="utf-8") as file:
            json.dump({**vars(self), "judgement": self.judgement.to_dict()}, file)
        os.replace(part, path)

    @classmethod
    def kept(cls, run: Path) -> Self | None:
        """What the process before this one kept; None where there is nothing that can be read."""
        try:
            given: Any = json.loads(read_file(run / LAST, MOST))
            return cls(**{**given, "judgement": Judgement.from_dict(given["judgement"])})
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


def correct(run: Path, last: LastTrial, judgement: Judgement) -> LastTrial:
    """Keep a correction of the last trial; returns the trial as it is judged now."""
    about = {"scenario": last.scenario, "trial": last.trial, "judged": last.judged, "seconds": last.seconds}
    line = {"kind": "correction", "episode": None, "judge": "person", **about, **judgement.to_dict()}
    append_verdict(run, "person", {**line, "wall_time": time.time()})
    changed = replace(last, judgement=judgement)
    changed.keep(run)
    return changed


def append_verdict(run: Path, judge: str, line: dict[str, Any]) -> None:
    """Append a line to the file of a judge; it is on disk when this returns. A torn line of a crash before is ended
    first, so that it spoils no other."""
    folder = run / VERDICTS
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
