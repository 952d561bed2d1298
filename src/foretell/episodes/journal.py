"""The journal: one JSON line per finished episode, on disk before anyone is told that it is finished.

A line counts once its newline is there. It is valid JSON and plain ASCII whatever the row holds: floats that
JSON cannot write are the strings "nan", "inf" and "-inf" there, and come back as the same floats. Its first field is
a checksum of the rest, `{"crc":"89abcdef",...}`: a flipped bit is found out. Lines of older versions have none.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import operator
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from foretell.document import load_json
from foretell.episode import LATER, SCHEMA, arrow_schema, columns
from foretell.episodes.sound import unsound
from foretell.errors import ForetellError, UsageError
from foretell.files import create

__all__ = [
    "Journal",
    "JournalLines",
    "check_version",
    "disk_errors",
    "encode",
    "journals",
    "parse",
    "plain",
    "replace",
    "sync_folder",
    "to_table",
]

_CRC = b'{"crc":"'
_COLUMNS = {f.name: (str(f.type), None if f.default is MISSING else f.default) for f in columns()}


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row in the types of `arrow_schema`, so that what enters the journal can always be sealed.

    Raises ValueError naming the column.
    """
    checked = {}
    for name, (kind, default) in _COLUMNS.items():
        try:
            checked[name] = _cast(row.get(name, default), kind)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ValueError(f"column {name!r}: {error}") from None
    return checked


def _cast(value: Any, kind: str) -> Any:
    if kind.startswith("dict"):
        items = (value or {}).items()
        return {_cast(k, "str"): math.nan if v is None else float(v) for k, v in items}
    if value is None:
        if kind.endswith("None"):
            return None
        raise TypeError(f"expected {kind}, got nothing")
    if kind.startswith("float"):
        return float(value)
    if kind == "int":
        number = operator.index(value)
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{number} does not fit 64 bits")
        return int(number)
    if kind.startswith("bool") and isinstance(value, bool | np.bool_):
        return bool(value)
    if kind.startswith("str") and isinstance(value, str):
        # Lone surrogates come with file names that are not UTF-8; neither Arrow nor Parquet can hold them.
        return value.encode("utf-8", "backslashreplace").decode()
    raise TypeError(f"expected {kind}, got {type(value).__name__} {value!r:.80}")


def encode(row: Mapping[str, Any]) -> bytes:
    """One plain row as one line, newline included."""
    body = json.dumps(_finite(row), separators=(",", ":"), allow_nan=False).encode("ascii")
    return b'%s%08x",%s\n' % (_CRC, zlib.crc32(body), body[1:])


def _body(line: bytes) -> bytes:
    """A line without its checksum. Raises ValueError if the two do not fit."""
    if not line.startswith(_CRC):
        return line
    body = b"{" + line[len(_CRC) + 10 :]
    if line[len(_CRC) : len(_CRC) + 10] != b'%08x",' % zlib.crc32(body):
        raise ValueError("its checksum does not fit: a bit was flipped")
    return body


def _check_columns(row: dict[str, Any]) -> None:
    """Every column, and no other: where one is missing or unknown, a bit of its name was flipped. Rows of an older
    schema may lack some, and older rows of this one lack those in `LATER`."""
    of_now = row.get("schema", SCHEMA) == SCHEMA
    missing = [name for name in _COLUMNS if name not in row and name not in LATER] if of_now else []
    unknown = [name for name in row if name not in _COLUMNS]
    if missing or unknown:
        raise ValueError(f"column {missing[0]!r} is missing" if missing else f"column {unknown[0]!r} is not known")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


class JournalLines(NamedTuple):
    """What a journal file holds."""

    rows: list[dict[str, Any]]
    faults: list[str]
    """Complete lines that are not episodes: number and reason."""
    torn: int
    """Bytes after the last newline: an episode that was being written, or still is."""


