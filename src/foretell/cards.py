"""Cards: how to set a real table for each scenario of a run, and a sheet to fill in while trying them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from foretell.errors import UsageError, suggest
from foretell.study.store import read_scenarios

__all__ = ["cards", "write_sheet"]

COLUMNS = ("policy", "task", "scenario", "success", "failure_reason")


def cards(run: str | Path, task: str | None = None) -> list[dict[str, str]]:
    """Id, task and card of each scenario of a run, in the order in which they were planned; of one task, if given."""
    scenarios = read_scenarios(run)
    if not scenarios:
        raise UsageError(f"{run} has no scenarios to set a table by")
    known = {s.task for s in scenarios}
    if task is not None and task not in known:
        raise UsageError(f"task: {run} has none of {task!r}; {suggest(task, known)}")
    return [{"id": s.id, "task": s.task, "card": s.card()} for s in scenarios if task in (None, s.task)]


def write_sheet(path: str | Path, found: Iterable[Mapping[str, str]]) -> None:
    """Write a spreadsheet with a line per card that `import_` takes once policy and success are filled in.

    A file that is there is never written over: it may have been filled in.
    """
    try:
        with Path(path).open("x", newline="", encoding="utf-8") as file:
            sheet = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            sheet.writeheader()
            sheet.writerows({"task": card["task"], "scenario": card["id"]} for card in found)
    except FileExistsError:
        raise UsageError(f"csv: {path} is there already, and may be filled in: give another name") from None
    except OSError as error:
        raise UsageError(f"csv: cannot write {path}: {error.strerror}") from None
