"""What a report says, as one JSON-able object: the page, its live twin and `foretell figure` all show this."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from foretell.answers.inputs import PROTOCOL
from foretell.episodes.parts import release
from foretell.errors import ForetellError, raised
from foretell.report.episodes import columns, embedded
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Section

__all__ = ["ORDER", "contents", "sections"]

ORDER = (
    "verdict",
    "pictures",
    "success",
    "stages",
    "ways",
    "failures",
    "events",
    "reality",
    "bounds",
    "clocks",
    "perturbations",
    "comparison",
    "episodes",
    "provenance",
)
"""The sections, as the page has them; each is `section(runs)` of the module of its name."""


def contents(
    runs: Sequence[Path | str] | Runs,
    *,
    place: Path | None = None,
    embed: int = 0,
    first: Sequence[Section] = (),
    link: Callable[[OneRun, str], str] | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Title, runs, sections, episodes by column, and notes on what is missing and why.

    `place`: the folder the page goes to, from which videos are linked; `link(run, path within it)` gives other
    addresses. `embed`: bytes of videos, at most, to be carried along. `first`: sections of the caller's own, which come
    before all others. `notify` is called with a message for each step.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        runs = runs if isinstance(runs, Runs) else Runs.open(runs)
        release()  # what reading took
        notes += _unlike(runs)
        made = sections(runs, notes, notify)
    notes += dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning))
    notify("episodes")
    table = columns(runs, link or (lambda run, path: _relative(run, path, place)), notes)
    answer = {
        "title": _title([run.name for run in runs.each]),
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "foretell": _version(),
        "runs": [_about(run) for run in runs.each],
        "sections": [section.to_dict() for section in [*first, *made]],
        "episodes": table,
        "videos": embedded(runs, table, embed) if embed else {},
        "notes": notes,
    }
    plain: dict[str, Any] = _plain(answer)
    return plain


def sections(
    runs: Runs, notes: list[str] | None = None, notify: Callable[[str], None] = lambda text: None
) -> list[Section]:
    """The sections for which there is data, in order. A section that cannot be made becomes a note."""
    made = []
    for name in ORDER:
        notify(name)
        try:
            section = import_module(f"foretell.report.{name}").section(runs)
        except Exception as error:  # whatever it is, the other sections are worth reading
            if notes is not None:
                why = str(error) if isinstance(error, ForetellError) else raised(error)
                notes.append(f"The section “{name}” is missing: {why}")
            continue
        if section is not None:
            made.append(section)
        release()  # the lists that a section made
    return made


def _about(run: OneRun) -> dict[str, Any]:
    table = run.table
    judged = table["success"].drop_null()
    return {
        "name": run.name,
        "path": str(run.path),
        "study": run.study.get("name") or next(iter(run.values("study")), run.name),
        "world": ", ".join(sorted(run.worlds)),
        "real": run.real,
        "tasks": Runs([run]).tasks,
        "policies": Runs([run]).policies,
        "episodes": len(table),
        "judged": len(judged),
        "successes": judged.to_numpy().sum(),
        "errors": {row["blame"]: row["count"] for row in run.counts("blame") if row["blame"]},
    }


def _title(names: list[str], most: int = 3) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


def _unlike(runs: Runs) -> list[str]:
    """What keeps rates of one task in different runs from being compared."""
    notes = [f"{run.name} has no episodes yet." for run in runs.each if not len(run.table)]
    for (task, column), values in runs.protocols.items():
        if len(values) > 1:
            listed = "; ".join(
                f"{value} in {', '.join([*sorted(names), *_called(runs, task, column, value)])}"
                for value, names in values.items()
            )
            apart = f"does not have the same {PROTOCOL[column]} in all runs ({listed})"
            notes.append(f"Task {task} {apart}: rates are not comparable.")
    return notes


def _called(runs: Runs, task: str, column: str, value: str) -> list[str]:
    """The names of a task's versions, of those that have this value of a column of `PROTOCOL`."""
    place = {"task_version": 1, "task_hash": 2, "controller": 3}.get(column)
    names = [name for key, name in runs.task_of.items() if place and key[0] == task and key[place] == value]
    return sorted({f"called {name}" for name in names if name != task})


def _relative(run: OneRun, path: str, place: Path | None) -> str:
    """The address of a run's file as seen from the page: relative, so that both can be moved together."""
    from os.path import relpath
    from urllib.parse import quote

    return quote(Path(relpath((run.path / path).resolve(), (place or run.path).resolve())).as_posix())


def _version() -> str:
    from foretell import __version__

    return __version__


_AS_THEY_ARE = {str, int, bool, type(None)}


def _plain(value: Any) -> Any:
    """The value in JSON's types: no NaN or infinity, no types of numpy, no tuples."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        kinds = set(map(type, value))  # most lists are long, and of one kind
        if kinds <= _AS_THEY_ARE or (kinds == {float} and all(map(math.isfinite, value))):
            return list(value)
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):  # numpy's
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
