"""Episodes as tables for a spreadsheet: `episodes.csv` with a line for each, and their steps in `steps/`."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from foretell.export.export import Exported, Request
from foretell.export.track import NO_STEPS, tracks
from foretell.reality.sheet import no_formula

__all__ = ["TRIALS", "export_tables", "write_csv", "write_trials"]

TRIALS = "trials.csv"
"""File of a LeRobot dataset of ours, with a line for each of its episodes. `foretell import` reads it."""
NAMED = ("task", "policy", "policy_hash", "scenario", "trial", "success", "score", "failure_reason")
ALSO = ("real", "episode")


def export_tables(request: Request) -> Exported:
    """Write the tables."""
    part = request.out.with_name(f"{request.out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "steps").mkdir(parents=True)
    write_csv(part / "episodes.csv", list(request.rows[0]), (row.values() for row in request.rows))
    left_out: dict[str, int] = {}
    steps = 0
    for track in tracks(request.run, request.rows, {}, left_out):
        actions = [f"action_{i}" for i in range(track.actions.shape[1])]
        states = [] if track.states is None else [f"state_{i}" for i in range(track.states.shape[1])]
        # a row is a state and the action that follows it; the last state has none
        lines = (
            [
                track.times[i],
                *(values[i] for values in track.named.values()),
                *(track.actions[i] if i < len(track.actions) else [None] * len(actions)),
                *(track.states[i] if track.states is not None else ()),
            ]
            for i in range(len(track.times))
        )
        write_csv(part / "steps" / f"{track.name}.csv", ["time", *track.named, *actions, *states], lines)
        steps += len(track.actions)
    if request.out.exists():
        request.out.rmdir()
    part.rename(request.out)
    without = left_out.pop(NO_STEPS, 0)
    notes = (f"{without} of {len(request.rows)} episodes have no recorded steps (record: {{steps: all}} keeps them)",)
    return Exported(
        path=request.out,
        to="csv",
        episodes=len(request.rows),
        steps=steps,
        notes=(*(notes if without else ()), *(f"{n} episodes without steps: {why}" for why, n in left_out.items())),
    )


def write_trials(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A line for each episode of a dataset, in its order, as `foretell import` reads it."""
    lines = [[number, *(row[name] for name in NAMED + ALSO)] for number, row in enumerate(rows)]
    write_csv(path, ["episode_index", *NAMED, *ALSO], lines)


def write_csv(path: Path, names: list[str], lines: Iterable[Iterable[Any]]) -> None:
    """A file that a spreadsheet opens and carries out nothing of."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(map(no_formula, names))
        writer.writerows([_cell(value) for value in line] for line in lines)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return no_formula(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (list, dict)):
        return json.dumps(dict(value) if isinstance(value, list) else value, sort_keys=True)
    return float(value) if hasattr(value, "dtype") else value
