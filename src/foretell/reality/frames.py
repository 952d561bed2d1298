"""Positions that were measured on the first camera frame of a trial, by `foretell match scenario`.

A sheet names the frame of each trial in its column `frame`; the file of the same name that ends in .json says where the
objects lay.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from foretell.counting import counted
from foretell.errors import UsageError
from foretell.files import SMALL, inside, read_file
from foretell.reality.sheet import SheetLine, TrialSheet, plain_name
from foretell.scenario import Placement, Scenario, first_fault

__all__ = ["DOUBTFUL", "Frame", "Pose", "fill"]

DOUBTFUL = 0.85
"""Overlap of mask and silhouette below which the mask may be that of something else."""


class _FrameModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pose(_FrameModel):
    """Where one object lies, in the task frame: m and degrees, with standard deviations."""

    x: float
    y: float
    yaw: float | None
    """None: its silhouette does not tell."""
    sd_x: float = Field(ge=0)
    sd_y: float = Field(ge=0)
    sd_yaw: float | None = Field(ge=0)
    overlap: float
    """Intersection over union of its mask and its silhouette there."""
    other_yaws: tuple[float, ...] = ()
    """Turns at which the silhouette fits as well."""


class Frame(_FrameModel):
    """What one frame says; a line of a file. `scenarios: {file: ...}` of a study reads it too."""

    measured: Mapping[str, Pose]
    image: str
    """The name of the picture."""
    scenario: Scenario
    notes: tuple[str, ...] = ()
    """What a person should know before it is used."""
    insisted: bool = False
    """Whether somebody wanted it though mask and silhouette do not agree."""


def fill(sheet: TrialSheet, folder: Path | None, tolerance: float) -> Mapping[int, Mapping[str, Placement]]:
    """Fill the positions of a sheet's lines from their frames, where the line has none. Returns line -> the placements
    that its frame measured; what is wrong is noted in the sheet. `folder`: where the frames are; None: by the sheet.
    """
    if "frame" not in sheet.columns:
        if folder is not None:
            raise UsageError(f"frames: {sheet.path} has no column 'frame' that names the frame of each trial")
        return {}
    placed: dict[int, dict[str, Placement]] = {}
    unsure = doubtful = 0
    for at, line in enumerate(sheet.lines):
        if (frame := _read(sheet, line, sheet.path.parent if folder is None else folder)) is None:
            continue
        cells = dict(line.cells)
        for name, pose in frame.measured.items():
            column = plain_name(name)
            if {f"{column}.x", f"{column}.y"} & line.cells.keys():
                continue  # somebody measured it otherwise
            turn = {} if pose.yaw is None else {"yaw": pose.yaw}
            for axis, value in ({"x": pose.x, "y": pose.y} | turn).items():
                cells[f"{column}.{axis}"] = repr(value)
                sheet.columns.setdefault(f"{column}.{axis}", f"{name}.{axis}")
            placed.setdefault(line.number, {})[name] = frame.scenario.placements[name]
            unsure += max(pose.sd_x, pose.sd_y) > tolerance
            doubtful += pose.overlap < DOUBTFUL
        sheet.lines[at] = SheetLine(line.number, cells)
    sheet.notes.append(f"positions of {counted(len(placed), 'trial')} are those of their frames")
    if unsure:
        objects = counted(unsure, "position of a frame has", "positions of frames have")
        sheet.notes.append(f"{objects} a standard deviation above {1000 * tolerance:g} mm: see how sure they are")
    if doubtful:
        objects = counted(doubtful, "position of a frame comes from a mask", "positions of frames come from masks")
        sheet.notes.append(f"{objects} with an overlap below {DOUBTFUL:.0%}, on which somebody insisted")
    return placed


def _read(sheet: TrialSheet, line: SheetLine, folder: Path) -> Frame | None:
    """What a line's frame says; None where it names none, or where something is wrong, which is then noted."""
    text = line.cells.get("frame")
    if text is None:
        return None
    name = Path(text).with_suffix(".json") if Path(text).name else Path(text)
    path = inside(folder, name)  # a cell is data: it leads nowhere else
    wanted = f"a frame with its measured scenario {name} in {folder} (foretell match scenario writes it)"
    if path is None:
        sheet.fault(line, "frame", wanted, text)
        return None
    try:
        frame = Frame.model_validate_json(read_file(path, SMALL))
    except ValidationError as error:
        sheet.tell(line, "frame", f"{path} is no measured scenario: {first_fault(error)}")
        return None
    except OSError as error:
        sheet.tell(line, "frame", f"cannot read {path}: {error.strerror}")
        return None
    task = line.cells.get("task", "")
    if frame.scenario.task.lower() != task.lower():
        sheet.fault(line, "frame", f"a frame of task {task!r}", f"{text} ({frame.scenario.task})")
        return None
    if missing := frame.measured.keys() - frame.scenario.placements.keys():
        sheet.tell(line, "frame", f"{path} measures {min(missing)!r}, which its scenario does not place")
        return None
    doubtful = [name for name, pose in frame.measured.items() if pose.overlap < DOUBTFUL]
    if doubtful and not frame.insisted:
        overlap = frame.measured[doubtful[0]].overlap
        why = f"mask and silhouette of {doubtful[0]!r} have an overlap of {overlap:.0%}, below {DOUBTFUL:.0%}"
        sheet.tell(line, "frame", f"{path}: {why}: draw a better mask, or measure it again with --insist")
        return None
    return frame
