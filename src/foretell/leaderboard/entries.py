"""Entries of a leaderboard: what each policy did in each cell of the common ground."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.clock import label
from foretell.counting import counted
from foretell.digest import digest
from foretell.episodes.read import read
from foretell.errors import UsageError, suggest
from foretell.leaderboard.ground import CLEAN, Cell, Ground
from foretell.study.unchanged import unchanged

__all__ = ["Entry", "Rows", "entries_of", "read_runs"]

COLUMNS = [
    "episode", "world", "world_hash", "task", "task_version", "task_hash", "policy", "policy_hash", "policy_options",
    "controller", "clock", "arm", "scenario", "base", "trial", "success", "blame",
]  # fmt: skip
Rows = list[dict[str, Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Entry:
    """One policy."""

    policy: str
    outcomes: dict[Cell, Floats]
    """Cell -> success in each scenario, a mean over trials; NaN where no episode counts."""
    episodes: int
    """That count."""
    missing: int
    """Episodes of the test set that have not run."""
    left_out: dict[str, int]
    """Blame (world, machine) -> episodes that do not count."""
    identical: frozenset[Cell] = frozenset()
    """Cells whose every episode is as without perturbation: they change looks only, and the policy does not look."""

    def known(self, cell: Cell) -> Floats:
        """Outcomes that count."""
        values = self.outcomes[cell]
        return values[np.isfinite(values)]

    def pairs(self, cell: Cell) -> tuple[Floats, Floats]:
        """Perturbed and clean outcomes of the scenarios in which both count."""
        after, before = self.outcomes[cell], self.outcomes[cell[0], CLEAN]
        both = np.isfinite(after) & np.isfinite(before)
        return after[both], before[both]


def read_runs(
    runs: Sequence[str | Path], clock: str | None
) -> tuple[list[tuple[Path, Rows]], dict[str, str], list[str]]:
    """Rows of each run folder; the world and clock that they share; and what is to be said. Two worlds or clocks are
    refused."""
    if not runs:
        raise UsageError("no runs: give a run folder, or several")
    found, notes = [], []
    for path in map(Path, dict.fromkeys(map(str, runs))):
        with warnings.catch_warnings(record=True) as damage:
            warnings.simplefilter("always", UserWarning)
            table = read(path)
        rows, same = table.select(COLUMNS).to_pylist(), unchanged(table)
        notes += [str(w.message) for w in damage]
        if not rows:
            raise UsageError(f"{path} has no episodes yet")
        for row in rows:
            row["clock"] = label(row["clock"])
            row["unchanged"] = row["episode"] in same
        found.append((path, rows))
    shared = {**_world(found), "clock": _clock(found, clock)}
    kept = [(path, [row for row in rows if row["clock"] == shared["clock"]]) for path, rows in found]
    empty = next((path for path, rows in kept if not rows), None)
    if empty is not None:
        raise UsageError(f"{empty} has no episodes under the clock {shared['clock']!r}")
    return kept, shared, notes


def _world(found: list[tuple[Path, Rows]]) -> dict[str, str]:
    worlds: dict[str, tuple[str, Path]] = {}
    for path, rows in found:
        for row in rows:
            worlds.setdefault(row["world_hash"], (row["world"], path))
    if len(worlds) > 1:
        (one, here), (other, there) = list(worlds.values())[:2]
        same = " with other parameters" if one == other else ""
        raise UsageError(
            f"a leaderboard is of one world, and {here} has episodes of {one!r}, {there} of {other!r}{same}: "
            "to set a second world beside the first, give its run by --real"
        )
    (version,) = worlds
    return {"world": worlds[version][0], "world_hash": version}


def _clock(found: list[tuple[Path, Rows]], asked: str | None) -> str:
    clocks = list(dict.fromkeys(row["clock"] for _, rows in found for row in rows))
    of_kind = [clock for clock in clocks if clock.partition(" ")[0] == asked]
    if asked not in clocks and len(of_kind) == 1:
        return of_kind[0]
    if asked is None and len(clocks) > 1:
        raise UsageError(f"which clock? Say so with --clock: {', '.join(clocks)}")
    if asked is not None and asked not in clocks:
        raise UsageError(f"clock {asked!r} is not there; {suggest(asked, clocks)}")
    return asked or clocks[0]


def entries_of(runs: list[tuple[Path, Rows]], ground: Ground) -> tuple[list[Entry], list[str]]:
    """Every policy of the runs, in order of appearance; and what is to be said."""
    place = {(*cell, scenario): i for cell, ids in ground.columns.items() for i, scenario in enumerate(ids)}
    rows, others = {}, 0
    sources: dict[str, tuple[str, Path]] = {}
    for path, found in runs:
        for row in found:
            if (row["task"], row["arm"], row["scenario"]) not in place:
                others += 1
            elif row["task_version"] != ground.versions[row["task"]]:
                raise UsageError(
                    f"{path} has episodes of version {row['task_version']} of task {row['task']!r}, the test set is "
                    f"for version {ground.versions[row['task']]}"
                )
            elif (first := sources.setdefault(row["task"], (row["task_hash"], path)))[0] != row["task_hash"]:
                raise UsageError(
                    f"{path} has episodes of task {row['task']!r} with another source than those in {first[1]}: the "
                    "task's file was edited; run the older ones anew"
                )
            else:
                rows[row["episode"]] = row
    notes = (
        [f"{counted(others, 'episode of another test set is', 'episodes of other test sets are')} left out"]
        if others
        else []
    )
    versions: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for row in rows.values():
        row["version"] = digest([row["policy_hash"], row["policy_options"], row["controller"]])
        versions[row["task"], row["policy"]][row["version"]] = None
    grouped: dict[str, Rows] = defaultdict(list)
    for row in rows.values():
        several = len(versions[row["task"], row["policy"]]) > 1
        grouped[f"{row['policy']}#{row['version'][:6]}" if several else row["policy"]].append(row)
    return [_entry(policy, mine, ground, place) for policy, mine in grouped.items()], notes


def _entry(policy: str, rows: Rows, ground: Ground, place: dict[tuple[str, str, str], int]) -> Entry:
    total = {cell: np.zeros(ground.n) for cell in ground.columns}
    count = {cell: np.zeros(ground.n) for cell in ground.columns}
    seen = set()
    left_out: Counter[str] = Counter()
    for row in rows:
        cell = (row["task"], row["arm"])
        at = place[*cell, row["scenario"]]
        seen.add((cell, at))
        if row["success"] is None:
            left_out[str(row["blame"] or "not judged")] += 1
            continue
        total[cell][at] += row["success"]
        count[cell][at] += 1
    with np.errstate(invalid="ignore"):
        outcomes = {cell: total[cell] / np.where(count[cell] > 0, count[cell], np.nan) for cell in ground.columns}
    ran = {(row["task"], row["arm"]) for row in rows}
    changed = {(row["task"], row["arm"]) for row in rows if not row["unchanged"]}
    missing = len(ground.columns) * ground.n - len(seen)
    return Entry(
        policy, outcomes, len(rows) - sum(left_out.values()), missing, dict(left_out), frozenset(ran - changed)
    )
