"""Engines: who runs the jobs of a study. Rows do not depend on the engine.

`here` runs them in this process, `processes` in worker processes. A package adds its own as an entry point in
`foretell.engines`: a class that is called with (workers=, slots=, policy_timeout=) and has the methods of `Engine`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from foretell.episode import Outcome
from foretell.policy import TIMEOUT
from foretell.registry import resolve
from foretell.rollout.job import Job
from foretell.study.session import Opened

__all__ = ["Batch", "Engine", "make_engine"]


@dataclass
class Batch:
    """The episodes of one group that are still to be run."""

    open: dict[str, Any]
    """Arguments of `Session`, without `slots` and `threads`, which the engine chooses."""
    opened: Opened
    """What `inspect` found. It must be found again when the jobs are run."""
    jobs: deque[Job]
    timed: bool = False
    """Whether they run by the clock on the wall: such an episode needs the machine for itself."""


class Engine(Protocol):
    """Runs jobs."""

    def inspect(self, opening: dict[str, Any]) -> Opened:
        """Open a group and close it again: everything that is wrong with it shows before the first episode.
        `opening` is as `Batch.open`. Raises UsageError."""

    def run(self, batches: list[Batch], look: Callable[[], None]) -> Iterator[tuple[str, Outcome]]:
        """Run every job and yield (key, outcome) as each ends. An episode that is lost with its process has an outcome
        too. `look` is called a few times a second, and ends everything by raising."""

    def close(self) -> None:
        """End whatever was started. May be called more than once."""


class Lent:
    """An engine that somebody else made, and closes."""

    def __init__(self, engine: Engine):
        self.inspect, self.run = engine.inspect, engine.run

    def close(self) -> None:
        pass


def make_engine(name: str | Engine, *, workers: int, slots: int, policy_timeout: float = TIMEOUT) -> Engine:
    """The engine of a name, with so many processes and so many episodes side by side in each. An engine that is made
    already stays as it is, and stays open for the next study."""
    if not isinstance(name, str):
        return Lent(name)
    made: Engine = resolve("engines", name)(workers=workers, slots=slots, policy_timeout=policy_timeout)
    return made
