"""The store of a run folder: what is finished stays finished, whatever happens to the process or the disk.

    study.yaml  scenarios.parquet  plan.parquet  provenance.json  lock  journal/  episodes/part-*.parquet  videos/

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
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from foretell.episode import Episode
from foretell.errors import ForetellError, UsageError
from foretell.files import read_file, size
from foretell.scenario import Scenario
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
from foretell.study.parts import DamagedError, parts, read_part, read_table, set_aside_as, write_table
from foretell.study.running import CELL

__all__ = ["SEAL", "Store", "read", "read_plan", "read_scenarios"]

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
_CODED = pa.dictionary(pa.int32(), _TEXT)
_PLAN = pa.schema([(name, _CODED) for name in (*CELL, "retired")] + [("unit", _TEXT), ("episode", _TEXT)])
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
        self._pending = 0  # lines in the journal
        self._failed = False
        self._journal = Journal(self.path / "journal")
        with disk_errors(self.path, opening=True):
            for name in ("journal", "episodes", "videos", "events", "latency"):
                if (self.path / name).is_symlink():  # a folder of someone else's could lead anywhere
                    raise UsageError(
                        f"run {self.path.name} ({self.path}): {name} is a link: put the folder itself there"
                    )
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

    def write_provenance(self, info: dict[str, Any]) -> None:
        """Versions, commit, machine, seeds."""
        self._check_open()
        text = json.dumps(info, indent=2, default=str, ensure_ascii=False)
        with disk_errors(self.path):
            replace(self.path / "provenance.json", text.encode("utf-8", "backslashreplace") + b"\n")

    def write_scenarios(self, scenarios: Iterable[Scenario]) -> None:
        """Adds those not yet there, by id; the order of those already there stays."""
        self._check_open()
        path = self.path / "scenarios.parquet"
        with disk_errors(self.path):
            try:
                table = _read_scenarios(path)
            except DamagedError as damage:
                self._set_aside(path, damage, "the scenarios of this study are written anew")
                table = _SCENARIOS.empty_table()
            known = set(table["id"].to_pylist())
            new = {s.id: s for s in scenarios if s.id not in known}
            if new or not path.exists():
                added = pa.Table.from_pylist([_scenario_row(s) for s in new.values()], schema=_SCENARIOS)
                write_table(path, pa.concat_tables([table, added]))

    def write_plan(self, plan: Sequence[dict[str, str]], *, keep: bool = True) -> int:
        """Every episode to be, in order, with the columns `CELL`, `unit` and `episode`. What is there already stays
        where `keep` says so; else, and where a cell is there again with other weights, sources or θ, what has not run
        yet is retired: it stays in the plan, marked. Gives the number of episodes that this call retires."""
        self._check_open()
        known, cells = {entry["episode"] for entry in plan}, {_cell(entry) for entry in plan}
        again = {_asked(entry) for entry in plan}
        others, retired = [], 0
        for entry in read_plan(self.path):
            if entry["episode"] in known or (not keep and _cell(entry) in cells):
                continue
            waits = self.done.get(entry["episode"], "machine") == "machine"
            if waits and not entry["retired"] and (not keep or (_asked(entry) in again and _cell(entry) not in cells)):
                entry["retired"] = "yes"
                retired += 1
            others.append(entry)
        fresh = [{"retired": "", **entry} for entry in plan]
        with disk_errors(self.path):
            write_table(self.path / "plan.parquet", pa.Table.from_pylist([*others, *fresh], schema=_PLAN))
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
                table = read_part(path)
            except DamagedError as damage:
                self._set_aside(path, damage, "its episodes are run again")
                continue
            rows = table.select(_RANKED).to_pylist()
            self._note(rows)
            for row in rows:
                self._sealed[row["episode"]] = max(_rank(row), self._sealed.get(row["episode"], _LOWEST))
        for path in journals(self.path):
            found = parse(read_file(path, JOURNAL), path)
            self._note(found.rows)
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
                rival = _rank(rows[key]) if key in rows else self._sealed.get(key, _LOWEST)
                if _rank(row) > rival:
                    rows[key] = row
        if rows:
            folder = self.path / "episodes"
            numbers = [int(m[1]) for name in os.listdir(folder) if (m := re.match(r"part-(\d+)", name))]
            write_table(folder / f"part-{max(numbers, default=-1) + 1:06d}.parquet", to_table(rows.values()))
            self._sealed.update((key, _rank(row)) for key, row in rows.items())
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
    on the machine gives way. Damage is a UserWarning naming the file.
    """
    run = _check_run(run)
    rows: list[dict[str, Any]] = []
    # Journal first: a journal file that vanishes before we open it was sealed, and its part was named before
    # the file was deleted, so the listing of parts below has it. The other way round, rows could be missed.
    for path in journals(run):
        try:
            found = parse(read_file(path, JOURNAL), path)
        except FileNotFoundError:
            continue
        except OSError as error:
            warnings.warn(f"{path} cannot be read ({error.strerror}): it is ignored", stacklevel=2)
            continue
        rows += found.rows  # a torn end is no damage here: it may be just being written
        for fault in found.faults[:FAULTS]:
            warnings.warn(f"{path}: {fault}: it is ignored; run the study again", stacklevel=2)
        if len(found.faults) > FAULTS:
            warnings.warn(f"{path}: {len(found.faults) - FAULTS} lines more are no episodes either", stacklevel=2)
    tables: list[pa.Table] = []
    room = MEMORY
    for path in parts(run):
        try:
            table = read_part(path)
            room += RATIO * path.stat().st_size - table.nbytes
            if room < 0:
                raise UsageError(f"{run}: its rows take more than {size(MEMORY)} besides {RATIO} times their files")
            tables.append(table)
        except (DamagedError, OSError) as damage:  # not found: a writer has just set it aside
            warnings.warn(
                f"{path} is damaged ({damage}); how many rows are missing is unknown. The other parts are "
                "read; run the study again to fill the gap",
                stacklevel=2,
            )
    return _filmed(run, _merge(pa.concat_tables([*tables, to_table(rows)])))


