"""Corrections of verdicts: lines that are appended to `RUN/verdicts/person.jsonl`. The row stays as it was on disk;
who reads the run applies the newest correction (`episodes.verdicts`).

A world may not know the key of its episode. A correction names the trial also by its scenario, its number and the time
at which it was judged, which fit one row: an attended world runs one episode at a time.
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
from foretell.tasks.task import Task
from foretell.verdict_lines import append_verdict

__all__ = ["LastTrial", "correct"]

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
    episode: str | None = None

    @classmethod
    def of(cls, trial: TrialCard, judgement: Judgement) -> Self:
        return cls(
            task=trial.task.name,
            scenario=trial.scenario.id,
            trial=trial.trial,
            seconds=trial.seconds,
            judged=time.time(),
            judgement=judgement,
            episode=trial.episode,
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


def correct(run: Path, task: Task, last: LastTrial, judgement: Judgement) -> LastTrial:
    """Keep a correction of the last trial; returns the trial as it is judged now."""
    about = {"scenario": last.scenario, "trial": last.trial, "judged": last.judged, "seconds": last.seconds}
    made = judgement.verdict(task, last.seconds)
    line = {"kind": "correction", "episode": last.episode, "judge": "person", **about, **judgement.to_dict()}
    append_verdict(run, "person", {**line, "score": made.score, "reason": made.reason, "wall_time": time.time()})
    changed = replace(last, judgement=judgement)
    changed.keep(run)
    return changed
