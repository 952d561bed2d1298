"""Verdicts that came after the row: corrections of the person who judged, and second judges.

`RUN/verdicts/NAME.jsonl` has a JSON line for each, on disk before the judge goes on: `kind` (person, detector or
correction), `judge`, `episode`, `success`, `score`, `note`, `wall_time`, and what else the judge said. Rows stay as
they were written. Who reads a run gets the newest correction of each row.
"""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from foretell.episodes.columns import cells
from foretell.files import read_file
from foretell.tasks.events import ended_early
from foretell.verdict_lines import VERDICTS

__all__ = ["NEEDED", "corrected", "has_corrections", "judges", "newest", "verdict_lines"]

MOST = 64 << 20
"""Bytes of a judge's file."""
KINDS = ("person", "detector", "correction")
NEEDED = ("episode", "scenario", "trial", "wall_started", "wall_s", "judge", "end")
"""Columns by which a correction finds its row, and that it may change with it."""
CHANGED = ("success", "success_any", "success_end", "score", "stages", "events", "failure_reason", "end")
SLACK = 1.0
"""Seconds by which a clock may have been set back between a row and its verdict."""


def judges(run: str | Path) -> list[str]:
    """Names of those who have a file of verdicts."""
    try:
        names = [name for name in os.listdir(Path(run) / VERDICTS) if name.endswith(".jsonl")]
    except OSError:
        return []
    return sorted(name.removesuffix(".jsonl") for name in names if re.fullmatch(r"[\w.-]+\.jsonl", name))


def verdict_lines(run: str | Path, judge: str) -> list[dict[str, Any]]:
    """The lines of one judge, oldest first. A line that is none is left out with a warning; a torn end without."""
    path = Path(run) / VERDICTS / f"{judge}.jsonl"
    try:
        data = read_file(path, MOST)
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.warn(f"{path} cannot be read ({error.strerror}): its verdicts are ignored", stacklevel=2)
        return []
    lines = []
    for number, text in enumerate(data.split(b"\n")[:-1], start=1):
        line = _line(text)
        if line is not None:
            lines.append(line)
        elif text.strip():
            warnings.warn(f"{path}: line {number} is no verdict: it is ignored", stacklevel=2)
    return lines


def _line(text: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or line.get("kind") not in KINDS:
        return None
    success, score = line.get("success"), line.get("score")
    numbers = [line.get(name, 0.0) for name in ("wall_time", "judged", "seconds")] + [0.0 if score is None else score]
    sound = all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in numbers)
    texts = [line.get(name) for name in ("note", "reason", "episode", "scenario")]
    sound &= all(text is None or isinstance(text, str) for text in texts)
    sound &= (success is None or isinstance(success, bool)) and isinstance(line.get("trial", 0), int)
    for name in ("stages", "events"):
        named = line.get(name, [])
        sound &= isinstance(named, list) and all(isinstance(item, str) for item in named)
    return line if sound else None


def newest(lines: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Episode -> the last line of a judge on it."""
    return {str(line["episode"]): line for line in lines if line.get("episode")}


def has_corrections(run: str | Path) -> bool:
    return (Path(run) / VERDICTS / "person.jsonl").is_file()


def corrected(run: str | Path, table: pa.Table) -> pa.Table:
    """The rows with the newest correction of each. The table has the columns `NEEDED`."""
    lines = [line for line in verdict_lines(run, "person") if line["kind"] == "correction"]
    if not lines or not len(table):
        return table
    places: dict[int, Mapping[str, Any]] = {}
    about = {name: cells(table[name]) for name in NEEDED}
    for line in lines:
        row = _row_of(line, about)
        if row is None:
            who = f"scenario {line.get('scenario')!r:.40}, trial {line.get('trial')}"
            warnings.warn(f"{run}: a correction ({who}) fits no row: it is ignored", stacklevel=2)
        else:
            places[row] = line
    for name in CHANGED:
        if name in table.column_names:
            table = _changed(table, name, places, about)
    return table


def _row_of(line: Mapping[str, Any], about: Mapping[str, list[Any]]) -> int | None:
    """The row of this key; or that which was judged last before the verdict that is corrected, since a world may not
    know its episode's key."""
    if (key := line.get("episode")) is not None:
        return about["episode"].index(key) if key in about["episode"] else None
    best: tuple[float, int] | None = None
    columns = (about[name] for name in ("scenario", "trial", "judge", "wall_started", "wall_s"))
    for row, (scenario, trial, judge, began, took) in enumerate(zip(*columns, strict=True)):
        if (scenario, trial, judge) != (line.get("scenario"), line.get("trial"), "person"):
            continue
        ended = (began or 0.0) + (took or 0.0)
        if ended <= line.get("judged", math.inf) + SLACK and (best is None or ended > best[0]):
            best = (ended, row)
    return None if best is None else best[1]


def _changed(
    table: pa.Table, name: str, places: Mapping[int, Mapping[str, Any]], about: Mapping[str, list[Any]]
) -> pa.Table:
    at = table.schema.get_field_index(name)
    field, values = table.schema.field(at), cells(table[name])
    for row, line in places.items():
        values[row] = _value(name, line, about["end"][row])
    plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    column = pa.array(values, plain)
    return table.set_column(at, field, column.dictionary_encode() if plain != field.type else column)


def _value(name: str, line: Mapping[str, Any], end: str) -> Any:
    """What a column holds after a correction, as a driver would have written it."""
    success = line["success"]
    end = "stopped" if end == "success" and not success else end
    if name.startswith("success"):
        return success
    if name == "score":
        return line.get("score")
    if name == "stages":
        return [(stage, float(line.get("seconds", 0.0))) for stage in line.get("stages", [])]
    if name == "events":
        early = ["ended_early"] if ended_early(end, success) else []
        return [(event, 1.0) for event in (*line.get("events", []), *early)]
    if name == "failure_reason":
        return None if success else line.get("reason") or "undone"
    return end
