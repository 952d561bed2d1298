"""A policy: observations in, a chunk of actions out.

Any object with `spec` and `act` will do; subclass `Policy` for the rest. The driver calls, in this order: `bind`
and `inform` once, before anything else; `reset` whenever slots start a new episode; `act` whenever slots need actions.
A slot is one of the episodes that run side by side. The driver keeps observation history, not the policy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.errors import PolicyError, UsageError
from foretell.fingerprint.source import source_hash
from foretell.spec import EE_DELTA, ActionSpec, Feature, Stream, check_streams

if TYPE_CHECKING:
    from foretell.tasks.task import Task

__all__ = ["Chunk", "Policy", "PolicySpec", "as_chunk", "fingerprint", "observed", "source_hash"]

TIMEOUT = 60.0
"""Wall seconds after which a call of a policy counts as hung, unless the study has its own `policy_timeout`."""
PLANS = ("plan", "committed")
"""Streams that come from the driver, not the world: `plan` (chunk, dim), the actions that are to run next, and
`committed` (), how many of them will have begun when the answer arrives. All zero but under `chunks: rtc`."""


def observed(reads: Mapping[str, Stream]) -> dict[str, Stream]:
    """The streams of a policy that come from the world."""
    return {name: stream for name, stream in reads.items() if name not in PLANS}


@dataclass(frozen=True, kw_only=True)
class PolicySpec:
    """What a policy reads and what it returns. Checked before the first episode."""

    reads: Mapping[str, Stream] = field(default_factory=dict)
    action: ActionSpec = EE_DELTA
    action_rate: float = 20.0
    """Actions per simulated second."""
    chunk: int = 1
    """Actions returned by one call."""
    execute: int | None = None
    """How many of them are run before the next call; None: all."""
    batch: int | None = 1
    """Slots per call: a fixed number (short batches are padded), or None for any number."""
    seeded: bool = False
    """Whether it draws random numbers (from the seeds that `reset` gives)."""

    @property
    def executes(self) -> int:
        return self.chunk if self.execute is None else self.execute

    def validate(self, who: str) -> None:
        """Raise UsageError where the numbers make no sense."""
        check_streams(self.reads, who)
        if not (self.action_rate > 0 and math.isfinite(self.action_rate)):
            raise UsageError(f"{who}: action_rate is {self.action_rate}, it must be above 0")
        if self.chunk < 1 or not 1 <= self.executes <= self.chunk:
            raise UsageError(f"{who}: execute is {self.executes}, it must be between 1 and chunk ({self.chunk})")
        if self.batch is not None and self.batch < 1:
            raise UsageError(f"{who}: batch is {self.batch}, it must be at least 1, or None for any number")


@dataclass(frozen=True)
class Chunk:
    """Actions for n slots."""

    actions: np.ndarray
    """(n, chunk, dim)"""
    terminate: np.ndarray | None = None
    """(n, chunk) bool: the policy declares itself done with this action; or None."""


class Policy:
    """Base class with the full contract; override `act`, and what else you need."""

    spec: PolicySpec
    files: Sequence[str | Path]
    """Optional: the files it loads, such as its weights. Where it says nothing, those count that Python opens while it
    is made and that its options name. Relative to the class's own file or the current folder; may be a property."""

    def bind(self, task: Task, action: ActionSpec) -> None:
        """Called once, before `spec` is read: the task to be run and the action its controller takes."""

    def inform(self, features: Mapping[str, Feature]) -> None:
        """Called once, after `bind`: what the streams of `spec.reads` are, such as the legend of a segmentation."""

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        """Called when these slots start a new episode."""

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk | np.ndarray:
        """Actions for these slots. `observations` maps each stream of `spec.reads` to an (n, ...) array, and
        `time` (n,) s and `instruction` (a list of n strings) are always there. An array of shape
        (n, dim) or (n, chunk, dim) may be returned instead of a Chunk."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Hex SHA-256 of what decides the behaviour; episodes of another value never mix. Of a class that does not
        override this, the files that it loads and the modules of yours that it imports are added."""
        return source_hash(type(self))


def fingerprint(policy: Any) -> str:
    """`policy.fingerprint()`, or the hash of its class's source where it has none."""
    own = getattr(policy, "fingerprint", None)
    return str(own()) if callable(own) else source_hash(type(policy))


def as_chunk(returned: Any, n: int, spec: PolicySpec) -> Chunk:
    """What `act` returned, as a Chunk of the declared shape. Raises PolicyError naming what is wrong.

    NaN and out-of-range values are not judged here: they concern single slots (see `rollout.faults`)."""
    chunk = returned if isinstance(returned, Chunk) else Chunk(returned)
    try:
        actions = np.asarray(chunk.actions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"act returned {type(returned).__name__}, not an array of numbers: {error}") from error
    if actions.ndim == 2 and spec.chunk == 1:
        actions = actions[:, None]
    expected = (n, spec.chunk, spec.action.size)
    if actions.shape != expected:
        raise PolicyError(
            f"act returned actions of shape {np.shape(chunk.actions)}, expected {expected} (slots, chunk, action)"
        )
    terminate = chunk.terminate
    if terminate is not None:
        terminate = np.asarray(terminate, dtype=bool)
        if terminate.shape != expected[:2]:
            raise PolicyError(f"act returned terminate of shape {terminate.shape}, expected {expected[:2]}")
    return Chunk(actions, terminate)
