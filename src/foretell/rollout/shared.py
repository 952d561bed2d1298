"""Memory that two processes share, without locks: the newest value wins, or a queue that one writes and one reads.

The memory is an unlinked file, handed on as a descriptor: it has no name that could leak, however processes die.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Latest", "Queue", "Shape"]

Shape = Mapping[str, tuple[tuple[int, ...], str]]
"""Field -> (shape, dtype)."""


def _open(size: int, fd: int | None) -> tuple[int, mmap.mmap]:
    """(descriptor, memory); a new one where `fd` is None."""
    if fd is None:
        folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(size)
            fd = os.dup(file.fileno())
    return fd, mmap.mmap(fd, size)


class _Records:
    """`count` records of the same fields, and two counters before them."""

    def __init__(self, shape: Shape, count: int, fd: int | None):
        self.shape, self.count = dict(shape), count
        kind = np.dtype([(name, dtype, dims) for name, (dims, dtype) in shape.items()], align=True)
        self.fd, self._memory = _open(64 + kind.itemsize * count, fd)
        self.counters = np.frombuffer(self._memory, dtype=np.int64, count=8)
        self.records = np.frombuffer(self._memory, dtype=kind, count=count, offset=64)

    def close(self) -> None:
        """Give the memory back; it is gone when the last process has."""
        del self.counters, self.records
        with contextlib.suppress(BufferError):  # somebody still looks at a field: it goes with them
            self._memory.close()
        os.close(self.fd)


class Latest(_Records):
    """One value, of which only the newest matters. Neither side waits: the writer fills the slot nobody reads."""

    def __init__(self, shape: Shape, fd: int | None = None):
        super().__init__(shape, 4, fd)

    def write(self, values: Mapping[str, Any]) -> None:
        """Make these the newest."""
        number = int(self.counters[0]) + 1
        record = self.records[number % self.count]
        for name, value in values.items():
            record[name] = value
        self.counters[0] = number

    def read(self) -> tuple[int, dict[str, Any]]:
        """(how many were written, a copy of the newest); 0 before the first."""
        while True:
            number = int(self.counters[0])
            record = self.records[number % self.count]
            values = {name: np.array(record[name]) for name in self.shape}
            if int(self.counters[0]) - number < self.count - 1:  # not overwritten meanwhile
                self.counters[1] = number
                return number, values

    @property
    def written(self) -> int:
        return int(self.counters[0])

    @property
    def taken(self) -> int:
        """Number of the value that was read last."""
        return int(self.counters[1])


class Queue(_Records):
    """Values in order, from one writer to one reader. A writer far ahead overwrites what was not read."""

    def __init__(self, shape: Shape, count: int, fd: int | None = None):
        super().__init__(shape, count, fd)
        self._seen = int(self.counters[0])

    def put(self, values: Mapping[str, Any]) -> None:
        number = int(self.counters[0])
        record = self.records[number % self.count]
        for name, value in values.items():
            record[name] = value
        self.counters[0] = number + 1

    @property
    def waiting(self) -> int:
        """How many were written and not taken; more than `count`: some are lost."""
        return int(self.counters[0]) - self._seen

    def take(self) -> Iterator[dict[str, Any]]:
        """Copies of all that have come since."""
        while self.waiting > 0:
            record = self.records[self._seen % self.count]
            values = {name: np.array(record[name]) for name in self.shape}
            self._seen += 1
            yield values

    def skip(self) -> None:
        """Forget what waits."""
        self._seen = int(self.counters[0])
