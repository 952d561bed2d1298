"""The Parquet files of a run folder: written whole or not at all, and read with suspicion."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foretell.episode import SCHEMA, arrow_schema
from foretell.episodes.columns import encoded, exceeds, plain_text
from foretell.episodes.journal import check_version, replace, sync_folder
from foretell.episodes.sound import CHECKED, unsound_table
from foretell.files import read_file, size

__all__ = [
    "DamagedError", "merge_parts", "parts", "read_parquet", "read_part", "read_table", "release", "set_aside_as",
    "write_table",
]  # fmt: skip

MEMORY = 300_000_000
"""Bytes that a file may take while it is read. A part of a run takes some MB."""
MERGE, SMALL = 20, 1 << 20
"""So many neighbouring parts of at most so many bytes become one: a file costs 10 ms to open and check."""
_VERSION = b"foretell.schema"

pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool keeps what was read: a large report took 50 MB more


class DamagedError(Exception):
    """The file's content is not what was written."""


def parts(run: Path) -> list[Path]:
    folder = run / "episodes"
    names = os.listdir(folder) if folder.is_dir() else []
    return sorted(folder / name for name in names if re.fullmatch(r"part-\d+\.parquet", name))


def set_aside_as(path: Path) -> Path:
    """A free name next to the file: what is damaged is kept, and never over what was kept before."""
    names = (path.with_name(f"{path.name}.damaged{n or ''}") for n in range(1_000_000))
    return next(name for name in names if not name.exists())


def read_parquet(
    path: Path, columns: Sequence[str] | None = None, *, encode: Sequence[str] = (), follow: bool = False
) -> pa.Table:
    """A whole Parquet file, or some of its columns, those in `encode` as dictionaries. The disk's own errors pass;
    whatever is wrong with the bytes is damage, and so is what takes more than `MEMORY` to read: a few bytes of Parquet
    can stand for terabytes, and what its footer says of that need not be true."""
    data = read_file(path, follow=follow)
    try:
        with _bounded(MEMORY):
            file = _opened(data, encode)
            about = file.metadata
            if sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups)) > MEMORY:
                raise MemoryError  # and if what it says is not true, the bound holds
            wanted = None if columns is None else list(columns)
            table = file.read(wanted, use_threads=False)  # small, and safe in a forked process
            table.validate(full=True)  # the header of a page has no checksum: a dictionary may have lost its end
            if exceeds(table, MEMORY):  # a name is there once, and somebody may write it out
                raise MemoryError
            return table
    except MemoryError:
        raise DamagedError(f"{len(data)} bytes; reading it takes more than {size(MEMORY)}") from None
    except Exception as error:  # Arrow says almost anything of random bytes
        raise DamagedError(f"{len(data)} bytes; {' '.join(str(error).split())[:200]}") from None


def _opened(data: bytes, encode: Sequence[str]) -> pq.ParquetFile:
    """The file, of which nothing but the footer has been read."""
    try:
        return pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True, read_dictionary=list(encode))
    except (pa.ArrowException, KeyError):  # Arrow minds a name that is not there
        about = pq.read_metadata(pa.BufferReader(data))
        there = {about.schema.column(i).path for i in range(about.num_columns)}
        return pq.ParquetFile(
            pa.BufferReader(data),
            metadata=about,
            page_checksum_verification=True,
            read_dictionary=[name for name in encode if name in there],
        )


_BOUND = threading.RLock()


@contextlib.contextmanager
def _bounded(most: int) -> Iterator[None]:
    """While this is open, the process gets no more than so many bytes of memory besides what it has. Arrow asks the
    system for them meanwhile: its own pool keeps a gigabyte in stock, which no bound would see. The bound is the
    process's, so other threads wait: two that overlap would take each other's bound for what was there before."""
    with _BOUND:
        yield from _alone_bounded(most)