def parse(data: bytes, where: Path) -> JournalLines:
    """The rows of a journal file. Raises UsageError if any is of a newer schema, rather than guess at it."""
    *lines, tail = data.split(b"\n")
    rows, faults = [], []
    for number, line in enumerate(lines, 1):
        try:
            row = load_json(_body(line))
            if not isinstance(row, dict):
                raise ValueError("not a JSON object")
            version = row.get("schema")
            if isinstance(version, int):
                check_version(version, where)
            _check_columns(row)
            values = plain(row)
            if trouble := unsound(values):
                raise ValueError(trouble)
            rows.append(values)
        except ValueError as error:
            faults.append(f"line {number} is not an episode ({str(error)[:200]})")
    return JournalLines(rows, faults, len(tail))


def check_version(version: int, where: Path | str) -> None:
    if version > SCHEMA:
        raise UsageError(
            f"{where}: episode rows of schema {version}; this foretell reads up to {SCHEMA}: upgrade foretell"
        )


def to_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Plain rows as an Arrow table."""
    # Arrow takes a map as pairs.
    pairs = [{k: list(v.items()) if isinstance(v, dict) else v for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist(pairs, schema=arrow_schema())


def journals(run: Path) -> list[Path]:
    """The run's journal files, oldest first."""
    folder = run / "journal"
    if not folder.is_dir():
        return []
    return sorted(folder / name for name in os.listdir(folder) if name.endswith(".jsonl"))


class Journal:
    """Appends to a file of its own, made at the first write. A file left by another process is never appended
    to, for its last line may be torn; and sealing deletes whole files, so it starts a new one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd: int | None = None
        self._end = 0

    def write(self, lines: bytes) -> None:
        """Returns when the lines are on disk. On failure whole lines stay, and a partial one is cut off."""
        fd = self._open() if self._fd is None else self._fd
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.fsync(fd)
        except BaseException:  # an interrupt too may leave half a line
            with contextlib.suppress(OSError):
                written = os.fstat(fd).st_size - self._end
                os.ftruncate(fd, self._end + lines[:written].rfind(b"\n") + 1)
            self.close()  # if that failed, the next line must not be glued to half a line
            raise
        self._end += len(lines)

    def _open(self) -> int:
        numbers = [int(n) for name in os.listdir(self._folder) if (n := name.partition("-")[0]).isdecimal()]
        name = f"{max(numbers, default=-1) + 1:06d}-{os.getpid()}.jsonl"
        self._fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        self._end = 0
        sync_folder(self._folder)
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):  # all that counts was fsync'd
                os.close(fd)


def replace(path: Path, data: bytes | pa.Buffer, verify: Callable[[Path], None] | None = None) -> None:
    """Writes a file that has either its old content or all of the new, even after a power cut."""
    temp = path.with_name(f".{path.name}.tmp")
    try:
        with open(create(temp), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if verify is not None:
            verify(temp)
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temp.unlink(missing_ok=True)  # on a full disk its space is wanted back
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes the folder's entries durable: a file fsync'd but not named on disk is lost with the power."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # the folder above the run may be someone else's
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(fd)


@contextlib.contextmanager
def disk_errors(run: Path, opening: bool = False) -> Iterator[None]:
    """Turns the disk's errors into ones that say what is kept and what to do."""
    try:
        yield
    except OSError as error:
        where = f"run {run.name} ({run})"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            free = "an unknown number of"
            with contextlib.suppress(OSError):
                free = f"{shutil.disk_usage(run).free:,}"
            raise ForetellError(
                f"{where} cannot be written: {os.strerror(error.errno)}; {free} bytes are free there. "
                "All episodes appended before are kept: free some space and run the same command to resume"
            ) from error
        if opening:
            raise UsageError(f"{where} cannot be opened for writing: {error}") from error
        raise ForetellError(
            f"{where} cannot be written: {error}. All episodes appended before are kept: check the disk and "
            "run the same command again"
        ) from error
