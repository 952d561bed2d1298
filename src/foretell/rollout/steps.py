"""Steps of an episode: the true state and the action after each action, as Parquet. `foretell judge` judges by them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from foretell.world import Recordable

__all__ = ["StepsFile"]


class StepsFile:
    """The steps of one episode in the making. The file appears under its name only when whole.

    Columns: `time` (s) and what else the world tells people (`Recording.trace`), then `tick`, `judged` (whether the
    task was judged then: neither at the start nor after the end), `action` (as the policy gave it) and `state`
    (`Recording.state`, the true one).
    """

    def __init__(self, path: Path, slot: int):
        self.path, self._slot = path, slot
        self._rows: list[dict[str, Any]] = []
        self._tick = -1

    def note(self, world: Any, tick: int, action: np.ndarray, judged: bool = False) -> None:
        """Write down the state at a tick, and the action that led there; once for each tick."""
        if tick == self._tick:
            return
        self._tick = tick
        row: dict[str, Any] = {"time": tick * world.tick}
        if isinstance(world, Recordable):  # no sensor is read here: that would use up its noise
            row |= {**world.trace(self._slot), "state": world.state(self._slot)}
        self._rows.append({**row, "tick": tick, "judged": judged, "action": action.copy()})

    def write(self) -> None:
        """Leave all steps at their path, or nothing."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._rows:
            return
        last = {"tick": pa.int64(), "judged": pa.bool_(), "action": pa.list_(pa.float64())}
        last |= {"state": pa.list_(pa.float64())} if "state" in self._rows[0] else {}
        columns = {name: pa.float64() for name in self._rows[0] if name not in last}
        schema = pa.schema({**columns, **last})
        table = pa.table([pa.array([row[f.name] for row in self._rows], f.type) for f in schema], schema=schema)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.unlink(missing_ok=True)  # it may be a link, in a folder from someone else
        pq.write_table(table, part, compression="zstd", write_page_checksum=True)
        os.replace(part, self.path)
