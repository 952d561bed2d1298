"""The run folder of imported trials.

Rows are named by what was tried (world, task, policy, scenario, trial), so importing a sheet again adds only its
new lines. Nothing is written unless the whole sheet is sound.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from foretell.counting import counted
from foretell.datasets import is_lerobot
from foretell.episode import Episode
from foretell.episodes.journal import plain
from foretell.episodes.provenance import design_of, provenance, read_provenance
from foretell.episodes.read import read
from foretell.errors import UsageError
from foretell.reality.dataset import sheet_of_dataset
from foretell.reality.frames import fill
from foretell.reality.rows import read_rows
from foretell.reality.sheet import TrialSheet, plain_name, read_sheet
from foretell.reality.situation import POSE, Situations
from foretell.reality.spots import TOLERANCE, TURN, Spots
from foretell.registry import names
from foretell.study.name import clean_name
from foretell.study.store import Store

__all__ = ["Imported", "import_"]

NOT_COMPARED = {"study", "video"}
"""Columns that may change when a sheet is imported again: neither says how a trial went."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What a call of `import_` did."""

    path: Path
    added: int
    skipped: int
    """Already there from earlier calls."""
    scenarios: int
    """Situations of these trials that can be simulated."""
    notes: tuple[str, ...] = ()
    """Plain sentences on what was not kept, or how something was understood."""


def import_(
    trials: str | Path,
    *,
    out: str | Path | None = None,
    name: str | None = None,
    world: str = "real",
    like: str | Path | None = None,
    frames: str | Path | None = None,
    tolerance: float = TOLERANCE,
    outcomes: str | Path | None = None,
    policy: str | None = None,
    task: str | None = None,
) -> Imported:
    """Import a spreadsheet of real trials into a run folder (default `runs/<name>`, named after the file).

    `trials` may also be a LeRobot dataset, whose episodes are the trials. `outcomes` is then a CSV file with a line for
    each `episode_index` (default: `trials.csv` in the dataset, or the dataset's own `next.success`). `policy` and
    `task` name what no column names.

    `like`: the run folder with the scenarios that the column `scenario` names. `frames`: the folder of the camera
    frames that the column `frame` names, with what `foretell match scenario` measured on them. `tolerance`: two
    positions within so many metres count as one spot. Raises UsageError with a list of all bad cells.
    """
    if not 0 <= tolerance < 1:
        raise UsageError(f"tolerance: {tolerance} should be metres, 0 or more and less than 1, such as {TOLERANCE}")
    simulated = [known for known in names("worlds") if known != "robot"]
    if not world.strip() or world in simulated:
        raise UsageError(f"world: {world!r} should name a real world; simulated ones: {', '.join(simulated)}")
    if is_lerobot(Path(trials)):
        given = {"policy": policy, "task": task}
        sheet = sheet_of_dataset(Path(trials), None if outcomes is None else Path(outcomes), given)
    elif outcomes is not None or policy is not None or task is not None:
        raise UsageError("outcomes, policy, task: they are for a LeRobot dataset; a sheet has columns for them")
    else:
        sheet = read_sheet(trials)
    title = _title(Path(trials).stem if name is None else name, given=name is not None)
    folder = Path(out) if out is not None else Path("runs") / title
    spots = Spots(folder, tolerance)
    measured = fill(sheet, None if frames is None else Path(frames), tolerance)
    situations = Situations(sheet, Path(like) if like is not None else None, spots, measured)
    rows = read_rows(sheet, situations, title, world, folder)
    sheet.refuse()
    there = _present(folder)
    _agree(sheet, folder, rows, there)
    sheet.refuse()
    new = [row for row in rows.values() if row.episode not in there]
    if spots.merged:
        sheet.notes.append(
            f"{spots.merged} of {counted(len(rows), 'trial')} were measured beside their spot: a label, "
            f"or positions within "
            f"{1000 * tolerance:g} mm and {TURN:g}° (--tolerance), make one spot"
        )
    if new:
        _write(folder, title, world, situations, new, there.values(), sheet.path)
    return Imported(
        path=folder,
        added=len(new),
        skipped=len(rows) - len(new),
        scenarios=len(situations.built),
        notes=tuple(sheet.notes),
    )


def _title(text: str, given: bool) -> str:
    """A name that a study may have."""
    clean = clean_name(re.sub(r"[^\w._ -]+", "-", text)).strip("-._ ") or "trials"
    if given and clean != unicodedata.normalize("NFC", text):
        raise UsageError(f"name: {text!r:.200} should be letters, digits, dots, dashes and spaces; {clean!r} would do")
    return clean


def _present(folder: Path) -> dict[str, dict[str, Any]]:
    """Key -> row, of the trials imported before."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return {}
    rows = read(folder).to_pylist()
    if "imported" not in read_provenance(folder) and (rows or (folder / "study.yaml").exists()):
        raise UsageError(f"{folder} holds a study that was run, not imported trials: give another folder (--out)")
    return {row["episode"]: row for row in rows}


def _agree(sheet: TrialSheet, folder: Path, rows: dict[int, Episode], there: dict[str, dict[str, Any]]) -> None:
    """A row never changes once it is there; a sheet that says otherwise is another sheet, or was corrected."""
    advice = f"rows in {folder} never change: import a corrected or another sheet into another folder (--out)"
    for number, row in rows.items():
        before = there.get(row.episode)
        if before is None:
            continue
        for column, value in plain(row.to_dict()).items():
            old = dict(before[column] or ()) if isinstance(value, dict) else before[column]
            if column == "metrics":  # rows of older imports lack the measured positions
                value = {name: v for name, v in value.items() if name in old or not POSE.fullmatch(plain_name(name))}
            if column not in NOT_COMPARED and old != value:
                fault = f"{column} is {value!r}, it was {old!r} when this trial was imported; {advice}"
                sheet.faults.append((number, f"{sheet.path}, line {number}: {fault}"))
                break
    lost = there.keys() - {row.episode for row in rows.values()}
    if lost:
        gone = there[min(lost)]
        such = ", ".join(f"{column} {gone[column]!r}" for column in ("policy", "task", "scenario", "trial"))
        trials = counted(len(lost), "trial that is", "trials that are")
        fault = f"{sheet.path} lacks {trials} in {folder}, such as {such}; {advice}"
        sheet.faults.append((0, fault))


def _write(
    folder: Path,
    title: str,
    world: str,
    situations: Situations,
    new: list[Episode],
    before: Iterable[dict[str, Any]],
    source: Path,
) -> None:
    known = [(row["task"], row["policy"]) for row in before] + [(row.task, row.policy) for row in new]
    study = {
        "name": title,
        "world": world,
        "tasks": [{"use": task} for task in dict.fromkeys(task for task, _ in known)],
        "policies": {policy: {"use": "imported"} for _, policy in known},
    }
    designs = {situations.design, *([design_of(folder)] if (folder / "provenance.json").exists() else [])}
    design = situations.design if len(designs) == 1 else "chosen"
    sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    head = "# Real trials, imported by `foretell import`: to be read and paired with, not to be run.\n"
    with Store(folder) as store:
        # provenance first: it is what tells this folder from one of a study that was run
        origin = {"file": str(source.resolve()), "sha256": sha256, "spots": situations.spots.about()}
        store.write_provenance({"study": title, "design": design, "imported": origin, **provenance()})
        store.write_study(head + yaml.safe_dump(study, sort_keys=False, allow_unicode=True))
        store.write_scenarios(situations.built.values())
        store.append(new)
