"""Where a study stands: while it runs (`Progress`), and after a call of `run` (`Run`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from foretell.counting import counted
from foretell.episodes.tally import Tally
from foretell.notebook import Displayed

__all__ = ["Progress", "Run"]


@dataclass(kw_only=True)
class Progress:
    """Where a running study stands; handed to `progress` after each episode."""

    planned: int
    done: int
    """Including those of earlier calls."""
    ran: int
    """In this call."""
    solved: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)
    """The figures so far, cell by cell, with those of earlier calls."""
    study: str = ""
    until: bool = False
    """Whether cells stop by a rule: `planned` is then the largest number."""
    alone: bool = False
    """Whether the run folder has no plan but this study's: `foretell show` then counts what the tally counts."""


@dataclass(frozen=True, kw_only=True)
class Run(Displayed):
    """What a call of `run` did."""

    path: Path
    planned: int
    ran: int
    skipped: int
    """Already there from earlier calls."""
    left: int
    """Not run, because of `limit`. With `until` at most so many: cells may stop before."""
    until: bool = False
    """Whether cells stop by a rule."""
    spared: int = 0
    """Not needed, because their cells stopped by `until`."""
    notes: tuple[str, ...] = ()
    """Plain sentences on what went wrong, and where."""
    failing: tuple[str, ...] = ()
    """Policies of which every episode so far ended in an error."""
    pulled: bool = False
    """Whether other processes run what is left."""

    def text(self) -> str:
        """What was done, and where the results are."""
        earlier = f", {counted(self.skipped, 'was', 'were')} there already" if self.skipped else ""
        left = (
            f", {'at most ' * self.until}{self.left} left {'to others' if self.pulled else 'by --limit'}"
            if self.left
            else ""
        )
        spared = f", {self.spared} spared by `until`" if self.spared else ""
        notes = [f"note: {note}" for note in self.notes]
        done = f"{counted(self.ran, 'episode')} run{earlier}{left}{spared}"
        return "\n".join([*notes, f"{done}; everything is in {self.path}"])