def _alone_bounded(most: int) -> Iterator[None]:
    pool = pa.default_memory_pool()
    try:
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + most
        if before[0] != resource.RLIM_INFINITY:
            limit = min(limit, before[0])
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
        pa.set_memory_pool(pa.system_memory_pool())
    except (ImportError, OSError, ValueError):  # not a system that can tell, or that can bound
        yield
        return
    try:
        yield
    finally:
        pa.set_memory_pool(pool)
        resource.setrlimit(resource.RLIMIT_AS, before)


def release() -> None:
    """Give back to the system what was read and is no longer needed."""
    with contextlib.suppress(OSError, AttributeError):  # glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def read_table(path: Path, columns: Sequence[str] | None = None, encode: Sequence[str] = ()) -> pa.Table:
    """A Parquet file that foretell wrote, as `read_parquet`."""
    table = read_parquet(path, columns, encode=encode)
    try:
        version = int((table.schema.metadata or {}).get(_VERSION, SCHEMA))
    except ValueError:
        raise DamagedError("its version is not a number") from None
    check_version(version, path)
    return table.replace_schema_metadata(None)


@cache
def _schema() -> pa.Schema:
    return encoded(arrow_schema())


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A part, or some of its columns; text is in dictionaries (`columns.encoded`). Whatever is asked for, all that
    makes a row unsound is read: whether a part counts must not depend on who reads it."""
    schema = _schema()
    wanted = schema.names if columns is None else list(columns)
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in dict.fromkeys([*wanted, *CHECKED])])
    text = [f.name for f in schema if pa.types.is_dictionary(f.type)]
    table = read_table(path, None if columns is None else ["schema", *schema.names], text)
    there = set(names := table.column_names)
    if len(there) < len(names):
        raise DamagedError("it has a column twice")
    if "schema" in there and pa.types.is_integer(table["schema"].type):
        check_version(pc.max(table["schema"]).as_py() or SCHEMA, path)
    if "episode" not in there:
        raise DamagedError("it has no column 'episode'")
    for f in schema:
        if f.name not in there:  # a column that came after the part was written
            new = pa.array([""] * len(table), pa.string()) if f.name == "task_hash" else pa.nulls(len(table), f.type)
            table = table.append_column(f, new.cast(f.type))
    try:
        table = table.select(schema.names)
        # Arrow marks fields that it has read from Parquet; without the marks they are the same
        same = table.schema.equals(schema)
        table = pa.Table.from_arrays(table.columns, schema=schema) if same else table.cast(schema)
    except (pa.ArrowException, ValueError, IndexError) as error:
        raise DamagedError(" ".join(str(error).split())[:200]) from None
    if trouble := unsound_table(table):
        raise DamagedError(trouble)
    return table.select(wanted)


def merge_parts(run: Path) -> None:
    """Small parts, oldest first, become larger ones with the same rows in the same order.

    The new part replaces the last of its members, and the others are deleted after that. So every row is on disk at any
    moment, some of them twice, and readers keep one row per episode key. Damaged parts stay as they are.
    """
    group: list[Path] = []
    for path in parts(run):
        group = [*group, path] if path.stat().st_size <= SMALL else []
        if len(group) < MERGE:
            continue
        with contextlib.suppress(DamagedError):
            write_table(path, plain_text(pa.concat_tables(read_part(member) for member in group)).combine_chunks())
            for member in group[:-1]:
                member.unlink()
            sync_folder(path.parent)
        group = []


def write_table(path: Path, table: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    marked = table.replace_schema_metadata({_VERSION: str(SCHEMA)})
    pq.write_table(marked, sink, compression="zstd", write_page_checksum=True)

    def verify(temp: Path) -> None:
        try:
            again = read_table(temp)
        except DamagedError as damage:
            raise OSError(errno.EIO, f"{path.name} does not read back as written: {damage}") from None
        if again.num_rows != table.num_rows or not again.schema.equals(table.schema):
            raise OSError(errno.EIO, f"{path.name} does not read back as written: {again.num_rows} rows")

    replace(path, sink.getvalue(), verify)
