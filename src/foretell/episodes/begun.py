"""Trials of a robot that began and have no verdict: somebody stopped the study before, or the machine failed.

The robot's world writes a line when a trial begins and when it ends, in `RUN/trials.jsonl`. A trial that was seen and
then dropped shows here, though it has no row, and one that ran again counts as often as it was lost.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from foretell.counting import counted
from foretell.files import SMALL, read_file
from foretell.hardware.trials import FILE

__all__ = ["begun_words"]


def begun_words(run: str | Path) -> list[str]:
    """Sentences on the trials without a verdict, where there are some."""
    try:
        lines = read_file(Path(run) / FILE, SMALL).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    balance: Counter[str] = Counter()
    lost = 0
    for line in lines:
        try:
            entry = json.loads(line)
            balance[str(entry["episode"])] += {"began": 1, "ended": -1, "lost": -1}[entry["what"]]
            lost += entry["what"] == "lost"
        except (ValueError, KeyError, TypeError):  # cut off in the middle
            continue
    words = []
    if left := sum(count for count in balance.values() if count > 0):
        words.append(f"{counted(left, 'trial')} began and ended without a verdict, because the study was stopped.")
    if lost:
        words.append(f"The machine or the link failed in {counted(lost, 'trial')} after the robot began to move.")
    return words
