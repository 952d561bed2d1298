"""The engine `here`: episodes in this process.

For policies that are Python objects, for worlds that talk to a person on the terminal, and for debugging. A policy that
hangs hangs the study.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from foretell.episode import Outcome
from foretell.policy import TIMEOUT
from foretell.study.engine import Batch
from foretell.study.session import Opened, Session

__all__ = ["Here"]


class Here:
    """Runs one group after the other."""

    def __init__(self, *, workers: int = 0, slots: int, policy_timeout: float = TIMEOUT):
        self._slots, self._threads = slots, os.cpu_count() or 1

    def inspect(self, opening: dict[str, Any]) -> Opened:
        session = Session(**opening, slots=1, threads=1)
        try:
            return session.opened
        finally:
            session.close()

    def run(self, batches: list[Batch], look: Callable[[], None]) -> Iterator[tuple[str, Outcome]]:
        for batch in batches:
            slots = max(1, min(self._slots, len(batch.jobs)))
            session = Session(**batch.open, slots=slots, threads=self._threads)
            try:
                batch.opened.check_same(session.opened)
                source = lambda jobs=batch.jobs: jobs.popleft() if jobs else None  # noqa: E731
                for job, outcome in session.run(source, lambda doing, jobs: look()):
                    yield job.key, outcome
            finally:
                session.close()

    def close(self) -> None:
        pass
