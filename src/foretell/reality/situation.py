"""The situation a line was run in: a scenario planned before, one measured on the table, or only a label."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from foretell.episodes.provenance import design_of
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import suggest
from foretell.reality.nominal import nominal
from foretell.reality.sheet import SheetLine, TrialSheet, plain_name
from foretell.reality.spots import Spots, as_printed, labels_of
from foretell.registry import names
from foretell.rotation import turned
from foretell.scenario import Placement, Scenario
from foretell.study.plan import make_task
from foretell.tasks.task import Mount, Task

__all__ = ["POSE", "Situations", "nominal"]

POSE = re.compile(r"(?P<object>.+)\.(?P<axis>x|y|z|yaw)")
DESIGNS = {"random": "iid", "iid": "iid", "grid": "grid", "chosen": "chosen"}
"""What the column `design` may say -> what a run records."""
SHORTEST = 4
"""Characters of a scenario's id that name it: a lab's own 1, 2, 3 must not be taken for beginnings of ids."""
FAR = 1.0
"""Metres from where the task puts an object, up and down, and sideways where the robot's place is not known: further
is no table, but centimetres."""
REACH = 0.95
"""Metres from a robot's mount, in the plane: a Panda reaches 0.855 to its wrist, and its hand about 0.1 further. Beyond
that no trial can be meant, so the numbers are centimetres."""


class Situations:
    """Finds or builds the scenario of each line; notes what is wrong with it."""

    def __init__(
        self,
        sheet: TrialSheet,
        like: Path | None,
        spots: Spots,
        frames: Mapping[int, Mapping[str, Placement]] | None = None,
    ):
        """`frames`: line -> what was measured on its camera frame."""
        self.sheet, self.like, self.spots, self._frames = sheet, like, spots, frames or {}
        self.planned = [] if like is None else read_scenarios(like)
        self.built: dict[str, Scenario] = {}
        """Every scenario that a line was run in, by id."""
        self.printed: set[int] = set()
        """Lines whose positions are those that the cards gave: nobody measured them."""
        self._labels = {} if like is None else labels_of(like)
        self._designs: set[str] = set()
        self._tasks: dict[str, Task | None] = {}
        self._names = {name.lower(): name for name in [*names("tasks"), *(s.task for s in self.planned)]}
        self._nominal: dict[str, Scenario] = {}

    @property
    def design(self) -> str:
        """How the scenarios of the lines so far came about: what the planned run or the sheet says; else chosen."""
        return next(iter(self._designs)) if len(self._designs) == 1 else "chosen"

    def name(self, line: SheetLine) -> str:
        """The line's task, as foretell writes it."""
        return self._names.get(line.cells["task"].lower(), line.cells["task"])

    def task(self, line: SheetLine) -> Task | None:
        """The task of a registered name. Never "file.py:Class": a cell is data, and must not load code."""
        name = self.name(line)
        if name not in self._tasks:
            self._tasks[name] = make_task(name) if name in names("tasks") else None
            if self._tasks[name] is None and self.like is None:
                self.sheet.notes.append(
                    f"task {name!r} is not one that foretell simulates: its trials are counted, not paired; "
                    f"{suggest(name, names('tasks'))}"
                )
        return self._tasks[name]

    def simulated(self, line: SheetLine) -> bool:
        """Whether the line's placements can be told from mere numbers."""
        return self.like is not None or self.task(line) is not None

    def of(self, line: SheetLine) -> tuple[str, Scenario | None]:
        """The scenario's id (or label, or nothing), and the scenario where there is one."""
        name, label = self.name(line), line.cells.get("scenario", "")
        measured = self._measured(line)
        planned = self._planned(line, measured) if self.like is not None else None
        if planned is not None:
            return self._as_planned(line, planned)
        self._designs.add(self._design(line))
        if self.like is not None:  # what is wrong is noted, or it was measured where nothing was planned
            return self._keep(self.spots.at(measured)) if measured is not None and not label else (label, None)
        if (name, label) in self.spots.plain:
            return label, None
        spot = self._labelled(name, label) if measured is None else self.spots.at(measured, label)
        return (label, None) if spot is None else self._keep(self._instructed(line, spot))

    def _measured(self, line: SheetLine) -> Scenario | None:
        """Where the line says that objects lay, and the rest as the task has it; None where it does not say, or where
        the task is not known."""
        task = self.task(line) if _posed(line) else None
        if task is None:
            return None
        start = self._nominal.setdefault(task.name, nominal(task))
        measured = start.model_copy(update={"placements": self._placements(line, start)})
        instruction = line.cells.get("instruction", start.instruction)
        return (
            measured.model_copy(update={"instruction": instruction}) if instruction != start.instruction else measured
        )

    def _planned(self, line: SheetLine, measured: Scenario | None) -> Scenario | None:
        """The planned scenario that the line names; without a name, the one that lies where it was measured."""
        name, label = self.name(line), line.cells.get("scenario", "")
        if label or not _posed(line):
            return self._find(line, name, label)
        if measured is None:
            self.sheet.fault(line, "task", "a task with known placements, or a scenario", name)
            return None
        return self.spots.near(measured, self._of_task(name))

    def _as_planned(self, line: SheetLine, planned: Scenario) -> tuple[str, Scenario]:
        """A planned scenario; where something else was measured or said, a child of it, which pairs with it."""
        assert self.like is not None
        self._designs.add(design_of(self.like))
        if "design" in line.cells:  # a sheet that claims something else has no guarantee: chosen
            self._designs.add(self._design(line))
        scenario = planned
        if _posed(line):
            before = len(self.sheet.faults)
            # what was measured of the plan, such as the shortest way, need not be true of what lies elsewhere
            measured = planned.model_copy(update={"placements": self._placements(line, planned), "facts": {}})
            if self.task(line) is not None:
                del self.sheet.faults[before:]  # noted already, by `_measured`
            if as_printed(measured, planned):
                self.printed.add(line.number)
            else:
                scenario = measured.model_copy(update={"parent": planned.pair})
        return self._keep(self._instructed(line, scenario))

    def _instructed(self, line: SheetLine, scenario: Scenario) -> Scenario:
        """The scenario with the line's instruction; where that is another, a child that pairs with it."""
        instruction = line.cells.get("instruction", scenario.instruction)
        if instruction == scenario.instruction:
            return scenario
        return scenario.model_copy(update={"instruction": instruction, "parent": scenario.pair})

    def _keep(self, scenario: Scenario) -> tuple[str, Scenario]:
        scenario = Scenario.model_validate(scenario.model_dump())
        self.built.setdefault(scenario.id, scenario)
        return scenario.id, scenario

    def _labelled(self, name: str, label: str) -> Scenario | None:
        """The spot of a label whose position an earlier import gives, or another line."""
        if not label or (known := self.spots.labelled(name, label)) is not None:
            return known if label else None
        for other in self.sheet.lines:
            if "task" in other.cells and self.name(other) == name and other.cells.get("scenario") == label:
                before = len(self.sheet.faults)
                measured = self._measured(other)
                del self.sheet.faults[before:]  # they are told when that line is read
                if measured is not None:
                    return self.spots.at(measured, label)
        return None

    def _design(self, line: SheetLine) -> str:
        """How the sheet says that the line's situation was chosen."""
        text = line.cells.get("design", "chosen")
        if text.lower() not in DESIGNS:
            self.sheet.fault(line, "design", ", ".join(DESIGNS), text)
        return DESIGNS.get(text.lower(), "chosen")

    def _of_task(self, name: str) -> list[Scenario]:
        return [s for s in self.planned if s.task == name]

    def _find(self, line: SheetLine, task: str, label: str) -> Scenario | None:
        mine = {s.id: s for s in self._of_task(task)}
        if not mine:
            tasks = sorted({s.task for s in self.planned})
            self.sheet.fault(line, "task", f"a task of {self.like} ({', '.join(tasks) or 'it has none'})", task)
            return None
        if (known := mine.get(self._labels.get((task, label), ""))) is not None:
            return known  # a label of imported trials
        wanted = label.lower()
        matches = [i for i in mine if i.startswith(wanted)] if len(wanted) >= SHORTEST else []
        if len(matches) == 1:
            return mine[matches[0]]
        expected = f"the id of a scenario of {task!r} in {self.like}, or its first {SHORTEST} or more characters"
        if matches:
            expected += f" ({len(matches)} begin like this: {', '.join(sorted(matches)[:4])})"
        elif re.fullmatch(r"[\d.,]+e\+?\d+|\d{4,}", wanted):
            expected += " (has the spreadsheet made a number of it? Format that column as text)"
        elif label:
            expected += f" ({suggest(wanted, list(mine)[:8])})"
        self.sheet.fault(line, "scenario", expected, label or None)
        return None

    def _placements(self, line: SheetLine, start: Scenario) -> dict[str, Placement]:
        """The start's placements, with what the line says in their place."""
        placed = {**start.placements, **self._frames.get(line.number, {})}
        by_name = {plain_name(name): name for name in placed}
        columns: dict[str, set[str]] = {}
        for column in line.cells:
            if match := POSE.fullmatch(column):
                columns.setdefault(match["object"], set()).add(match["axis"])
        for thing, axes in columns.items():
            name = by_name.get(thing)
            if name is None:
                known = ", ".join(sorted(placed))
                self.sheet.fault(line, f"{thing}.{min(axes)}", f"an object of {start.task!r} ({known})", thing)
                continue
            for axis in {"x", "y"} - axes:
                self.sheet.fault(line, f"{thing}.{axis}", "metres, as x and y go together", None)
            old = placed[name]
            pos = list(old.pos)
            task = self.task(line)
            mounts = [] if task is None else list(task.robots.values())
            for i, axis in enumerate("xyz"):
                if mounts and axis != "z":  # then reach is the bound
                    value = self.sheet.number(line, f"{thing}.{axis}", "metres")
                else:
                    low, high = old.pos[i] - FAR, old.pos[i] + FAR
                    value = self.sheet.number(line, f"{thing}.{axis}", f"metres, {low:.2f} to {high:.2f}", low, high)
                pos[i] = pos[i] if value is None else value
            if axes & {"x", "y"} and mounts:
                self._reach(line, thing, pos, mounts)
            yaw = self.sheet.number(line, f"{thing}.yaw", "degrees")
            quat = old.quat if yaw is None else turned(old.quat, math.radians(yaw) - old.yaw)
            placed[name] = old.model_copy(update={"pos": tuple(pos), "quat": quat})
        return placed

    def _reach(self, line: SheetLine, thing: str, pos: list[float], mounts: list[Mount]) -> None:
        """Note a placement that no robot of the task reaches, at the coordinate that is furthest off."""
        near = min(mounts, key=lambda mount: math.dist(mount.pos[:2], pos[:2]))
        if math.dist(near.pos[:2], pos[:2]) > REACH:
            i = max((0, 1), key=lambda i: abs(pos[i] - near.pos[i]))
            advice = "metres are expected (were these centimetres?)"
            fault = f"{thing} at {pos[i]:.2f} m is out of the robot's reach; {advice}"
            self.sheet.tell(line, f"{thing}.{'xy'[i]}", fault)


def _posed(line: SheetLine) -> bool:
    return any(POSE.fullmatch(column) for column in line.cells)
