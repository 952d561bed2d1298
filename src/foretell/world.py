"""The seam between a world and the drivers: looking, commanding and letting time pass are separate.

Nothing outside a world steps physics. `slots` is always a sorted array of distinct slot numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from foretell.scenario import Scenario
from foretell.spec import ActionSpec, Stream

if TYPE_CHECKING:
    from foretell.tasks.task import Task

__all__ = ["Observations", "Verdict", "World"]


class Observations(dict[str, Any]):
    """Stream name -> (n, ...) array, with the tick at which each was captured."""

    def __init__(self, values: dict[str, Any], ticks: dict[str, np.ndarray]):
        super().__init__(values)
        self.ticks = ticks
        """Stream name -> (n,) tick of capture, counted from the episode's start."""


@dataclass(frozen=True)
class Verdict:
    """How one episode came out, as the world (or a person) judges it."""

    success: bool | None
    """Success at this moment; None where only a person can tell and has not."""
    score: float | None
    """Share of the task's stages reached, in [0, 1]."""
    stages: dict[str, float]
    """Stage name -> simulated seconds at which it was first reached."""
    metrics: dict[str, float] = field(default_factory=dict)


@runtime_checkable
class World(Protocol):
    """Where scenarios run."""

    name: str
    task: Task
    action: ActionSpec
    slots: int
    tick: float
    """Simulated seconds of one physics step."""
    interruptible: bool
    """Whether time can stop between two actions; a Gymnasium environment's cannot."""
    hash: str
    """Names the world with all its parameters; part of every episode's key."""

    @property
    def streams(self) -> dict[str, Stream]:
        """What can be observed, with shapes; cameras take the resolution they are asked for."""

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        """Start an episode in each slot. Whatever the slots did before leaves no trace."""

    def observe(self, slots: np.ndarray, streams: dict[str, Stream]) -> Observations:
        """Look. Only the streams named are computed."""

    def command(self, slots: np.ndarray, actions: np.ndarray, ticks: np.ndarray) -> None:
        """Replace each slot's plan from this tick on by one action (n, dim) meant to last `ticks` (n,)."""

    def advance(self, slots: np.ndarray, ticks: np.ndarray) -> None:
        """Let physics run for `ticks` (n,) in each slot; policies do not."""

    def faults(self, slots: np.ndarray) -> dict[int, str]:
        """Slot -> what went wrong in the world since its reset (diverged physics), for those that failed."""

    def progress(self, slots: np.ndarray) -> np.ndarray | None:
        """(n,) bool: is the task solved at this moment? None where only a person can tell. Latches stages."""

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        """Judge; called once per episode, at its end."""

    def close(self) -> None:
        """Give back what the world holds."""


def whole_ticks(k: np.ndarray | int, tick_rate: float, rate: float) -> np.ndarray:
    """The tick on which event k of a periodic stream falls: floor(k * tick_rate / rate), free of float drift."""
    exact = np.asarray(k, dtype=np.float64) * tick_rate / rate
    return np.floor(exact + 1e-9).astype(np.int64)


def slot_array(slots: Iterable[int]) -> np.ndarray:
    """Slot numbers as worlds take them: sorted int32."""
    return np.array(sorted(slots), dtype=np.int32)
