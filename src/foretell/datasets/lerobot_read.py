"""Read a LeRobot dataset (versions 2 and 3) that may come from anybody: nothing outside its folder is read, and what is
wrong is named."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Floats, Ints
from foretell.episodes.parts import DamagedError, read_parquet
from foretell.errors import UsageError, suggest
from foretell.files import SMALL, inside, read_file

__all__ = ["LeRobotData", "is_lerobot"]

FILES = 100_000
"""Files of a dataset that are looked at, at most."""


def is_lerobot(path: Path) -> bool:
    """Whether a folder says that it is a LeRobot dataset."""
    return path.is_dir() and (path / "meta" / "info.json").is_file()


class LeRobotData:
    """A dataset on disk. `info` is what meta/info.json says."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.info = self._info()
        features = self.info.get("features")
        self.features: dict[str, Any] = features if isinstance(features, dict) else {}

    @property
    def fps(self) -> float | None:
        """Rows per second, if it says so."""
        fps = self.info.get("fps")
        if fps is None:
            return None
        if isinstance(fps, bool) or not isinstance(fps, (int, float)) or not 0 < fps < math.inf:
            raise self._wrong(f"meta/info.json: fps is {fps!r:.40}, it should be a number above 0")
        return float(fps)

    def names(self, column: str) -> list[str]:
        """The names of a column's numbers, if it has them."""
        feature = self.features.get(column)
        names = feature.get("names") if isinstance(feature, dict) else None
        if isinstance(names, dict):  # {"motors": [...]}, as older versions have it
            names = next(iter(names.values()), None)
        return [str(name) for name in names] if isinstance(names, list) else []

    @cached_property
    def tasks(self) -> dict[int, str]:
        """task_index -> instruction. Empty where there is no table of tasks."""
        meta = self.path / "meta"
        if inside(self.path, "meta/tasks.parquet") is not None:
            table = self._parquet(meta / "tasks.parquet", None)
            texts = [f.name for f in table.schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
            text = texts[0] if texts else ""
            if "task_index" not in table.column_names or not text:
                raise self._wrong("meta/tasks.parquet needs the columns task_index and the text of the task")
            return dict(zip(table["task_index"].to_pylist(), table[text].to_pylist(), strict=True))
        if inside(self.path, "meta/tasks.jsonl") is None:
            return {}
        try:
            lines = [json.loads(line) for line in self._bytes("meta/tasks.jsonl").decode().splitlines() if line.strip()]
            return {int(line["task_index"]): str(line["task"]) for line in lines}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._wrong(f"meta/tasks.jsonl: {_short(error)}") from None

    def table(self, columns: Sequence[str], optional: Sequence[str] = ()) -> pa.Table:
        """These columns of all rows; of the optional ones those that are there."""
        wanted, tables = [*columns, *optional], []
        for file in self._data_files():
            table = self._parquet(file, wanted)
            if missing := next((name for name in columns if name not in table.column_names), None):
                known = suggest(missing, self.features)
                raise self._wrong(f"{file.relative_to(self.path)} has no column {missing!r}; {known}")
            tables.append(table)
        try:
            return pa.concat_tables(tables)
        except pa.ArrowException as error:
            raise self._wrong(f"its files differ: {_short(error)}") from None

    def numbers(self, table: pa.Table, column: str) -> Floats:
        """(rows, width) of a column of numbers, or of lists of equally many."""
        rows = table[column].to_pylist()
        if not rows:
            raise self._wrong("it has no rows")
        rows = [row if isinstance(row, list) else [row] for row in rows]
        width = len(rows[0])
        for number, row in enumerate(rows):
            if len(row) != width:
                raise self._wrong(f"{column} has {len(row)} numbers in row {number + 1}, and {width} in the first row")
        try:
            if any(isinstance(value, str) for row in rows for value in row):  # NumPy would read numbers in them
                raise TypeError
            values = np.array(rows, dtype=float).reshape(-1, width)
        except (TypeError, ValueError):
            raise self._wrong(f"{column} should hold numbers") from None
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise self._wrong(f"column {column!r} is empty or not finite in row {row + 1}")
        return values

    def episodes(self, table: pa.Table) -> dict[int, Ints]:
        """Episode -> its rows in a table with the column `episode_index`, in order."""
        numbers = self.numbers(table, "episode_index")[:, 0]
        if (numbers != np.round(numbers)).any():
            raise self._wrong("episode_index should hold whole numbers")
        return {int(number): np.flatnonzero(numbers == number) for number in np.unique(numbers)}

    def _info(self) -> dict[str, Any]:
        try:
            info = json.loads(self._bytes("meta/info.json"))
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"meta/info.json: {_short(error)}") from None
        if not isinstance(info, dict):
            raise self._wrong("meta/info.json should be an object")
        return info

    def _data_files(self) -> list[Path]:
        files: list[Path] = []
        for number, path in enumerate((self.path / "data").rglob("*.parquet")):
            if number >= FILES:
                raise self._wrong(f"data has more than {FILES:,} files")
            if inside(self.path, path.relative_to(self.path)) is None:
                raise self._wrong(f"{path.relative_to(self.path)} leads out of its folder, or is no file")
            files.append(path)
        if not files:
            raise self._wrong("data has no Parquet file")
        return sorted(files)

    def _parquet(self, path: Path, columns: Sequence[str] | None) -> pa.Table:
        name = path.relative_to(self.path)
        try:
            return read_parquet(path, columns)
        except DamagedError as error:
            raise self._wrong(f"{name} is damaged: {_short(error)}") from None
        except OSError as error:
            raise self._wrong(f"{name}: {error.strerror}") from None

    def _bytes(self, name: str) -> bytes:
        path = inside(self.path, name)
        if path is None:
            raise self._wrong(f"it has no {name}, or that leads out of its folder")
        try:
            return read_file(path, SMALL)
        except OSError as error:
            raise self._wrong(f"{name}: {error.strerror}") from None

    def _wrong(self, why: str) -> UsageError:
        return UsageError(f"{self.path} is no LeRobot dataset that can be read: {why}")


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
