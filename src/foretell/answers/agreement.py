"""Second judges: how far they agree with the verdicts of a run, and on which episodes they do not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.episodes.columns import plain_text
from foretell.episodes.read import read_columns
from foretell.episodes.verdicts import judges, newest, verdict_lines
from foretell.notebook import Displayed
from foretell.stats import ALPHA, Interval, clopper_pearson
from foretell.stats.kappa import kappa
from foretell.terminal import plain

__all__ = ["JudgeAgreement", "agreement", "agreement_words", "correction_words"]

SHOWN = 20
"""Episodes that the text lists."""


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement(Displayed):
    """How far one judge agrees with the rows."""

    judge: str
    n: int
    """Episodes that both judged."""
    unsure: int
    """Episodes of which this judge could not tell."""
    episodes: int
    """Episodes of the run that were judged."""
    equal: Interval | None
    """Share of equal verdicts; None where there is none."""
    kappa: Interval | None
    differences: list[dict[str, Any]]
    """`episode`, `task`, `first` and `second`: success in the row, and for this judge; `note`."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        intervals = {
            name: None if (made := getattr(self, name)) is None else made.to_dict() for name in ("equal", "kappa")
        }
        return {**vars(self), **intervals}

    def text(self) -> str:
        """The answer as text."""
        return "\n".join([self.words(), *(f"  {line}" for line in self._lines())])

    def words(self) -> str:
        """The answer in a sentence."""
        unsure = f"; could not tell in {self.unsure}" if self.unsure else ""
        if self.equal is None or self.kappa is None:
            return f"Second judge {plain(self.judge)}: no verdict yet{unsure}."
        level = f"{1 - self.equal.alpha:.0%} interval"
        share = f"{self.n - len(self.differences)} of {self.n} verdicts equal"
        ends = f"{self.equal.low:.0%} to {self.equal.high:.0%}"
        value = "undefined" if math.isnan(self.kappa.estimate) else f"{self.kappa.estimate:.2f}"
        kappa_ends = f"{self.kappa.low:.2f} to {self.kappa.high:.2f}"
        rest = f", of {self.episodes} episodes" if self.n < self.episodes else ""
        agree = f"{share}{rest} ({level} {ends}); Cohen's kappa {value} ({kappa_ends})"
        return f"Second judge {plain(self.judge)}: {agree}{unsure}."

    def _lines(self) -> list[str]:
        verdicts = {True: "success", False: "failure"}
        lines = []
        for row in self.differences[:SHOWN]:
            note = f": {plain(row['note'])}" if row["note"] else ""
            lines.append(
                f"{row['episode']} ({row['task']}): {verdicts[row['first']]} then, {verdicts[row['second']]} now{note}"
            )
        more = len(self.differences) - SHOWN
        return [*lines, *([f"and {more} more; --json lists all"] if more > 0 else [])]


def agreement(run: str | Path, judge: str | None = None, alpha: float = ALPHA) -> list[JudgeAgreement]:
    """How far each second judge of a run agrees with its rows; `judge` chooses one."""
    known = [name for name in judges(run) if name != "person" and not name.startswith("detector")]
    chosen = [name for name in known if judge in (None, name)]
    if not chosen:
        return []
    rows = plain_text(read_columns(run, ["episode", "task", "success"])).to_pylist()
    first = {row["episode"]: row for row in rows if row["success"] is not None}
    return [_agreement(name, first, newest(verdict_lines(run, name)), alpha) for name in chosen]


def _agreement(name: str, first: dict[str, Any], second: dict[str, Any], alpha: float) -> JudgeAgreement:
    theirs = {episode: line for episode, line in second.items() if episode in first}
    both = sorted(episode for episode, line in theirs.items() if line["success"] is not None)
    a, b = [first[e]["success"] for e in both], [theirs[e]["success"] for e in both]
    differences = [
        {"episode": e, "task": first[e]["task"], "first": x, "second": y, "note": theirs[e].get("note")}
        for e, x, y in zip(both, a, b, strict=True)
        if x != y
    ]
    return JudgeAgreement(
        judge=name,
        n=len(both),
        unsure=len(theirs) - len(both),
        episodes=len(first),
        equal=clopper_pearson(len(both) - len(differences), len(both), alpha) if both else None,
        kappa=kappa(a, b, alpha) if both else None,
        differences=differences,
    )


def agreement_words(run: str | Path, alpha: float = ALPHA) -> list[str]:
    """A sentence for each second judge."""
    return [made.words() for made in agreement(run, alpha=alpha)]


def correction_words(run: str | Path) -> list[str]:
    """How many verdicts the person at the robot corrected afterwards, if any."""
    lines = [line for line in verdict_lines(run, "person") if line["kind"] == "correction"]
    trials = {(line.get("scenario"), line.get("trial"), line.get("judged")) for line in lines}
    return [f"{counted(len(trials), 'verdict')} corrected afterwards by the person who judged."] if trials else []
