"""The store of a run folder: what is finished stays finished, whatever happens to the process or the disk.

    study.yaml  scenarios.parquet  drawn.parquet  plan.parquet  provenance.json  lock
    journal/  episodes/part-*.parquet  videos/

An episode first becomes a line of the journal. Every `SEAL` rows, and at close, the journal is sealed: its
rows go to a new part, and only when that part is named on disk are the journal files deleted. Many small parts
become one in the same way. At any moment each finished row is in the journal, in a part, or in both; readers keep one
row per episode key.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.episode import Episode, arrow_schema
from foretell.episodes.columns import cells, encoded, grouped, listed, plain_text, spread
from foretell.episodes.folder import check_folders
from foretell.episodes.journal import (
    Journal,
    check_version,
    disk_errors,
    encode,
    journals,
    parse,
    plain,
    replace,
    sync_folder,
    to_table,
)
from foretell.episodes.parts import DamagedError, merge_parts, parts, read_part, release, set_aside_as, write_table
from foretell.episodes.planned import CELL, PLAN, SPARED, is_retired, is_spared, plan_table
from foretell.episodes.read import JOURNAL, LOWEST, ORDER, RANKED, rank, rank_of, together
from foretell.episodes.scenarios import SCENARIOS, scenario_table
from foretell.episodes.selection import FILE as SELECTION
from foretell.episodes.tally import COLUMNS
from foretell.errors import ForetellError
from foretell.files import read_file
from foretell.latency.trace import read_trace, trace_text
from foretell.scenario import Scenario
from foretell.study.lock import STOP, lock

__all__ = ["SEAL", "Store"]

SEAL = 1000
"""Rows at which the journal becomes a part."""

TALLIED = list(dict.fromkeys([*COLUMNS, *RANKED, *ORDER]))
"""Columns of the rows that were there, until `earlier` gives them away."""


class Store:
    """A run folder, open for writing by one process at a time. Not for several threads at once."""

    path: Path
    done: dict[str, str | None]
    """Episode key -> blame, of the rows on disk. Those blamed on the machine are worth another try."""
    problems: list[str]
    """Damage found, one plain sentence each: the file, and what follows."""
    planned: int = 0
    """Episodes of the plan that `write_plan` wrote, with those of earlier plans that it kept."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.done, self.problems = {}, []
        self._sealed: dict[str, tuple[bool, float]] = {}  # key -> rank, of the rows in parts
        self._earlier: list[pa.Table] = []  # rows that were there, until `earlier` gives them away
        self._known: set[str] = set()  # ids of scenarios that were found or written
        self._pending = 0  # lines in the journal
        self._failed = False
        self._journal = Journal(self.path / "journal")
        with disk_errors(self.path, opening=True):
            check_folders(self.path)
            for name in ("journal", "episodes", "videos"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            sync_folder(self.path)
            sync_folder(self.path.parent)
            self._lock: int | None = lock(self.path)
        _OPEN.add(self)
        try:
            with disk_errors(self.path, opening=True):
                self._recover()
        except BaseException:
            self._release()
            raise

    def earlier(self) -> pa.Table | None:
        """The rows that were there when the store was opened, as `read_columns` gives the columns of a tally. For one
        call: they are not kept. None where there were none."""
        tables, self._earlier = self._earlier, []
        if not self.done:
            return None
        rows = together(tables)
        del tables
        release()
        return rows.select(COLUMNS)

    def append(self, rows: Sequence[Episode]) -> None:
        """Returns when the rows are safe. Raises ForetellError if they cannot be; those before stay."""
        self._check_open()
        lines = []
        for row in rows:
            check_version(row.schema, f"episode {row.episode}")
            try:
                lines.append(plain(row.to_dict()))
            except ValueError as error:
                raise ForetellError(f"episode {row.episode} cannot be stored: {error}") from None
        if not lines:
            return
        try:
            with disk_errors(self.path):
                self._journal.write(b"".join(map(encode, lines)))
                self._note(lines)
                self._pending += len(lines)
                if self._pending >= SEAL:
                    self._seal()
        except ForetellError:
            self._failed = True
            raise

    def take(self, table: pa.Table) -> int:
        """Add those rows of another folder of the same study that are not there, or that count more than what is there
        (`episodes.read.rank`). Gives their number. table: as `read_part` gives it."""
        self._check_open()
        counts: dict[str, tuple[tuple[bool, float], int]] = {}
        for at, (name, blame, began) in enumerate(zip(*(cells(table[c]) for c in RANKED), strict=True)):
            mine = rank(blame, began)
            if mine > counts.get(name, (self._sealed.get(name, LOWEST), 0))[0]:
                counts[name] = (mine, at)
        if not counts:
            return 0
        table = table.take(pa.array(sorted(at for _, at in counts.values())))
        with disk_errors(self.path):
            self._write_part(plain_text(table).combine_chunks())
        self._take(table)
        return len(table)

    def write_study(self, text: str) -> None:
        """The study as resolved."""
        self._check_open()
        with disk_errors(self.path):
            replace(self.path / "study.yaml", text.encode("utf-8", "backslashreplace"))

    def write_testset(self, data: bytes) -> None:
        """The test set that the study runs, as it was built: a run folder needs no other file to be judged by."""
        self._check_open()
        with disk_errors(self.path):
            replace(self.path / "testset.jsonl", data)

    def write_selection(self, selection: Mapping[str, Any]) -> None:
        """The chances with which scenarios were chosen (`episodes.selection`)."""
        self._check_open()
        with disk_errors(self.path):
            replace(self.path / SELECTION, json.dumps(selection).encode() + b"\n")

    def write_latencies(self, traces: Mapping[str, Sequence[float]]) -> None:
        """Traces that were measured for this study, each whole in a file of its name. One that another process has
        written meanwhile stands: rows name the trace that they were run with."""
        self._check_open()
        folder = self.path / "latency"
        for name, trace in traces.items():
            if read_trace(folder / name) not in (None, list(trace)):
                raise ForetellError(
                    f"{folder / name}: another process measured this latency meanwhile; run the same command to resume"
                )
            with disk_errors(self.path):
                folder.mkdir(exist_ok=True)
                replace(folder / name, trace_text(trace).encode())

    def write_error(self, episode: str, text: str) -> Path:
        """The traceback of what a policy raised; the row has its last line only."""
        self._check_open()
        path = self.path / "errors" / f"{episode}.txt"
        with disk_errors(self.path):
            path.parent.mkdir(exist_ok=True)
            replace(path, text.encode("utf-8", "backslashreplace"))
        return path

    def write_provenance(self, info: dict[str, Any]) -> None:
        """Versions, commit, machine, seeds."""
        self._check_open()
        text = json.dumps(info, indent=2, default=str, ensure_ascii=False)
        with disk_errors(self.path):
            replace(self.path / "provenance.json", text.encode("utf-8", "backslashreplace") + b"\n")

    def has_scenarios(self, names: Iterable[str]) -> bool:
        """Whether all of these are there, sound."""
        with disk_errors(self.path), contextlib.suppress(DamagedError):
            self._known = set(listed(scenario_table(self.path / "scenarios.parquet")["id"]))
        return self._known.issuperset(names)

    def write_drawn(self, table: pa.Table) -> None:
        """The names of what was drawn (`study.drawn`)."""
        self._check_open()
        with disk_errors(self.path):
            write_table(self.path / "drawn.parquet", table)

    def write_scenarios(self, scenarios: Iterable[Scenario]) -> None:
        """Adds those not yet there, by id; the order of those already there stays."""
        self._check_open()
        path = self.path / "scenarios.parquet"
        new = {s.id: s for s in scenarios if s.id not in self._known}
        if not new and self._known:
            return
        with disk_errors(self.path):
            try:
                table = scenario_table(path)
            except DamagedError as damage:
                self._set_aside(path, damage, "the scenarios of this study are written again")
                table = SCENARIOS.empty_table()
            self._known = set(listed(table["id"]))
            new = {name: s for name, s in new.items() if name not in self._known}
            if new or not path.exists():
                added = pa.Table.from_pylist([_scenario_row(s) for s in new.values()], schema=SCENARIOS)
                write_table(path, pa.concat_tables([table, added]))
            self._known.update(new)

    def write_plan(self, plan: pa.Table | Sequence[Mapping[str, str]], *, keep: bool = True) -> int:
        """Every episode to be, in order, with the columns `CELL`, `unit` and `episode`. What is there already stays
        where `keep` says so; else, and where a cell is there again with other weights, sources or θ, what has not run
        yet is retired: it stays in the plan, marked. Gives the number of episodes that this call retires."""
        self._check_open()
        plan = plan if isinstance(plan, pa.Table) else pa.Table.from_pylist(list(plan), schema=PLAN)
        plan = _with_retired(plan, np.zeros(len(plan), dtype=bool))
        old, retired = plan_table(self.path, spared=True, masked=False), 0
        if len(old):
            mine = set(grouped([plan[c] for c in CELL])[1])
            again = {_asked(cell) for cell in mine}
            group, names = grouped([old[c] for c in CELL])
            same = np.array([cell in mine for cell in names])[group]
            changed = np.array([cell not in mine and _asked(cell) in again for cell in names])[group]
            there = pc.is_in(old["episode"], plan["episode"].combine_chunks()).to_numpy()
            stays = ~there if keep else ~(there | same)
            waits = np.array([self.done.get(name, "machine") == "machine" for name in listed(old["episode"])])
            before = is_retired(old)
            now = stays & waits & ~before & ~is_spared(old) & (changed if keep else True)
            retired = int(now.sum())
            old = _with_retired(old, before | now).filter(pa.array(stays))
            plan = pa.concat_tables([old, plan]).unify_dictionaries()
        with disk_errors(self.path):
            write_table(self.path / "plan.parquet", plan.combine_chunks())
        self.planned = len(plan)
        return retired

    def stop_asked(self) -> bool:
        """Whether somebody has called `ask_to_stop` since this store was opened."""
        return (self.path / STOP).exists()

    def close(self) -> None:
        """Seals and releases. A journal that cannot be sealed loses nothing, so that is a warning, not an
        error: it must not hide the one that made the caller close."""
        if self._lock is None:
            return
        trouble = ""
        try:
            with disk_errors(self.path):
                self._seal()
        except ForetellError as error:
            trouble = f"the journal is not sealed, but complete; the next run seals it ({error})"
            self.problems.append(trouble)
        finally:
            self._release()
        if trouble and not self._failed:
            warnings.warn(trouble, stacklevel=2)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recover(self) -> None:
        """Takes stock of what earlier processes left. Their journals are sealed with ours, not here."""
        (self.path / STOP).unlink(missing_ok=True)  # meant for an earlier one
        for name in os.listdir(self.path / "episodes"):
            if name.endswith(".tmp"):  # never named as a part, so its rows are still in the journal
                (self.path / "episodes" / name).unlink()
        for path in parts(self.path):
            try:
                table = read_part(path)  # all of it: what is damaged anywhere has to be run again
            except DamagedError as damage:
                self._set_aside(path, damage, "its episodes are run again")
                continue
            self._earlier.append(table.select(TALLIED))
            self._take(table)
        for path in journals(self.path):
            lines = parse(read_file(path, JOURNAL), path)
            self._note(lines.rows)
            self._earlier.append(to_table(lines.rows).cast(encoded(arrow_schema())).select(TALLIED))
            self._pending += len(lines.rows)
            faults = list(lines.faults)
            if lines.torn:
                faults.append(f"the last line is incomplete ({lines.torn} bytes without an end)")
            self.problems += [f"{path}: {f}: it is ignored, and its episode is run again" for f in faults]

    def _take(self, table: pa.Table) -> None:
        """Notes the rows of a part."""
        names, blames, began = (listed(table["episode"]), *(cells(table[c]) for c in RANKED[1:]))
        if "machine" not in blames and len(set(names)) == len(names) and self._sealed.keys().isdisjoint(names):
            self.done.update(zip(names, blames, strict=True))  # as nearly always
            self._sealed.update(dict.fromkeys(names, rank(None, None)))
            return
        for name, blame, at in zip(names, blames, began, strict=True):
            if self.done.get(name, "machine") == "machine":
                self.done[name] = blame
            mine = rank(blame, at)
            if name not in self._sealed or mine > self._sealed[name]:
                self._sealed[name] = mine

    def _note(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            if self.done.get(row["episode"], "machine") == "machine":
                self.done[row["episode"]] = row["blame"]

    def _seal(self) -> None:
        """Journal files -> one part. Reads them back, so that nothing is deleted that was not sealed."""
        self._journal.close()
        files = journals(self.path)
        rows: dict[str, dict[str, Any]] = {}
        faulty = set()
        for path in files:
            lines = parse(read_file(path, JOURNAL), path)
            if lines.faults:
                faulty.add(path)
            for row in lines.rows:
                key = row["episode"]
                rival = rank_of(rows[key]) if key in rows else self._sealed.get(key, LOWEST)
                if rank_of(row) > rival:
                    rows[key] = row
        if rows:
            self._write_part(to_table(rows.values()))
            self._sealed.update((key, rank_of(row)) for key, row in rows.items())
        merge_parts(self.path)
        for path in files:
            if path in faulty:  # someone may yet make out what the line said
                path.rename(set_aside_as(path))
            else:
                path.unlink()
        sync_folder(self.path / "journal")
        self._pending = 0

    def _write_part(self, table: pa.Table) -> None:
        folder = self.path / "episodes"
        numbers = [int(m[1]) for name in os.listdir(folder) if (m := re.match(r"part-(\d+)", name))]
        write_table(folder / f"part-{max(numbers, default=-1) + 1:06d}.parquet", table)

    def _set_aside(self, path: Path, damage: DamagedError, follows: str) -> None:
        path.rename(aside := set_aside_as(path))
        sync_folder(path.parent)
        self.problems.append(f"{path}: damaged ({damage}): it is kept as {aside.name}, and {follows}")

    def _check_open(self) -> None:
        if self._lock is None:
            raise ForetellError(f"run {self.path.name} ({self.path}) is closed: open it again to write")

    def _release(self, unlock: bool = True) -> None:
        self._journal.close()
        fd, self._lock = self._lock, None
        if fd is not None:
            if unlock:
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, 0)
                    (self.path / STOP).unlink(missing_ok=True)
                fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)


