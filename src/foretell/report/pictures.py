"""What it looks like: strips of pictures from the films, near the top of the page."""

from __future__ import annotations

import base64
from collections import defaultdict
from typing import Any

import pyarrow.compute as pc

from foretell.counting import counted
from foretell.files import inside, read_file
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Section, Strips
from foretell.study.films import steps

__all__ = ["section"]

READ = ["episode", "task", "policy", "arm", "world", "clock", "success", "failure_reason", "video"]
SHOWN = 10
"""Strips on the page, at most."""
BYTES = 300_000
"""Of one strip, at most; five small pictures take a fifth of that."""


def section(runs: Runs) -> Section | None:
    """A failure and a success of every policy, task, arm and clock that was filmed, as far as they fit."""
    films = [film for run in runs.each for film in _chosen(runs, run)]
    shown: list[dict[str, Any]] = []
    worlds = len({row["world"] for _, row in films}) > 1
    for run, row in sorted(films, key=lambda film: _place(film[1])):
        if len(shown) == SHOWN:
            break
        if (picture := _picture(run, row["episode"])) is not None:
            shown.append({**_caption(run, row, worlds), "picture": picture})
    if not shown:
        return None
    solved = sum(film["outcome"] == "success" for film in shown)
    count = len(shown)
    says = f"{counted(count, 'film')}: {_outcomes(solved, count - solved)}."
    about = "Time runs from left to right, from the start to the end. Choose a strip to see the film and its figures."
    return Section(
        "pictures", "Pictures", says, [Strips(name="pictures", title="Episodes in pictures", films=shown, about=about)]
    )


def _outcomes(solved: int, failed: int) -> str:
    counts = [counted(solved, "success", "successes")] * (solved > 0) + [counted(failed, "failure")] * (failed > 0)
    return " and ".join(counts)


def _chosen(runs: Runs, run: OneRun) -> list[tuple[OneRun, dict[str, Any]]]:
    """The first failure and the first success of each cell that were filmed."""
    cells: dict[tuple[str, ...], dict[bool, tuple[OneRun, dict[str, Any]]]] = defaultdict(dict)
    filmed = pc.indices_nonzero(pc.and_(run.table["video"].is_valid(), run.table["success"].is_valid()))
    for row in runs.named(run).select(READ).take(filmed).to_pylist():
        if row["video"]:
            key = (row["world"], row["task"], row["policy"], row["arm"], row["clock"])
            cells[key].setdefault(row["success"], (run, row))
    return [film for cell in cells.values() for film in cell.values()]


def _place(row: dict[str, Any]) -> tuple[str, str, bool, str, bool]:
    """Clean scenes and successes first: who sees the task done knows what the failures miss."""
    return row["task"], row["policy"], row["arm"] != "none", row["arm"], not row["success"]


def _caption(run: OneRun, row: dict[str, Any], worlds: bool) -> dict[str, Any]:
    parts = [row["task"], row["policy"], *([f"arm {row['arm']}"] if row["arm"] != "none" else [])]
    parts += [row["clock"]] if row["clock"] != "sync" else []
    parts += [f"world {row['world']}"] if worlds else []
    outcome = "success" if row["success"] else "failure"
    why = f": {row['failure_reason']}" if not row["success"] and row["failure_reason"] else ""
    caption = f"{', '.join(parts)} · {outcome}{why}"
    return {"run": run.name, "episode": row["episode"], "said": caption, "outcome": outcome}


def _picture(run: OneRun, episode: str) -> str | None:
    """Only a JPEG that lies in the run folder: the page is made to be shared."""
    path = inside(run.path, steps(episode).with_suffix(".jpg"))
    try:
        data = read_file(path, BYTES) if path is not None else b""
    except OSError:
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}" if data[:3] == b"\xff\xd8\xff" else None
