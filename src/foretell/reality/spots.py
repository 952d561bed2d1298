"""Spots: places on the table that trials share. A label names one, whatever was measured there; so do positions that
lie within a tolerance of each other. All trials of a spot have its scenario, so that they pair."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from foretell.episodes.provenance import read_provenance
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError
from foretell.scenario import Scenario

__all__ = ["TOLERANCE", "TURN", "Spots", "as_printed", "labels_of"]

TOLERANCE = 0.002
"""Metres within which two positions are one spot, unless the user says otherwise."""
TURN = 5.0
"""Degrees by which objects of one spot may be turned against each other."""
PRINTED = (0.0005, 0.5)
"""Metres and degrees by which a pose may differ from one that was printed with three decimals and whole degrees."""


def apart(first: Scenario, second: Scenario) -> tuple[float, float]:
    """The furthest that an object lies from where the other scenario has it, m, and the most that one is turned,
    degrees. Infinite for scenarios of other objects."""
    if first.task != second.task or first.placements.keys() != second.placements.keys():
        return math.inf, math.inf
    pairs = [(p, second.placements[name]) for name, p in first.placements.items()]
    turns = [math.degrees(math.remainder(a.yaw - b.yaw, 2 * math.pi)) for a, b in pairs]
    return max((math.dist(a.pos, b.pos) for a, b in pairs), default=0.0), max(map(abs, turns), default=0.0)


def as_printed(first: Scenario, second: Scenario) -> bool:
    """Whether two scenarios print the same: three decimals of a metre, whole degrees."""
    places = [(p.pos, second.placements[name].pos) for name, p in first.placements.items()]
    offs = [abs(a - b) for here, there in places for a, b in zip(here, there, strict=True)]
    return max(offs, default=0.0) <= PRINTED[0] + 1e-9 and apart(first, second)[1] <= PRINTED[1] + 1e-6


class Spots:
    """Those of a run folder of earlier imports, and those that come with this sheet."""

    def __init__(self, folder: Path, tolerance: float = TOLERANCE):
        self.tolerance = tolerance
        self.merged = 0
        """Lines whose position is not quite that of their spot."""
        self.labels: dict[tuple[str, str], str] = {}
        """Task and label -> id of the spot's scenario."""
        self.plain: set[tuple[str, str]] = set()
        """Task and label of trials that were imported without a position: such a label stays a mere label."""
        self.scenarios: dict[str, Scenario] = {}
        if any((folder / name).exists() for name in ("study.yaml", "episodes")):
            self._read(folder)

    def _read(self, folder: Path) -> None:
        try:
            scenarios, rows = read_scenarios(folder), read(folder).select(["task", "scenario"]).to_pylist()
        except ForetellError:  # a folder that is none is told of later, when it is to be written
            return
        self.scenarios = {s.id: s for s in scenarios}
        self.labels = {k: v for k, v in labels_of(folder).items() if v in self.scenarios}
        self.plain = {(r["task"], r["scenario"]) for r in rows if r["scenario"] not in self.scenarios}

    def labelled(self, task: str, label: str) -> Scenario | None:
        """The spot of a label."""
        return self.scenarios.get(self.labels.get((task, label), ""))

    def at(self, measured: Scenario, label: str = "") -> Scenario:
        """The spot of what was measured: that of the label; else the nearest within the tolerance; else a new one."""
        known = self.labelled(measured.task, label) or self.near(measured, self.scenarios.values())
        spot = self.scenarios.setdefault(measured.id, measured) if known is None else known
        self.merged += spot.id != measured.id
        if label:
            self.labels.setdefault((measured.task, label), spot.id)
        return spot

    def near(self, measured: Scenario, known: Iterable[Scenario]) -> Scenario | None:
        """The nearest of some scenarios that lies within the tolerance."""
        close = [
            (distance, turn, s.id, s)
            for s in known
            if s.instruction == measured.instruction
            for distance, turn in [apart(s, measured)]
            if distance <= self.tolerance and turn <= TURN
        ]
        return min(close)[3] if close else None

    def about(self) -> dict[str, dict[str, str]]:
        """Task -> label -> id of its scenario, for the folder's provenance."""
        labels: dict[str, dict[str, str]] = {}
        for (task, label), name in self.labels.items():
            labels.setdefault(task, {})[label] = name
        return labels


def labels_of(folder: Path) -> dict[tuple[str, str], str]:
    """Task and label -> id of its scenario, of a folder of imported trials; empty for others."""
    try:
        spots: Any = read_provenance(folder)["imported"]["spots"]
        return {(str(t), str(label)): str(name) for t, mine in spots.items() for label, name in mine.items()}
    except (LookupError, TypeError, AttributeError):
        return {}
