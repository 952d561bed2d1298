"""The store of a run folder: what is finished stays finished, whatever happens to the process or the disk.

    study.yaml  scenarios.parquet  drawn.parquet  plan.parquet  provenance.json  lock
    journal/  episodes/part-*.parquet  videos/

An episode first becomes a line of the journal. Every `SEAL` rows, and at close, the journal is sealed: its
rows go to a new part, and only when that part is named on disk are the journal files deleted. At any moment
each finished row is in the journal, in a part, or in both; readers keep one row per episode key.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import warnings
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from foretell.episode import Episode, arrow_schema
from foretell.errors import ForetellError, UsageError
from foretell.files import read_file, size
from foretell.scenario import Scenario
from foretell.study.columns import cells, encoded, grouped, ordered, plain_text, spread, written_out
from foretell.study.journal import (
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
from foretell.study.lock import STOP, lock
from foretell.study.parts import (
    DamagedError,
    parts,
    read_parquet,
    read_part,
    read_table,
    release,
    set_aside_as,
    write_table,
)
from foretell.study.running import CELL, COLUMNS, PLAN, is_retired
from foretell.study.trace import read_trace, trace_text

__all__ = [
    "SEAL", "Store", "check_folders", "each_scenario", "plan_table", "planned_rows", "read", "read_columns",
    "read_plan", "read_scenarios",
]  # fmt: skip

FOLDERS = ("journal", "episodes", "videos", "events", "errors", "latency", "steps")
FAULTS = 5
"""Lines that are no episodes, of a journal, that are told one by one."""
JOURNAL = 256 << 20
"""Bytes of a journal file, at most: it has a thousand rows."""
MEMORY, RATIO = 500_000_000, 40
"""A run may take so many bytes, besides so many times its files: more is no run, but made to fill the memory."""
SEAL = 1000
"""Rows at which the journal becomes a part."""

_ORDER = ("world", "task", "policy", "clock", "arm", "scenario", "trial", "episode")
_TEXT = pa.string()
_SCENARIOS = pa.schema({"id": _TEXT, "base": _TEXT, "parent": _TEXT, "task": _TEXT, "seed": pa.int64(), "json": _TEXT})


class Store:
    """A run folder, open for writing by one process at a time. Not for several threads at once."""

    path: Path
    done: dict[str, str | None]
    """Episode key -> blame, of the rows on disk. Those blamed on the machine are worth another try."""
    problems: list[str]
    """Damage found, one plain sentence each: the file, and what follows."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.done, self.problems = {}, []
        self._sealed: dict[str, tuple[bool, float]] = {}  # key -> rank, of the rows in parts
        self._found: list[pa.Table] = []  # rows that were there, until `earlier` gives them away
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
        tables, self._found = self._found, []
        if not self.done:
            return None
        found = _together(tables)
        del tables
        release()
        return found.select(COLUMNS)

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

    def write_latencies(self, traces: Mapping[str, Sequence[float]]) -> None:
        """Traces that were measured for this study, each whole in a file of its name. One that another process has
        written meanwhile stands: rows name the trace that they were run with."""
        self._check_open()
        folder = self.path / "latency"
        for name, trace in traces.items():
            if read_trace(folder / name) not in (None, list(trace)):
                raise ForetellError(
                    f"{folder / name}: another process has measured this latency meanwhile; re-issue the same command "
                    "to go on with it"
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
            self._known = set(_read_scenarios(self.path / "scenarios.parquet")["id"].to_pylist())
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
                table = _read_scenarios(path)
            except DamagedError as damage:
                self._set_aside(path, damage, "the scenarios of this study are written anew")
                table = _SCENARIOS.empty_table()
            self._known = set(table["id"].to_pylist())
            new = {name: s for name, s in new.items() if name not in self._known}
            if new or not path.exists():
                added = pa.Table.from_pylist([_scenario_row(s) for s in new.values()], schema=_SCENARIOS)
                write_table(path, pa.concat_tables([table, added]))
            self._known.update(new)

    def write_plan(self, plan: pa.Table | Sequence[Mapping[str, str]], *, keep: bool = True) -> int:
        """Every episode to be, in order, with the columns `CELL`, `unit` and `episode`. What is there already stays
        where `keep` says so; else, and where a cell is there again with other weights, sources or θ, what has not run
        yet is retired: it stays in the plan, marked. Gives the number of episodes that this call retires."""
        self._check_open()
        plan = plan if isinstance(plan, pa.Table) else pa.Table.from_pylist(list(plan), schema=PLAN)
        plan = _with_retired(plan, np.zeros(len(plan), dtype=bool))
        old, retired = plan_table(self.path), 0
        if len(old):
            mine = set(grouped([plan[c] for c in CELL])[1])
            again = {_asked(cell) for cell in mine}
            group, names = grouped([old[c] for c in CELL])
            same = np.array([cell in mine for cell in names])[group]
            changed = np.array([cell not in mine and _asked(cell) in again for cell in names])[group]
            there = pc.is_in(old["episode"], plan["episode"].combine_chunks()).to_numpy()
            stays = ~there if keep else ~(there | same)
            waits = np.array([self.done.get(name, "machine") == "machine" for name in cells(old["episode"])])
            before = is_retired(old)
            now = stays & waits & ~before & (changed if keep else True)
            retired = int(now.sum())
            old = _with_retired(old, before | now).filter(pa.array(stays))
            plan = pa.concat_tables([old, plan]).unify_dictionaries()
        with disk_errors(self.path):
            write_table(self.path / "plan.parquet", plan.combine_chunks())
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
            self._found.append(table.select(_TALLIED))
            names, blames, began = (cells(table[c]) for c in _RANKED)
            for name, blame, at in zip(names, blames, began, strict=True):
                if self.done.get(name, "machine") == "machine":
                    self.done[name] = blame
                rank = _rank(blame, at)
                if name not in self._sealed or rank > self._sealed[name]:
                    self._sealed[name] = rank
        for path in journals(self.path):
            found = parse(read_file(path, JOURNAL), path)
            self._note(found.rows)
            self._found.append(to_table(found.rows).cast(encoded(arrow_schema())).select(_TALLIED))
            self._pending += len(found.rows)
            faults = list(found.faults)
            if found.torn:
                faults.append(f"the last line is torn ({found.torn} bytes without an end)")
            self.problems += [f"{path}: {f}: it is ignored, and its episode is run again" for f in faults]

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
            found = parse(read_file(path, JOURNAL), path)
            if found.faults:
                faulty.add(path)
            for row in found.rows:
                key = row["episode"]
                rival = _rank_of(rows[key]) if key in rows else self._sealed.get(key, _LOWEST)
                if _rank_of(row) > rival:
                    rows[key] = row
        if rows:
            folder = self.path / "episodes"
            numbers = [int(m[1]) for name in os.listdir(folder) if (m := re.match(r"part-(\d+)", name))]
            write_table(folder / f"part-{max(numbers, default=-1) + 1:06d}.parquet", to_table(rows.values()))
            self._sealed.update((key, _rank_of(row)) for key, row in rows.items())
        for path in files:
            if path in faulty:  # someone may yet make out what the line said
                path.rename(set_aside_as(path))
            else:
                path.unlink()
        sync_folder(self.path / "journal")
        self._pending = 0

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


def read(run: Path | str) -> pa.Table:
    """The run's episodes, one row per key, in an order that does not depend on who finished first.

    Takes no lock and writes nothing; the run may be written meanwhile. Of several rows of one key, one blamed
    on the machine gives way. Damage is a UserWarning naming the file; a run of which nothing can be read raises
    UsageError.
    """
    return plain_text(read_columns(run)).combine_chunks()


def read_columns(run: Path | str, columns: Sequence[str] | None = None) -> pa.Table:
    """As `read`, some columns only, with their text in dictionaries. A large run takes a tenth of the memory so."""
    run = _check_run(run)
    wanted = None if columns is None else list(dict.fromkeys([*columns, *_RANKED, *_ORDER]))
    rows: list[dict[str, Any]] = []
    damaged: list[Path] = []
    # Journal first: a journal file that vanishes before we open it was sealed, and its part was named before
    # the file was deleted, so the listing of parts below has it. The other way round, rows could be missed.
    for path in journals(run):
        try:
            found = parse(read_file(path, JOURNAL), path)
        except FileNotFoundError:
            continue
        except OSError as error:
            warnings.warn(f"{path} cannot be read ({error.strerror}): it is ignored", stacklevel=2)
            damaged.append(path)
            continue
        damaged += [path] * bool(found.faults)
        rows += found.rows  # a torn end is no damage here: it may be just being written
        for fault in found.faults[:FAULTS]:
            warnings.warn(f"{path}: {fault}: it is ignored; run the study again", stacklevel=2)
        if len(found.faults) > FAULTS:
            warnings.warn(f"{path}: {len(found.faults) - FAULTS} lines more are no episodes either", stacklevel=2)
    tables: list[pa.Table] = []
    room = MEMORY
    for path in parts(run):
        try:
            table = read_part(path, wanted)
            room += RATIO * path.stat().st_size - written_out(table)
            if room < 0:
                raise UsageError(f"{run}: its rows take more than {size(MEMORY)} besides {RATIO} times their files")
            tables.append(table)
        except (DamagedError, OSError) as damage:  # not found: a writer has just set it aside
            warnings.warn(
                f"{path} is damaged ({damage}); how many rows are missing is unknown. The other parts are "
                "read; run the study again to fill the gap",
                stacklevel=2,
            )
            damaged += [path] * path.exists()
    if damaged and not rows and not any(len(table) for table in tables):
        raise UsageError(f"{run} is damaged: no episode in it can be read; run its study again to make them anew")
    schema = tables[0].schema if tables else encoded(arrow_schema())
    tail = to_table(rows).cast(encoded(arrow_schema())).select(schema.names if wanted is None else wanted)
    found = _together([*tables, tail])
    del tables, tail
    release()  # what was read is twice as large as what is kept
    found = _filmed(run, found) if "video" in found.column_names else found
    return found if columns is None else found.select(list(columns))


def read_scenarios(run: Path | str, ids: Collection[str] | None = None) -> list[Scenario]:
    """The run's scenarios, or those of these ids, in the order in which they were stored."""
    return list(each_scenario(run, ids))


def each_scenario(run: Path | str, ids: Collection[str] | None = None) -> Iterator[Scenario]:
    """As `read_scenarios`, one by one."""
    path = _check_run(run) / "scenarios.parquet"
    try:
        table = _read_scenarios(path)
        if ids is not None:
            table = table.filter(pc.is_in(table["id"], pa.array(list(ids), pa.string())))
        for text in table["json"].to_pylist():
            scenario = Scenario.model_validate_json(text)
            _ = scenario.id  # what cannot be named cannot be used
            yield scenario
        return
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        damage = f"{where}: {first['msg']}"
    except (DamagedError, ValueError) as error:
        damage = str(error)
    except OSError as error:
        damage = str(error.strerror)
    raise UsageError(f"{path} is damaged ({damage[:200]}): run the study again to write it anew")


def planned_rows(run: Path | str, scenarios: pa.ChunkedArray) -> np.ndarray:
    """Rows, of which these are the scenarios, in the order planned, which for imported trials is the order tried: bets
    see trials one by one. Scenarios that the run does not list come last."""
    try:
        ids = read_parquet(Path(run) / "scenarios.parquet", ["id"])["id"].cast(_TEXT).combine_chunks()
    except (DamagedError, OSError, LookupError, pa.ArrowException):
        ids = pa.array([], _TEXT)
    place = pc.index_in(scenarios, value_set=ids).fill_null(len(ids))
    return np.argsort(place.to_numpy(), kind="stable")


def read_plan(run: Path | str) -> list[dict[str, str]]:
    """What was planned, in order; empty where nothing was, or where it cannot be read: a plan only tells how far
    things are."""
    found: list[dict[str, str]] = plan_table(run).to_pylist()
    return found


def plan_table(run: Path | str) -> pa.Table:
    """What was planned, as `read_plan`, as a table."""
    try:
        table = read_table(Path(run) / "plan.parquet", encode=(*CELL, "retired"))
        for f in PLAN:
            if f.name not in table.column_names:  # a plan may be older than a column
                table = table.append_column(f, pa.array([""] * len(table), pa.string()).cast(f.type))
        table = table.select(PLAN.names).cast(PLAN)
        return PLAN.empty_table() if any(column.null_count for column in table.columns) else table
    except (OSError, DamagedError, KeyError, ValueError, UsageError, pa.ArrowException):
        return PLAN.empty_table()


def _with_retired(plan: pa.Table, retired: np.ndarray) -> pa.Table:
    """The plan, its rows marked so."""
    column = spread(["", "yes"], retired.astype(np.int64))
    if "retired" in plan.column_names:
        plan = plan.drop_columns("retired")
    return plan.append_column("retired", column).select(PLAN.names)


def _asked(cell: tuple[str, ...]) -> tuple[str, ...]:
    """What a study says of a cell, without what is in the files that it names."""
    return tuple(cell[CELL.index(c)] for c in ("world", "task", "policy", "policy_options", "clock", "arm"))


def _check_run(run: Path | str) -> Path:
    run = Path(run)
    if not run.is_dir():
        raise UsageError(f"{run} is not a run folder: {'it is a file' if run.exists() else 'there is no such folder'}")
    if not any((run / name).exists() for name in ("study.yaml", "journal", "episodes")):
        raise UsageError(f"{run} is not a run folder: it has no study.yaml, journal/ or episodes/")
    check_folders(run)
    return run


def check_folders(run: Path) -> None:
    """Raises UsageError where a folder of a run is a link: in a run of someone else's it could lead anywhere."""
    for name in FOLDERS:
        path = run / name
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            what = "a link" if path.is_symlink() else "no folder"
            raise UsageError(f"run {run.name} ({run}): {name} is {what}: put the folder itself there")


_RANKED = ["episode", "blame", "wall_started"]
_TALLIED = list(dict.fromkeys([*COLUMNS, *_RANKED, *_ORDER]))
_LOWEST = (False, float("-inf"))
_COUNTS = (True, 0.0)


def _rank(blame: str | None, began: float | None) -> tuple[bool, float]:
    """Which of several rows of one key counts: one not blamed on the machine; else the latest try."""
    return (False, began or 0.0) if blame == "machine" else _COUNTS


def _rank_of(row: Mapping[str, Any]) -> tuple[bool, float]:
    return _rank(row["blame"], row["wall_started"])


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """Parts and journals as one table: of each key the row that counts, in an order that depends on nobody's pace."""
    table = pa.concat_tables(tables).unify_dictionaries()
    if pc.count_distinct(table["episode"], mode="all").as_py() < len(table):
        best: dict[str, tuple[tuple[bool, float], int]] = {}
        for i, (name, *ranked) in enumerate(zip(*(cells(table[c]) for c in _RANKED), strict=True)):
            rank = _rank(*ranked)
            if name not in best or rank > best[name][0]:
                best[name] = (rank, i)
        table = table.take(pa.array(sorted(i for _, i in best.values()), pa.int64()))
    return ordered(table, _ORDER)


def _filmed(run: Path, table: pa.Table) -> pa.Table:
    """Films made after their episodes ended are found by name: `videos/WORDS-EPISODE.mp4`."""
    try:
        names = [name for name in os.listdir(run / "videos") if name.endswith(".mp4") and ".part." not in name]
    except OSError:
        return table
    if not names:
        return table
    there = {name[:-4].rpartition("-")[2]: f"videos/{name}" for name in sorted(names)}
    at = table.schema.get_field_index("video")
    columns = zip(cells(table["episode"]), cells(table["video"]), strict=True)
    films = pa.array([v or there.get(e) for e, v in columns], pa.string())
    return table.set_column(at, table.schema.field(at), films.cast(table.schema.field(at).type))


def _read_scenarios(path: Path) -> pa.Table:
    table = read_table(path) if path.exists() else _SCENARIOS.empty_table()
    if not table.schema.equals(_SCENARIOS):
        raise DamagedError(f"its columns are {', '.join(table.column_names)}")
    return table


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
