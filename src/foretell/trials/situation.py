"""The situation a line was run in: a scenario planned before, one measured on the table, or only a label."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import suggest
from foretell.registry import names, resolve
from foretell.rotation import from_yaw, multiply
from foretell.scenario import Placement, Scenario
from foretell.study.plan import make_task
from foretell.study.provenance import read_provenance
from foretell.study.store import read_scenarios
from foretell.tasks.task import Mount, Task
from foretell.trials.sheet import Line, Sheet, plain_name

__all__ = ["POSE", "Situations", "nominal"]

POSE = re.compile(r"(?P<object>.+)\.(?P<axis>x|y|z|yaw)")
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

    def __init__(self, sheet: Sheet, like: Path | None):
        self.sheet, self.like = sheet, like
        self.planned = [] if like is None else read_scenarios(like)
        self.built: dict[str, Scenario] = {}
        """Every scenario that a line was run in, by id."""
        self.design = "chosen" if like is None else _design(like)
        self._tasks: dict[str, Task | None] = {}
        self._names = {name.lower(): name for name in [*names("tasks"), *(s.task for s in self.planned)]}
        self._nominal: dict[str, Scenario] = {}

    def name(self, line: Line) -> str:
        """The line's task, as foretell writes it."""
        return self._names.get(line.cells["task"].lower(), line.cells["task"])

    def task(self, line: Line) -> Task | None:
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

    def simulated(self, line: Line) -> bool:
        """Whether the line's placements can be told from mere numbers."""
        return self.like is not None or self.task(line) is not None

    def of(self, line: Line) -> tuple[str, Scenario | None]:
        """The scenario's id (or label, or nothing), and the scenario where there is one."""
        name, label = self.name(line), line.cells.get("scenario", "")
        posed = any(POSE.fullmatch(column) for column in line.cells)
        planned = None
        if self.like is not None and (label or not posed):
            planned = self._find(line, name, label)
            if planned is None:
                return label, None
        start = planned
        if start is None and posed and (task := self.task(line)) is not None:
            start = self._nominal.setdefault(name, nominal(task))
        if start is None:
            if posed and self.like is not None:
                self.sheet.fault(line, "task", "a task with known placements, or a scenario", name)
            return label, None
        changes: dict[str, Any] = {}
        if posed:
            changes["placements"] = self._placements(line, start)
        if line.cells.get("instruction", start.instruction) != start.instruction:
            changes["instruction"] = line.cells["instruction"]
        if planned is None:
            self.design = "chosen"
        elif changes:  # measured, where it should have been set: it pairs with what was planned
            changes["parent"] = planned.pair
        scenario = start.model_copy(update=changes) if changes else start
        scenario = Scenario.model_validate(scenario.model_dump())  # a copy would keep the cached id
        self.built.setdefault(scenario.id, scenario)
        return scenario.id, scenario

    def _find(self, line: Line, task: str, label: str) -> Scenario | None:
        mine = {s.id: s for s in self.planned if s.task == task}
        if not mine:
            known = sorted({s.task for s in self.planned})
            self.sheet.fault(line, "task", f"a task of {self.like} ({', '.join(known) or 'it has none'})", task)
            return None
        wanted = label.lower()
        found = [i for i in mine if i.startswith(wanted)] if len(wanted) >= SHORTEST else []
        if len(found) == 1:
            return mine[found[0]]
        expected = f"the id of a scenario of {task!r} in {self.like}, or its first {SHORTEST} or more characters"
        if found:
            expected += f" ({len(found)} begin like this: {', '.join(sorted(found)[:4])})"
        elif re.fullmatch(r"[\d.,]+e\+?\d+|\d{4,}", wanted):
            expected += " (has the spreadsheet made a number of it? Format that column as text)"
        elif label:
            expected += f" ({suggest(wanted, list(mine)[:8])})"
        self.sheet.fault(line, "scenario", expected, label or None)
        return None

    def _placements(self, line: Line, start: Scenario) -> dict[str, Placement]:
        """The start's placements, with what the line says in their place."""
        placed = dict(start.placements)
        by_name = {plain_name(name): name for name in placed}
        given: dict[str, set[str]] = {}
        for column in line.cells:
            if match := POSE.fullmatch(column):
                given.setdefault(match["object"], set()).add(match["axis"])
        for thing, axes in given.items():
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
            quat = old.quat if yaw is None else _turn(old.quat, math.radians(yaw) - old.yaw)
            placed[name] = old.model_copy(update={"pos": tuple(pos), "quat": quat})
        return placed

    def _reach(self, line: Line, thing: str, pos: list[float], mounts: list[Mount]) -> None:
        """Note a placement that no robot of the task reaches, at the coordinate that is furthest off."""
        near = min(mounts, key=lambda mount: math.dist(mount.pos[:2], pos[:2]))
        if math.dist(near.pos[:2], pos[:2]) > REACH:
            i = max((0, 1), key=lambda i: abs(pos[i] - near.pos[i]))
            advice = "metres are expected (were these centimetres?)"
            told = f"{thing} at {pos[i]:.2f} m is out of the robot's reach; {advice}"
            self.sheet.tell(line, f"{thing}.{'xy'[i]}", told)


def nominal(task: Task) -> Scenario:
    """The scenario a sheet starts from: every object in the middle of where the task puts it, of middle size and not
    turned, and the robot at home."""
    placements = {}
    for name, placement in task.place(_Middle()).items():
        placements[name] = placement.model_copy(update={"quat": _turn(placement.quat, -placement.yaw)})
    home = {name: tuple(map(float, resolve("robots", m.robot).home)) for name, m in task.robots.items()}
    return Scenario(task=task.name, seed=0, placements=placements, robot_start=home, instruction=task.instruction)


def _turn(quat: tuple[float, ...], angle: float) -> tuple[float, ...]:
    """Turned about the vertical. Rounded, because the last bits of sines differ between machines and ids must not."""
    turned = multiply(from_yaw(angle), np.asarray(quat))
    return tuple(round(float(v), 12) + 0.0 for v in turned)


class _Middle(np.random.Generator):
    """Draws the middle of every range."""

    PATIENCE = 1000
    """Draws after which it draws like any other: a task may ask again until something fits."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))
        self._drawn = 0

    def _fixed(self) -> bool:
        self._drawn += 1
        return self._drawn <= self.PATIENCE

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if not self._fixed():
            return super().uniform(low, high, size)
        middle = (np.asarray(low, dtype=float) + np.asarray(high, dtype=float)) / 2
        return np.broadcast_to(middle, size).copy() if size is not None else middle[()]

    def random(self, size: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return self.uniform(size=size) if self._drawn < self.PATIENCE else super().random(size, **options)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self.uniform(loc, loc, size) if self._drawn < self.PATIENCE else super().normal(loc, scale, size)

    def standard_normal(self, size: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return self.normal(size=size) if self._drawn < self.PATIENCE else super().standard_normal(size, **options)


def _design(run: Path) -> str:
    return str(read_provenance(run).get("design", "chosen"))
