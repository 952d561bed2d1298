"""Entries of a leaderboard: what each policy did in each cell of the common ground."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foretell.counting import counted
from foretell.episodes.cells import Cell, cells_of
from foretell.episodes.columns import codes, grouped, spread
from foretell.episodes.names import names_of, with_controller
from foretell.episodes.planned import plan_table
from foretell.episodes.read import read_columns
from foretell.episodes.stopped import FIXED, has_rule
from foretell.errors import UsageError, suggest
from foretell.leaderboard.ground import CLEAN, Ground, TaskArm
from foretell.study.unchanged import unchanged

__all__ = ["Entry", "Rows", "entries_of", "read_runs"]

COLUMNS = [
    "episode", "world", "world_hash", "task", "task_version", "task_hash", "policy", "controller", "clock", "arm",
    "scenario", "base", "success", "blame",
]  # fmt: skip
Rows: TypeAlias = pa.Table
"""With `COLUMNS`; policy and clock have their names in all tables. `unchanged`: as without perturbation."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One policy."""

    policy: str
    outcomes: dict[TaskArm, Floats]
    """Cell -> success in each scenario, a mean over trials; NaN where no episode counts."""
    episodes: int
    """That count."""
    missing: int
    """Episodes of the test set that have not run."""
    left_out: dict[str, int]
    """Blame (world, machine) -> episodes that do not count."""
    identical: frozenset[TaskArm] = frozenset()
    """Cells whose every episode is as without perturbation: they change looks only, and the policy does not look."""

    def known(self, cell: TaskArm) -> Floats:
        """Outcomes that count."""
        values = self.outcomes[cell]
        return values[np.isfinite(values)]

    def pairs(self, cell: TaskArm) -> tuple[Floats, Floats]:
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
    read: list[tuple[Path, pa.Table, np.ndarray, list[Cell]]] = []
    notes: list[str] = []
    for path in map(Path, dict.fromkeys(map(str, runs))):
        with warnings.catch_warnings(record=True) as damage:
            warnings.simplefilter("always", UserWarning)
            table = read_columns(path)
        notes += [str(w.message) for w in damage]
        if not len(table):
            raise UsageError(f"{path} has no episodes yet")
        if has_rule(plan_table(path)):
            notes.append(f"{path}: {FIXED}")
        same = pc.is_in(table["episode"], pa.array(sorted(unchanged(table)), pa.string()))
        read.append((path, table.select(COLUMNS).append_column("unchanged", same), *cells_of(table)))
    names = iter(names_of([cell for *_, cells in read for cell in cells]))
    named = []
    for path, table, group, cells in read:
        policies = [next(names).policy for _ in cells]
        clocks = [name.clock for name in names_of(cells)]  # run by run: each may have measured a latency of its own
        for column, called in (("policy", policies), ("clock", clocks)):
            table = table.set_column(table.column_names.index(column), column, spread(called, group))
        named.append((path, table))
    shared = {**_world(named), "clock": _clock(named, clock)}
    kept = [(path, table.filter(pc.field("clock") == shared["clock"])) for path, table in named]
    empty = next((path for path, table in kept if not len(table)), None)
    if empty is not None:
        raise UsageError(f"{empty} has no episodes under the clock {shared['clock']!r}")
    return kept, shared, notes


def _world(runs: list[tuple[Path, Rows]]) -> dict[str, str]:
    worlds: dict[str, tuple[str, Path]] = {}
    for path, table in runs:
        for version, world in grouped([table["world_hash"], table["world"]])[1]:
            worlds.setdefault(version, (world, path))
    if len(worlds) > 1:
        (first, here), (second, there) = list(worlds.values())[:2]
        same = " with other parameters" if first == second else ""
        raise UsageError(
            f"a leaderboard is of one world, and {here} has episodes of {first!r}, {there} of {second!r}{same}: "
            "give the run of a second world with --real"
        )
    (version,) = worlds
    return {"world": worlds[version][0], "world_hash": version}


