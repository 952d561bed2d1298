"""The Parquet files of a run folder: written whole or not at all, and read with suspicion."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foretell.episode import SCHEMA, arrow_schema
from foretell.study.journal import check_version, replace

__all__ = ["DamagedError", "parts", "read_part", "read_table", "set_aside_as", "write_table"]

_VERSION = b"foretell.schema"


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


def read_table(path: Path) -> pa.Table:
    """A whole Parquet file. The disk's own errors pass; whatever is wrong with the bytes is damage."""
    data = path.read_bytes()
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        table = file.read(use_threads=False)  # small, and safe in a forked process
        version = int((table.schema.metadata or {}).get(_VERSION, SCHEMA))
    except MemoryError:
        raise
    except Exception as error:  # Arrow says almost anything of random bytes
        raise DamagedError(f"{len(data)} bytes; {' '.join(str(error).split())[:200]}") from None
    check_version(version, path)
    return table.replace_schema_metadata(None)


def read_part(path: Path) -> pa.Table:
    table = read_table(path)
    if "schema" in table.column_names:
        check_version(pc.max(table["schema"]).as_py() or SCHEMA, path)
    if "episode" not in table.column_names:
        raise DamagedError("it has no column 'episode'")
    for f in arrow_schema():
        if f.name not in table.column_names:  # a column that came after the part was written
            new = pa.array([""] * len(table)) if f.name == "task_hash" else pa.nulls(len(table), f.type)
            table = table.append_column(f, new)
    try:
        return table.select(arrow_schema().names).cast(arrow_schema())
    except (pa.ArrowException, ValueError) as error:
        raise DamagedError(str(error)) from None


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
