"""Published tables as data: one CSV per table, cells as printed, so that the number of digits is kept.

Facts only: numbers and names. A blank cell is blank in the paper or unreadable in our copy of it; the first line
of each file says which table it is. `text.csv` holds figures printed in running text, with their section.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

from foretell.errors import UsageError, suggest

__all__ = ["PAPERS", "Printed", "audit", "audit_printed", "audited", "table", "tables", "text", "title"]

PAPERS = {
    "simpler": "Li et al. 2024, SIMPLER, arXiv 2405.05941",
    "async": "Song et al., AsyncRoboSim",
    "srcc": "Kadian et al. 2020, Sim2Real Predictivity",
    "suresim": "Badithela et al. 2025, SureSim, arXiv 2510.04354",
    "audit": "Published pairs of simulated and real success, from 24 papers",
    "lbm": "TRI LBM Team 2025, A Careful Examination of Large Behavior Models, arXiv 2507.05331",
}
"""Name of each paper on the command line -> how it is cited."""


class Printed(float):
    """A number as printed: its value, the text, and half a unit of its last digit."""

    text: str
    half: float

    def __new__(cls, text: str) -> Printed:
        self = super().__new__(cls, text)
        self.text = text
        self.half = 0.5 * 10.0 ** -len(text.partition(".")[2])
        return self


def _folder(paper: str) -> Any:
    if paper not in PAPERS:
        raise UsageError(f"no paper {paper!r}; {suggest(paper, PAPERS)}")
    return files("foretell.papers").joinpath(paper)


def tables(paper: str) -> list[str]:
    """Names of a paper's tables, such as `4` or `10a`."""
    names: list[str] = [entry.name for entry in _folder(paper).iterdir()]
    return sorted(n.removeprefix("table_").removesuffix(".csv") for n in names if n.startswith("table_"))


def _lines(paper: str, file: str) -> list[str]:
    whole: str = _folder(paper).joinpath(file).read_text(encoding="utf-8")
    return whole.splitlines()


def title(paper: str, name: str) -> str:
    """What a table holds."""
    return _lines(paper, f"table_{name}.csv")[0].removeprefix("# ")


def _cell(text: str) -> Any:
    if not text:
        return None
    try:
        return Printed(text)
    except ValueError:
        return text


def table(paper: str, name: str) -> list[dict[str, Any]]:
    """Rows of a table, by column: `Printed` for numbers, str for names, None for blanks."""
    rows = csv.DictReader(_lines(paper, f"table_{name}.csv")[1:])
    return [{column: _cell(value) for column, value in row.items()} for row in rows]


def text(paper: str) -> dict[str, Printed]:
    """Figures printed in running text, by key."""
    rows = csv.DictReader(_lines(paper, "text.csv")[1:])
    return {row["figure"]: Printed(row["value"]) for row in rows}


def audited() -> list[str]:
    """Names of the papers whose pairs of simulated and real success are data by themselves."""
    names: list[str] = [entry.name for entry in _folder("audit").iterdir()]
    return sorted(n.removesuffix(".csv") for n in names if n.endswith(".csv") and n != "printed.csv")


def audit(name: str) -> tuple[str, list[dict[str, Any]]]:
    """What one of them is cited as, and its cells: panel, task, policy, run, real, sim, n_real, n_sim."""
    lines = _lines("audit", f"{name}.csv")
    names = ("panel", "task", "policy", "run")
    rows = [
        {column: value if column in names else _cell(value) for column, value in row.items()}
        for row in csv.DictReader(lines[1:])
    ]
    return lines[0].removeprefix("# "), rows


def audit_printed() -> dict[tuple[str, str, str], Printed]:
    """(paper, panel, metric) -> the coefficient that the paper prints."""
    rows = csv.DictReader(_lines("audit", "printed.csv")[1:])
    return {(row["paper"], row["panel"], row["metric"]): Printed(row["value"]) for row in rows}
