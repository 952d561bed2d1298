"""What happened in one episode and when: looks, inferences, actions, waits. Written as Parquet, if a study asks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Events"]

KINDS = ("look", "think", "chunk", "action", "starve", "seam", "hold", "frame")


class Events:
    """The log of one episode, in simulated seconds."""

    def __init__(self, path: Path, tick: float):
        self.path, self.tick = path, tick
        self.wall: Callable[[], float] | None = None
        """Seconds since the episode's start on the wall, where that matters; stamped on every event."""
        self._rows: list[tuple[Any, ...]] = []

    def add(
        self,
        kind: str,
        at: int,
        until: int | None = None,
        *,
        inference: int | None = None,
        action: int | None = None,
        value: float | None = None,
    ) -> None:
        """One event at tick `at`, or from `at` to `until`.

        value: of `action` the age of its observation, s; of `think` how long after being asked the policy looked, s; of
        `chunk` the index of its first action used; of `seam` the jump from the action it replaces, in action units; of
        `frame` the number of the camera."""
        end = None if until is None else until * self.tick
        wall = None if self.wall is None else self.wall()
        self._rows.append((kind, at * self.tick, end, wall, inference, action, value))

    def write(self) -> None:
        """Leave the whole log at its path, or nothing."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema(
            [
                ("kind", pa.string()),
                ("sim_s", pa.float64()),
                ("until_s", pa.float64()),
                ("wall_s", pa.float64()),
                ("inference", pa.int64()),
                ("action", pa.int64()),
                ("value", pa.float64()),
            ]
        )
        columns = zip(*sorted(self._rows, key=lambda row: row[1]), strict=True) if self._rows else [[]] * len(schema)
        table = pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.unlink(missing_ok=True)  # it may be a link, in a folder from someone else
        pq.write_table(table, part)
        os.replace(part, self.path)