def read_scenarios(run: Path | str) -> list[Scenario]:
    """The run's scenarios, in the order in which they were stored."""
    path = _check_run(run) / "scenarios.parquet"
    try:
        found = [Scenario.model_validate_json(text) for text in _read_scenarios(path)["json"].to_pylist()]
        for scenario in found:
            _ = scenario.id  # what cannot be named cannot be used
        return found
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        damage = f"{where}: {first['msg']}"
    except (DamagedError, ValueError) as error:
        damage = str(error)
    except OSError as error:
        damage = str(error.strerror)
    raise UsageError(f"{path} is damaged ({damage[:200]}): run the study again to write it anew")


def read_plan(run: Path | str) -> list[dict[str, str]]:
    """What was planned, in order; empty where nothing was, or where it cannot be read: a plan only tells how far
    things are."""
    try:
        table = read_table(Path(run) / "plan.parquet")
        blank = dict.fromkeys(_PLAN.names, "")  # a plan may be older than a column
        table = table.select([name for name in _PLAN.names if name in table.column_names])
        return [blank | entry for entry in table.to_pylist()]
    except (OSError, DamagedError, KeyError, ValueError, UsageError):
        return []


def _cell(entry: dict[str, str]) -> tuple[str, ...]:
    return tuple(entry[column] for column in CELL)


def _asked(entry: dict[str, str]) -> tuple[str, ...]:
    """What a study says of a cell, without what is in the files that it names."""
    return tuple(entry[c] for c in ("world", "task", "policy", "policy_options", "clock", "arm"))


def _check_run(run: Path | str) -> Path:
    run = Path(run)
    if not run.is_dir():
        raise UsageError(f"{run} is not a run folder: {'it is a file' if run.exists() else 'there is no such folder'}")
    if not any((run / name).exists() for name in ("study.yaml", "journal", "episodes")):
        raise UsageError(f"{run} is not a run folder: it has no study.yaml, journal/ or episodes/")
    return run


_RANKED = ["episode", "blame", "wall_started"]
_LOWEST = (False, float("-inf"))


def _rank(row: dict[str, Any]) -> tuple[bool, float]:
    """Which of several rows of one key counts: one not blamed on the machine; else the latest try."""
    return (False, row["wall_started"] or 0.0) if row["blame"] == "machine" else (True, 0.0)


def _merge(table: pa.Table) -> pa.Table:
    best: dict[str, tuple[tuple[bool, float], int]] = {}
    columns = table.select(_RANKED).to_pylist()
    for i, row in enumerate(columns):
        rank = _rank(row)
        if row["episode"] not in best or rank > best[row["episode"]][0]:
            best[row["episode"]] = (rank, i)
    if len(best) < len(columns):
        table = table.take(pa.array(sorted(i for _, i in best.values()), pa.int64()))
    return table.combine_chunks().sort_by([(name, "ascending") for name in _ORDER])


def _filmed(run: Path, table: pa.Table) -> pa.Table:
    """Films made after their episodes ended are found by name: `videos/WORDS-EPISODE.mp4`."""
    try:
        names = [name for name in os.listdir(run / "videos") if name.endswith(".mp4") and ".part." not in name]
    except OSError:
        return table
    if not names:
        return table
    there = {name[:-4].rpartition("-")[2]: f"videos/{name}" for name in sorted(names)}
    columns = zip(table["episode"].to_pylist(), table["video"].to_pylist(), strict=True)
    at = table.schema.get_field_index("video")
    return table.set_column(at, table.schema.field(at), pa.array([v or there.get(e) for e, v in columns], pa.string()))


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