def _clock(runs: list[tuple[Path, Rows]], wanted: str | None) -> str:
    clocks: list[str] = list(dict.fromkeys(clock for _, table in runs for (clock,) in grouped([table["clock"]])[1]))
    of_kind = [clock for clock in clocks if clock.partition(" ")[0] == wanted]
    if wanted not in clocks and len(of_kind) == 1:
        return of_kind[0]
    if wanted is None and len(clocks) > 1:
        raise UsageError(f"several clocks: choose one with --clock: {', '.join(clocks)}")
    if wanted is not None and wanted not in clocks:
        raise UsageError(f"clock {wanted!r} is not in these runs; {suggest(wanted, clocks)}")
    return wanted or clocks[0]


def entries_of(runs: list[tuple[Path, Rows]], ground: Ground) -> tuple[list[Entry], list[str]]:
    """Every policy of the runs, in order of appearance; and what is to be said."""
    known = {(*cell, scenario) for cell, ids in ground.columns.items() for scenario in ids}
    tables, others = [], 0
    sources: dict[str, tuple[str, Path]] = {}
    for path, table in runs:
        group, combinations = grouped([table[c] for c in ("task", "arm", "scenario")])
        mine = np.array([combination in known for combination in combinations], dtype=bool)[group]
        others += len(table) - int(mine.sum())
        tables.append(table.filter(pa.array(mine)))
        for task, version, source in grouped([tables[-1][c] for c in ("task", "task_version", "task_hash")])[1]:
            if version != ground.versions[task]:
                raise UsageError(
                    f"{path} has episodes of version {version} of task {task!r}, the test set is "
                    f"for version {ground.versions[task]}"
                )
            if (first := sources.setdefault(task, (source, path)))[0] != source:
                raise UsageError(
                    f"{path} has episodes of task {task!r} with another source than those in {first[1]}: the "
                    "task's file was edited; run the older ones again"
                )
    notes = (
        [f"{counted(others, 'episode of another test set is', 'episodes of other test sets are')} left out"]
        if others
        else []
    )
    rows = pa.concat_tables(tables).unify_dictionaries()
    index, episodes = codes(rows["episode"])
    last = np.zeros(len(episodes), dtype=np.int64)
    last[index] = np.arange(len(rows))  # an episode that is in two runs counts once, as in the last of them
    rows = rows.take(pa.array(last))
    group, combinations = grouped([rows[c] for c in ("task", "policy", "controller")])
    controllers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task, policy, controller in combinations:
        controllers[task, policy].add(controller)
    named = [with_controller(p, c) if len(controllers[t, p]) > 1 else p for t, p, c in combinations]
    group, policies = grouped([spread(named, group)])
    return [
        _entry(policy, rows.filter(pa.array(group == number)), ground) for number, (policy,) in enumerate(policies)
    ], notes


def _entry(policy: str, rows: Rows, ground: Ground) -> Entry:
    cells = {cell: i for i, cell in enumerate(ground.columns)}
    place = {
        (*cell, scenario): (cells[cell], i) for cell, ids in ground.columns.items() for i, scenario in enumerate(ids)
    }
    group, combinations = grouped([rows[c] for c in ("task", "arm", "scenario")])
    spots = np.array([i * ground.n + at for i, at in (place[key] for key in combinations)], dtype=np.int64)[group]
    judged = rows["success"].is_valid().to_numpy()
    solved = rows["success"].fill_null(False).to_numpy()
    shape = (len(cells), ground.n)
    count = np.bincount(spots, judged, minlength=len(cells) * ground.n).reshape(shape)
    total = np.bincount(spots, solved, minlength=len(cells) * ground.n).reshape(shape)
    outcomes = dict(zip(cells, total / np.where(count > 0, count, np.nan), strict=True))
    blame, why = grouped([rows["blame"].filter(pa.array(~judged))])
    times = np.bincount(blame, minlength=len(why)).tolist()
    left_out = {str(blamed or "not judged"): k for (blamed,), k in zip(why, times, strict=True)}
    of_cell = spots // ground.n
    ran, changed = (set(of_cell[mine].tolist()) for mine in (..., ~rows["unchanged"].to_numpy()))
    identical = frozenset(cell for cell, i in cells.items() if i in ran and i not in changed)
    missing = len(cells) * ground.n - len(combinations)
    return Entry(
        policy=policy,
        outcomes=outcomes,
        episodes=int(judged.sum()),
        missing=missing,
        left_out=left_out,
        identical=identical,
    )
