"""Certificates of a test set: that the scripted expert solves a cell, and a seal by which an edited one is noticed.

The id of a test set names its scenarios alone, so that any run of them has it. What was certified, and how the set was
drawn, stands in the first line of the file, whose digest stands beside it: {"testset": {...}, "seal": "3f..."}.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.digest import digest
from foretell.document import load_json
from foretell.episodes.journal import replace
from foretell.errors import UsageError
from foretell.scenario import Scenario
from foretell.stats import clopper_pearson, wilson
from foretell.study.scenario_file import Certificate, Header, Method, ScenarioFile, read_scenario_file

__all__ = ["certificate", "read_testset", "write_testset"]

CLOSE = 1e-9
"""How far a stored figure may be from the one made here: another machine's arithmetic."""


def certificate(
    task: str, arm: str, successes: int, n: int, required: float, method: Method = "clopper_pearson"
) -> Certificate:
    """What the expert's successes in n episodes of a cell are worth."""
    rate = (wilson if method == "wilson" else clopper_pearson)(successes, n)
    ends = {"rate": rate.estimate, "low": rate.low, "high": rate.high, "method": method}
    fields = {"task": task, "arm": arm, "n": n, "successes": successes, "certified": rate.estimate >= required}
    return Certificate.model_validate({**fields, **ends})


def write_testset(path: Path, header: Header, lines: Iterable[tuple[str, Scenario]]) -> None:
    """Write a test set: its header, sealed, and a line for each arm and scenario."""
    about = header.model_dump(mode="json")
    first = json.dumps({"testset": about, "seal": digest(about)}, ensure_ascii=False)
    rest = (json.dumps({"arm": arm, "scenario": s.model_dump(mode="json")}) for arm, s in lines)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, ("\n".join([first, *rest]) + "\n").encode())
    except OSError as error:
        raise UsageError(f"out: cannot write {path}: {error.strerror}") from None


def read_testset(path: Path) -> tuple[ScenarioFile, Header]:
    """A test set and its header. Raises UsageError for a plain file of scenarios, and for one that was edited."""
    file = read_scenario_file(path)
    if file.header is None:
        raise UsageError(f"{path} is a plain file of scenarios: `foretell testset build` makes test sets")
    first = load_json(next(line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()))
    # a file from before there were seals has none; then it has to be consistent, no more
    if "seal" in first and first["seal"] != _seal(first["testset"]):
        raise UsageError(
            f"{path} was edited after it was built: its first line does not match its seal. Build it again"
        )
    if wrong := _wrong(file, file.header):
        raise UsageError(f"{path} was not built like this: {wrong}. Build it again")
    return file, file.header


def _seal(about: Any) -> str:
    try:
        return digest(about)
    except ValueError:  # infinity, which no test set has
        return ""


def _wrong(file: ScenarioFile, header: Header) -> str | None:
    """What in protocol and certificates contradicts the scenarios, or each other."""
    required, certificates = header.protocol.required, header.certificates
    cells = Counter((scenario.task, arm) for arm, scenario in file.lines)
    for (task, arm), n in cells.items():
        if n != header.protocol.episodes:
            return f"{task} under {arm} has {counted(n, 'episode')}, and the protocol {header.protocol.episodes}"
    if (required is None) == bool(certificates):
        return f"it has {len(certificates)} certificates, and the rate required is {required}"
    if required is None:
        return None
    counts = Counter((stated.task, stated.arm) for stated in certificates)
    for task, arm in sorted((counts - Counter(set(cells))) + (Counter(set(cells)) - counts)):
        return f"{task} under {arm} has {counts[task, arm]} certificates, it should have {min(cells[task, arm], 1)}"
    for stated in certificates:
        n, name = cells[stated.task, stated.arm], f"the certificate of {stated.task} under {stated.arm}"
        if stated.n != n or not 0 <= stated.successes <= n:
            return (
                f"{name} has {stated.successes} successes in {counted(stated.n, 'episode')}, and the file "
                f"{counted(n, 'episode')}"
            )
        expected = certificate(stated.task, stated.arm, stated.successes, n, required, stated.method)
        gaps = [abs(getattr(stated, key) - getattr(expected, key)) for key in ("rate", "low", "high", "certified")]
        if not all(gap <= CLOSE for gap in gaps):  # nor where one is not a number
            return f"{name} does not follow from {stated.successes} of {n} at a required rate of {required:g}"
    return None
