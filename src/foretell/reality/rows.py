"""From the lines of a sheet to episodes judged by a person."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.digest import digest
from foretell.episode import Episode, key
from foretell.reality.sheet import SheetLine, TrialSheet
from foretell.reality.situation import POSE, Situations
from foretell.scenario import Scenario

__all__ = ["read_rows"]

YES, NO = ("1", "true", "yes", "y", "pass"), ("0", "false", "no", "n", "fail")
CLOCKS = ("sync", "realtime")
"""On a robot the world either waits for the policy or does not."""
KNOWN = frozenset(
    ("policy", "task", "success", "score", "scenario", "trial", "failure_reason", "notes", "video", "duration")
    + ("instruction", "date", "clock", "policy_hash", "robot", "controller", "design", "frame", "object")
)
FILLED = ("success", "score", "failure_reason", "notes", "duration", "video")
"""Columns of which a trial that was run fills in at least one."""
KEYED = ("policy", "policy_hash", "task", "controller", "scenario", "clock")


def read_rows(sheet: TrialSheet, situations: Situations, study: str, world: str, folder: Path) -> dict[int, Episode]:
    """Line number -> its episode, for every sound line; what is wrong with the others is noted in the sheet."""
    return _Rows(sheet, situations=situations, study=study, world=world, folder=folder).read()


class _Rows:
    def __init__(self, sheet: TrialSheet, *, situations: Situations, study: str, world: str, folder: Path):
        self.sheet, self.situations, self.folder = sheet, situations, folder
        self.common: dict[str, Any] = {"study": study, "world": world, "world_params": "{}", "real": True}
        self.common["stands_in"] = False
        self.common["world_hash"] = digest(["real", world])
        self.remarks: dict[str, list[int]] = defaultdict(list)
        """Sentence -> the lines it is true of."""

    def read(self) -> dict[int, Episode]:
        if not self._headed():
            return {}
        self.metrics = self._numeric()
        done = self._filled()
        lines = [line for line in done if self._named(line)]
        facts = {line.number: self._facts(line) for line in lines}
        trials = self._trials(lines, facts)
        self._skipped(done)
        for sentence, where in self.remarks.items():
            self.sheet.notes.append(f"{sentence} ({counted(len(where), 'line')}, first {where[0]})")
        return {n: _episode(facts[n], trial) for n, trial in sorted(trials.items())}

    def _headed(self) -> bool:
        """Whether there is enough to read lines by."""
        before = len(self.sheet.faults)
        for column in ("policy", "task"):
            if column not in self.sheet.columns:
                self.sheet.fault(self.sheet.head, column, "a column of this name", None)
        if not self.sheet.columns.keys() & {"success", "score"}:
            self.sheet.fault(self.sheet.head, "success", "a column of this name, or 'score'", None)
        if not self.sheet.lines:
            self.sheet.fault(self.sheet.head + 1, "policy", "a trial", None)
        return len(self.sheet.faults) == before

    def _filled(self) -> list[SheetLine]:
        """Lines of trials that were run. A sheet is filled in bit by bit, so the others are for later."""
        done = [line for line in self.sheet.lines if any(column in line.cells for column in FILLED)]
        blank = len(self.sheet.lines) - len(done)
        if blank and not done:
            self.sheet.fault(self.sheet.lines[0], "success", "an outcome: no line is filled in yet", None)
        elif blank:
            lines = counted(blank, "line is", "lines are")
            self.sheet.notes.append(f"{lines} not filled in (no outcome), and not imported")
        return done

    def _skipped(self, done: list[SheetLine]) -> None:
        """Say where trials were left out on the way, for guarantees rest on that nobody chose which to run."""
        last = max((line.number for line in done), default=0)
        numbers = {line.number for line in done}
        gaps = [line.number for line in self.sheet.lines if line.number < last and line.number not in numbers]
        if gaps and self.situations.design == "iid":
            listed = ", ".join(map(str, gaps[:8])) + (", ..." if len(gaps) > 8 else "")
            lie = f"line {listed} lies" if len(gaps) == 1 else f"lines {listed} lie"
            self.sheet.notes.append(
                f"{lie} before filled ones without an outcome: guarantees hold only if scenarios are tried in their "
                "order and none is left out"
            )

    def _named(self, line: SheetLine) -> bool:
        missing = [column for column in ("policy", "task") if column not in line.cells]
        for column in missing:
            self.sheet.fault(line, column, "a name", None)
        return not missing

    def _facts(self, line: SheetLine) -> dict[str, Any]:
        """Everything of an episode but its trial and key."""
        cells, sheet = line.cells, self.sheet
        task = self.situations.task(line)
        scenario, built = self.situations.of(line)
        thing = self._object(line, built)
        clock = cells.get("clock", "sync").lower()
        if clock not in CLOCKS:
            sheet.fault(line, "clock", " or ".join(CLOCKS), cells["clock"])
        success, score = self._judged(line)
        duration = sheet.number(line, "duration", "seconds, 0 or more", 0.0) or 0.0
        reason = cells.get("failure_reason") or cells.get("notes")
        if success and reason:
            self.remarks["notes on successes are not kept: the table has failure reasons only"].append(line.number)
        if built is None:
            if "instruction" in cells:
                self.remarks["instructions are kept only with a scenario or placements"].append(line.number)
            if self.situations.simulated(line) and thing is None:
                self.remarks["the situation is not known, so these trials cannot be paired with simulation"].append(
                    line.number
                )
        return {
            **self.common,
            "robot": cells.get("robot", ""),
            "controller": cells.get("controller", ""),
            "task": self.situations.name(line),
            "task_version": task.version if task is not None else 0,
            "policy": cells["policy"],
            "policy_hash": cells.get("policy_hash", ""),
            "scenario": scenario or thing or "",
            "parent": built.parent if built else thing,
            "base": built.base if built else scenario or thing or "",
            "factors": json.dumps(dict(built.factors) if built else {}, sort_keys=True),
            "arm": "none",
            "clock": json.dumps({"kind": clock}),
            "success": success,
            "success_rule": "person",
            "score": score,
            "metrics": {sheet.columns[c]: v for c in self.metrics if (v := self._metric(line, c)) is not None},
            "sim_s": duration,
            "end": "success" if success else "stopped",
            "failure_reason": None if success else reason,
            "judge": "person",
            "video": self._video(line),
            "wall_started": self._date(line),
            "wall_s": duration,
        }

    def _object(self, line: SheetLine, built: Scenario | None) -> str | None:
        """The object that the line was tried with, which is the unit that pairs it with simulation. A planned scenario
        must be one of it; without a plan, the name is all that is known."""
        name = line.cells.get("object")
        if name is None or built is None:
            return name
        if built.of_object is None and self.situations.like is None:
            self.sheet.fault(line, "object", "no positions beside it, or the run with its scenarios (--like)", name)
        elif built.of_object != name:
            known = "none" if built.of_object is None else repr(built.of_object)
            self.sheet.fault(line, "object", f"the object of the scenario ({known})", name)
        return name

    def _judged(self, line: SheetLine) -> tuple[bool, float | None]:
        """Success and score. Where only a score is given, full marks are a success; no other reading leaves the
        trial in n without making up a threshold."""
        text = line.cells.get("success")
        score = self.sheet.number(line, "score", "a number from 0 to 1", 0.0, 1.0)
        if text is not None:
            word = text.lower()
            word = {1.0: "1", 0.0: "0"}.get(self.sheet.to_float(word), word)  # type: ignore[arg-type]
            if word not in YES + NO:
                self.sheet.fault(line, "success", "1/0, true/false, yes/no, y/n or pass/fail", text)
            return word in YES, score
        if "score" not in line.cells:
            wanted = "an outcome (leave the line out if the trial does not count)"
            self.sheet.fault(line, "success" if "success" in self.sheet.columns else "score", wanted, None)
        else:
            self.remarks["success is taken from score: 1 is a success, anything below is not"].append(line.number)
        return score == 1.0, score

    def _trials(self, lines: list[SheetLine], facts: dict[int, dict[str, Any]]) -> dict[int, int]:
        """Line number -> trial: the one given, else the lowest that is free, in order."""
        taken: dict[tuple[str, ...], dict[int, int]] = defaultdict(dict)
        trials: dict[int, int] = {}
        for line in sorted(lines, key=lambda line: "trial" not in line.cells):
            mine = taken[tuple(facts[line.number][part] for part in KEYED)]
            text = line.cells.get("trial")
            if text is None:
                trial = next(n for n in range(len(mine) + 1) if n not in mine)
            else:
                number = self.sheet.number(line, "trial", "a whole number, 0 or more", 0, 2**53)
                if number is None or number != (trial := int(number)):
                    if number is not None:
                        self.sheet.fault(line, "trial", "a whole number, 0 or more", text)
                    continue
            if trial in mine:
                twin = f"another trial than line {mine[trial]}, which has the same policy, task and scenario"
                self.sheet.fault(line, "trial", twin, text)
                continue
            mine[trial], trials[line.number] = line.number, trial
        return trials

    def _numeric(self) -> list[str]:
        """Columns without a meaning here that hold numbers only: they are kept as metrics."""
        kept = []
        for column in self.sheet.columns:
            if column in KNOWN or POSE.fullmatch(column):
                continue
            cells = [(line.number, line.cells[column]) for line in self.sheet.lines if column in line.cells]
            odd = next(((n, c) for n, c in cells if self.sheet.to_float(c) is None), None)
            if odd is None:
                kept.append(column)
            else:
                name = self.sheet.columns[column]
                self.sheet.notes.append(f"column {name!r} is not kept: line {odd[0]} has {odd[1][:40]!r}, no number")
        if kept:
            self.sheet.notes.append(f"kept as metrics: {', '.join(repr(self.sheet.columns[c]) for c in kept)}")
        return [*kept, *filter(POSE.fullmatch, self.sheet.columns)]

    def _metric(self, line: SheetLine, column: str) -> float | None:
        """A number to keep. Positions are kept as they were measured: trials of one spot share its scenario."""
        if POSE.fullmatch(column) and line.number in self.situations.printed:
            return None
        text = line.cells.get(column)
        if text is not None and POSE.fullmatch(column) and self.situations.simulated(line):
            return self.sheet.to_float(text)  # what is wrong with it was told when it was placed
        return self.sheet.number(line, column, "a number")

    def _video(self, line: SheetLine) -> str | None:
        """Where the file is, seen from the run folder; a sheet names it as seen from the sheet."""
        text = line.cells.get("video")
        if text is None or "://" in text or "\0" in text:
            return text
        path = self.sheet.path.parent / text
        if not os.path.exists(path):
            self.remarks["the video is not there"].append(line.number)
        return os.path.relpath(path, self.folder)

    def _date(self, line: SheetLine) -> float:
        """Unix time; a date without a zone is taken as UTC, so that every machine gives the same."""
        text = line.cells.get("date")
        if text is None:
            return 0.0
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self.remarks["the date is not kept, because it is not written like 2026-03-01 or 2026-03-01 14:30"].append(
                line.number
            )
            return 0.0
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _episode(facts: dict[str, Any], trial: int) -> Episode:
    name = key(
        world_hash=facts["world_hash"],
        task=f"{facts['task']}/{facts['controller']}",
        task_version=facts["task_version"],
        policy=facts["policy"],
        policy_hash=facts["policy_hash"],
        policy_options={},
        scenario=facts["scenario"],
        arm=facts["arm"],
        trial=trial,
        clock=json.loads(facts["clock"]),
    )
    return Episode(episode=name, trial=trial, **facts)
