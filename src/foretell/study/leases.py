"""Leases: which process runs which batch of a study, where processes come and go.

A lease is a file that only one process can create. While its owner works it writes a new count into it, every `BEAT`
seconds. A lease whose count stands still for `EXPIRES` seconds, by the clock of whoever looks, has lost its owner: then
the next generation of the lease may be created. Nothing is compared with another machine's clock, nothing is locked
and nothing renamed, so it works on network disks. An owner who was only slow goes on: its rows are those that the next
one makes, and a row counts once.

    leases/PLAN/000012.1        the lease of batch 12, and who has it
    leases/PLAN/000012.done     its episodes are on disk
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from foretell.files import SMALL, read_file

__all__ = ["BEAT", "EXPIRES", "Leases"]

BEAT = 20.0
"""Wall seconds between two signs of life. A network disk may show them to others up to a minute late."""
EXPIRES = 180.0
"""Wall seconds without a sign of life after which a batch may be taken over."""
LOOK = 1.0
"""Wall seconds between two looks at what others do."""


class Leases:
    """The batches of one plan, as one process sees them."""

    def __init__(
        self, folder: Path, *, batches: int, owner: str, beat: float | None = None, expires: float | None = None
    ):
        """Without `beat` and `expires`, they are `BEAT` and `EXPIRES`."""
        self.folder, self.batches, self.owner = folder, batches, owner
        self._beat = BEAT if beat is None else beat
        self._expires = EXPIRES if expires is None else expires
        self._signs: dict[Path, tuple[bytes, float]] = {}
        """Lease -> what was last read in it, and when that was new."""
        folder.mkdir(parents=True, exist_ok=True)

    def take(self) -> Iterator[int]:
        """Batch after batch that is this process's to run, until all are done. It waits for those of others, which may
        vanish. A batch counts as done when the next is asked for."""
        start = zlib.crc32(self.owner.encode()) % max(1, self.batches)  # so that not all try the same lease first
        turns = [*range(start, self.batches), *range(start)]
        while turns:
            waiting = []
            for batch in turns:
                done = self.folder / f"{batch:06d}.done"
                if done.exists():
                    continue
                if (lease := self._lease(batch)) is None:
                    waiting.append(batch)
                    continue
                with self._beating(lease):
                    yield batch
                _create(done, self.owner)
            if len(waiting) == len(turns):
                time.sleep(min(LOOK, self._expires / 4))
            turns = waiting

    def _lease(self, batch: int) -> Path | None:
        """The lease of a batch, if this process can have it now."""
        generation = 1
        while not _create(path := self.folder / f"{batch:06d}.{generation}", self._sign(0)):
            generation += 1
            if not path.with_suffix(f".{generation}").exists() and not self._expired(path):
                return None
        return path

    def _expired(self, lease: Path) -> bool:
        """Whether nothing was written into a lease for so long, as it looks from here."""
        try:
            sign = read_file(lease, SMALL)
        except OSError:
            sign = b""
        before, now = self._signs.get(lease), time.monotonic()
        if before is None or before[0] != sign:
            self._signs[lease] = (sign, now)
            return False
        return now - before[1] > self._expires

    @contextlib.contextmanager
    def _beating(self, path: Path) -> Iterator[None]:
        """Write signs of life into a lease while this is open."""
        stop = threading.Event()

        def beat() -> None:
            count = 0
            while not stop.wait(self._beat):
                count += 1
                with contextlib.suppress(OSError), open(path, "r+b") as lease:  # a full disk must not end the batch
                    lease.write(self._sign(count).encode())

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _sign(self, count: int) -> str:
        return json.dumps({"owner": self.owner, "count": f"{count:012d}"}) + "\n"


def _create(path: Path, text: str) -> bool:
    """Whether this process has created the file, which no two can."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    with open(fd, "w") as file:
        file.write(text)
    return True
