"""Rollouts of Toyota Research Institute's study of large behaviour models, read from its data on Dryad (CC0).

The data are no part of foretell: `read_lbm` takes the folder that they were downloaded to. Each file has the rollouts
of one figure: panel, task, method, outcomes one by one, and the published letters.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from foretell.errors import UsageError
from foretell.papers import Printed

__all__ = ["SOURCE", "Rollouts", "read_lbm"]

SOURCE = "https://doi.org/10.5061/dryad.xd2547dxc"
FILES = (
    *("Fig2", "Fig3", "Fig4_AB", "Fig4_C", "Fig5_A", "Fig5_B", "FigS13", "FigS14", "FigS15", "FigS16"),
    *("FigS32", "FigS33"),
)
"""Files of successes and failures. The others have task progress, which is graded."""
LARGEST = 10_000_000
"""Characters of a file; those of the study have less than a million."""


@dataclass(frozen=True, kw_only=True)
class Rollouts:
    """One method on one task."""

    panel: str
    """Figure and setting, such as Fig2A_HW_Seen_Nominal; with the share of data where several are compared."""
    task: str
    method: str
    outcomes: NDArray[np.float64]
    """Successes (1) and failures (0), shape (n,)."""
    rate: Printed
    """As published."""
    letter: str


def read_lbm(folder: str | Path | None) -> list[Rollouts]:
    """All rollouts of successes and failures."""
    if folder is None:
        raise UsageError(
            f"lbm needs the rollouts of the paper, which are not part of foretell: download them from {SOURCE} (CC0), "
            "and give their folder with --data"
        )
    path = Path(folder)
    missing = [name for name in FILES if not (path / f"{name}.csv").is_file()]
    if missing:
        raise UsageError(
            f"--data {path}: {missing[0]}.csv is not there; download the files of {SOURCE} into one folder"
        )
    return [row for name in FILES for row in _file(path / f"{name}.csv")]


def _file(path: Path) -> list[Rollouts]:
    if path.stat().st_size > LARGEST:
        raise UsageError(f"{path} has more than {LARGEST:,} characters: it is not a file of this study")
    csv.field_size_limit(LARGEST)
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        lines = list(enumerate(reader, 2))
    rows = []
    for number, line in lines:
        try:
            rows.append(_row(line))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}, line {number}: not a line of this study: {error}") from None
    return rows


def _row(line: dict[str, str]) -> Rollouts:
    total, solved = round(float(line["Num_Rollouts"])), round(float(line["Num_Successes"]))
    listed = line.get("Success/Failure")
    if listed is None:  # one figure has counts only
        outcomes = np.repeat([1.0, 0.0], [solved, total - solved])
    else:
        words = [word.strip() for word in listed.strip("[]' ").split(",")]  # three lines end in an apostrophe
        if set(words) - {"True", "False"}:
            raise ValueError(f"an outcome is neither True nor False: {sorted(set(words) - {'True', 'False'})[0]!r:.40}")
        outcomes = np.array([word == "True" for word in words], dtype=np.float64)
    if outcomes.size < 1:
        raise ValueError("no rollouts")
    share = f", {float(line['Fraction']):.0%} of the data" if line.get("Fraction") else ""
    return Rollouts(
        panel=line["Panel"] + share,
        task=line["Task"],
        method=line["Method"],
        outcomes=outcomes,
        rate=Printed(line["Success_Rate"]),
        letter=line["CLD_Letter"].strip(),
    )
