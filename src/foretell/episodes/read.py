"""Reads the episodes of a run folder, whoever writes to it meanwhile, and whatever of it is damaged."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foretell.episode import arrow_schema
from foretell.episodes.blind import mask_of
from foretell.episodes.columns import cells, encoded, ordered, plain_text, written_out
from foretell.episodes.fitted import marked
from foretell.episodes.folder import check_run
from foretell.episodes.journal import journals, parse, to_table
from foretell.episodes.parts import DamagedError, parts, read_part, release
from foretell.episodes.verdicts import NEEDED, corrected, has_corrections
from foretell.errors import UsageError
from foretell.files import read_file, size

__all__ = ["JOURNAL", "LOWEST", "ORDER", "RANKED", "rank", "rank_of", "read", "read_columns", "together"]

FAULTS = 5
"""Lines that are no episodes, of a journal, that are told one by one."""
JOURNAL = 256 << 20
"""Bytes of a journal file, at most: it has a thousand rows."""
MEMORY, RATIO = 500_000_000, 40
"""A run may take so many bytes, besides so many times its files: more is no run, but made to fill the memory."""
AGAIN = 10
"""Times that the parts are listed again because one of them vanished."""
ORDER = ("world", "task", "policy", "clock", "arm", "scenario", "trial", "episode")
"""Columns by which rows are sorted."""
RANKED = ["episode", "blame", "wall_started"]
"""Columns that decide which of several rows of one key counts."""
LOWEST = (False, float("-inf"))
_COUNTS = (True, 0.0)


def read(run: Path | str) -> pa.Table:
    """Read the episodes of a run folder, one row per key, in an order that does not depend on who finished first.

    It takes no lock and writes nothing, and the run may be written meanwhile. If a key has several rows, a row blamed
    on the machine gives way. Damage causes a UserWarning with the name of the file. A run without any readable row
    raises UsageError. Policies of a blind study go by codes until it is closed (see `episodes.blind`).
    """
    return plain_text(read_columns(run)).combine_chunks()


def read_columns(run: Path | str, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of `read`, with some columns only and text as dictionaries. This takes a tenth of the memory."""
    run = check_run(run)
    amended = has_corrections(run)
    more = [*(NEEDED if amended else ()), *(["parent"] if "world_params" in (columns or ()) else ())]
    wanted = None if columns is None else list(dict.fromkeys([*columns, *RANKED, *ORDER, *more]))
    rows: list[dict[str, Any]] = []
    damaged: list[Path] = []
    # Journal first: a journal file that vanishes before we open it was sealed, and its part was named before
    # the file was deleted, so the listing of parts below has it. The other way round, rows could be missed.
    for path in journals(run):
        try:
            journal = parse(read_file(path, JOURNAL), path)
        except FileNotFoundError:
            continue
        except OSError as error:
            warnings.warn(f"{path} cannot be read ({error.strerror}): it is ignored", stacklevel=2)
            damaged.append(path)
            continue
        damaged += [path] * bool(journal.faults)
        rows += journal.rows  # a torn end is no damage here: it may be just being written
        for fault in journal.faults[:FAULTS]:
            warnings.warn(f"{path}: {fault}: it is ignored; run the study again", stacklevel=2)
        if len(journal.faults) > FAULTS:
            warnings.warn(f"{path}: {len(journal.faults) - FAULTS} more lines are not episodes either", stacklevel=2)
    tables, broken = _read_parts(run, wanted)
    for path, why in broken.items():
        warnings.warn(
            f"{path} is damaged ({why}); how many rows are missing is unknown. The other parts are "
            "read; run the study again to fill the gap",
            stacklevel=2,
        )
        damaged.append(path)
    if damaged and not rows and not any(map(len, tables)):
        raise UsageError(f"{run} is damaged: no episode in it can be read; run its study again")
    schema = tables[0].schema if tables else encoded(arrow_schema())
    tail = to_table(rows).cast(encoded(arrow_schema())).select(schema.names if wanted is None else wanted)
    table = together([*tables, tail])
    del tables, tail
    release()  # what was read is twice as large as what is kept
    table = corrected(run, table) if amended else table
    table = _filmed(run, table) if "video" in table.column_names else table
    table = marked(run, table) if "world_params" in table.column_names else table
    if (mask := mask_of(run)) is not None:
        table = ordered(mask.table(table), ORDER)  # again: the order of names would give them away
    return table if columns is None else table.select(list(columns))


def _read_parts(run: Path, wanted: Sequence[str] | None) -> tuple[list[pa.Table], dict[Path, Exception]]:
    """The parts that can be read, and what is wrong with the others. A part that vanishes was merged into another one,
    or set aside: then all are listed again."""
    for last in [False] * AGAIN + [True]:
        tables: list[pa.Table] = []
        faults: dict[Path, Exception] = {}
        room, vanished = MEMORY, False
        for path in parts(run):
            try:
                table = read_part(path, wanted)
                room += RATIO * path.stat().st_size - written_out(table)
            except (DamagedError, OSError) as fault:
                faults[path] = fault
                vanished = vanished or isinstance(fault, FileNotFoundError)
                continue
            if room < 0:
                raise UsageError(
                    f"{run}: its rows take more than {size(MEMORY)} plus {RATIO} times the size of their files"
                )
            tables.append(table)
        if last or not vanished:
            break
    return tables, faults


def rank(blame: str | None, began: float | None) -> tuple[bool, float]:
    """Which of several rows of one key counts: one not blamed on the machine; else the latest try."""
    return (False, began or 0.0) if blame == "machine" else _COUNTS


def rank_of(row: Mapping[str, Any]) -> tuple[bool, float]:
    return rank(row["blame"], row["wall_started"])


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """Parts and journals as one table: of each key the row that counts, in an order that depends on nobody's pace."""
    table = pa.concat_tables(tables).unify_dictionaries()
    if pc.count_distinct(table["episode"], mode="all").as_py() < len(table):
        best: dict[str, tuple[tuple[bool, float], int]] = {}
        for i, (name, *ranked) in enumerate(zip(*(cells(table[c]) for c in RANKED), strict=True)):
            mine = rank(*ranked)
            if name not in best or mine > best[name][0]:
                best[name] = (mine, i)
        table = table.take(pa.array(sorted(i for _, i in best.values()), pa.int64()))
    return ordered(table, ORDER)


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
