"""Give the episodes of a run to other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.episodes.blind import require_open
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError, suggest
from foretell.factors import adopt
from foretell.factors.arms import targets
from foretell.notebook import Displayed
from foretell.study.config import Study, TaskEntry, load_study
from foretell.study.plan import make_task

__all__ = ["FORMATS", "Exported", "Request", "export"]

FORMATS = ("lerobot", "csv", "rerun")


@dataclass(frozen=True, kw_only=True)
class Exported(Displayed):
    """What `export` wrote."""

    path: Path
    to: str
    episodes: int
    steps: int
    left_out: dict[str, int] = field(default_factory=dict)
    """Why episodes are not there -> how many."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {**vars(self), "path": str(self.path)}

    def text(self) -> str:
        """The answer as text."""
        lines = [f"{counted(self.episodes, 'episode')}, {counted(self.steps, 'step')}: {self.path}"]
        lines += [f"left out: {counted(n, 'episode')}: {why}" for why, n in self.left_out.items()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be written where: what the formats are called with."""

    run: Path
    study: Study
    rows: list[dict[str, Any]]
    out: Path
    cameras: tuple[str, ...]
    size: tuple[int, int]
    notify: Callable[[str], None]

    def entry(self, row: dict[str, Any]) -> TaskEntry:
        """What the study says of a row's task."""
        for entry in self.study.tasks:
            task = make_task(entry.use)
            if (task.name, entry.controller or task.controller) == (row["task"], row["controller"]):
                return entry
        raise UsageError(
            f"{self.run}/study.yaml has no task {row['task']!r} with controller {row['controller']!r}, and rows of "
            "the run have: restore that file"
        )

    def scenarios(self) -> dict[str, Any]:
        """Id -> scenario."""
        for code in targets(self.study.arms):
            adopt(code)
        return {scenario.id: scenario for scenario in read_scenarios(self.run)}


def export(
    run: str | Path,
    *,
    to: str = "lerobot",
    out: str | Path,
    policy: str | None = None,
    task: str | None = None,
    success: bool = False,
    cameras: Sequence[str] = (),
    size: str = "240x320",
    notify: Callable[[str], None] = lambda text: None,
) -> Exported:
    """Write the episodes of a run folder for other tools into the new folder `out`.

    `to`: `lerobot` (a LeRobotDataset v3.0), `csv` (tables for a spreadsheet) or `rerun` (a recording of each episode).
    LeRobot and Rerun need recorded steps (`record: {steps: all}`). `policy` and `task` choose; `success` takes only
    episodes that succeeded. `cameras` are drawn at every step, in `size` (height x width); of real trials the films of
    their cameras are taken. `notify` is called with a message about slow steps.
    """
    if to not in FORMATS:
        raise UsageError(f"to: {to!r:.100} is no format; {suggest(to, FORMATS)}")
    run, out = Path(run), Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"out: {out} is not empty; give the name of a new folder")
    shape = size_of(size)
    require_open(run, "exporting episodes")
    rows = chosen(read(run).to_pylist(), policy=policy, task=task, success=success)
    request = Request(
        run=run,
        study=load_study(run / "study.yaml"),
        rows=rows,
        out=out,
        cameras=tuple(dict.fromkeys(cameras)),
        size=shape,
        notify=notify,
    )
    if to == "csv":
        from foretell.export.tables import export_tables

        return export_tables(request)
    if to == "rerun":
        from foretell.export.rerun import export_rerun

        return export_rerun(request)
    from foretell.export.lerobot import export_lerobot

    return export_lerobot(request)


def size_of(text: str) -> tuple[int, int]:
    """`240x320` -> (240, 320)."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and 0 < int(part) <= 4096 for part in parts):
        raise UsageError(f"size: {text!r:.100} should be height x width in pixels, such as 240x320")
    return int(parts[0]), int(parts[1])


def chosen(rows: list[dict[str, Any]], *, policy: str | None, task: str | None, success: bool) -> list[dict[str, Any]]:
    """The rows asked for, in the order of their scenarios' seeds where all else is equal: as they are."""
    for column, wanted in (("policy", policy), ("task", task)):
        known = sorted({row[column] for row in rows})
        if wanted is not None and wanted not in known:
            raise UsageError(f"{column}: the run has no {wanted!r:.100}; {suggest(wanted, known)}")
        rows = [row for row in rows if wanted is None or row[column] == wanted]
    rows = [row for row in rows if row["success"] or not success]
    if not rows:
        raise UsageError("success: no episode succeeded" if success else "the run has no episode yet")
    return sorted(rows, key=lambda row: (row["task"], row["policy"], row["arm"], row["clock"], row["scenario"]))