def _with_retired(plan: pa.Table, retired: np.ndarray) -> pa.Table:
    """The plan, its rows marked so. What its cell does not need any more stays marked as that."""
    mark = retired.astype(np.int64)
    if "retired" in plan.column_names:
        mark = np.where(is_spared(plan), 2, mark)
        plan = plan.drop_columns("retired")
    if "until" not in plan.column_names:
        plan = plan.append_column("until", spread([""], np.zeros(len(plan), dtype=np.int64)))
    return plan.append_column("retired", spread(["", "yes", SPARED], mark)).select(PLAN.names)


def _asked(cell: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a cell that a study states, without versions of the files that it names."""
    return tuple(
        cell[CELL.index(c)] for c in ("world", "task", "controller", "policy", "policy_options", "clock", "arm")
    )


def _scenario_row(s: Scenario) -> dict[str, Any]:
    text = json.dumps(s.model_dump(mode="json"))
    return {"id": s.id, "base": s.base, "parent": s.parent, "task": s.task, "seed": s.seed, "json": text}


_OPEN: weakref.WeakSet[Store] = weakref.WeakSet()


def _disown() -> None:
    """A forked worker shares the lock: it would keep the run locked after its parent was killed, and an
    inherited `with` would seal the journal under its parent's feet."""
    for store in list(_OPEN):
        store._release(unlock=False)


os.register_at_fork(after_in_child=_disown)
