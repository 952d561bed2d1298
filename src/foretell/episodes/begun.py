"""Trials of a robot that began and never ended: somebody stopped the study before the verdict.

The robot's world writes a line when a trial begins and when it ends, in `RUN/trials.jsonl`. A trial that was seen and
then dropped shows here, though it has no row.
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
    """A sentence on the trials without an end, where there are some."""
    try:
        lines = read_file(Path(run) / FILE, SMALL).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    balance: Counter[str] = Counter()
    for line in lines:
        try:
            entry = json.loads(line)
            balance[str(entry["episode"])] += {"began": 1, "ended": -1}[entry["what"]]
        except (ValueError, KeyError, TypeError):  # cut off in the middle
            continue
    left = sum(count for count in balance.values() if count > 0)
    if not left:
        return []
    return [f"{counted(left, 'trial')} began and ended without a verdict, because the study was stopped."]
