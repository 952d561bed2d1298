"""What a policy sees: samples taken at each stream's own rate, with the history it asked for.

The driver keeps history, not the policy, so that it means the same under every clock.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.spec import Stream
from foretell.world import World, misdeclared, whole_ticks

__all__ = ["PolicySight"]

NEVER = np.iinfo(np.int64).max


class PolicySight:
    """The observations of one policy in all slots of a world."""

    def __init__(self, world: World, reads: dict[str, Stream]):
        self._world = world
        self._rate = 1.0 / world.tick
        # looked at when the policy acts: nothing to keep
        self._now = {n: s for n, s in reads.items() if s.rate is None and s.history == 1}
        # sampled at every action, or at a rate of their own
        self._kept = {n: s for n, s in reads.items() if n not in self._now}
        self._timed = {n: s for n, s in self._kept.items() if s.rate is not None}
        self._frames: dict[str, np.ndarray] = {}
        self._taken = {n: np.zeros(world.slots, dtype=np.int64) for n in self._timed}
        self._trusted = False  # whether the first samples were as declared

    def start(self, slots: np.ndarray) -> None:
        """New episodes: the first sample fills the whole history."""
        if not self._kept:
            return
        seen = self._world.observe(slots, self._kept)
        if not self._trusted:
            self._check(seen, self._kept, len(slots))
        for name, stream in self._kept.items():
            first = np.asarray(seen[name])
            if name not in self._frames:
                shape = (self._world.slots, stream.history, *first.shape[1:])
                self._frames[name] = np.zeros(shape, dtype=first.dtype)
            self._frames[name][slots] = first[:, None]
        for taken in self._taken.values():
            taken[slots] = 0

    def wait(self, slots: np.ndarray, age: np.ndarray) -> np.ndarray:
        """(n,) ticks until the next sample of a timed stream; huge where there is none."""
        wait = np.full(len(slots), NEVER)
        for name, stream in self._timed.items():
            assert stream.rate is not None
            due = whole_ticks(self._taken[name][slots] + 1, self._rate, stream.rate)
            wait = np.minimum(wait, due - age)
        return wait

    def sample(self, slots: np.ndarray, age: np.ndarray, at_action: bool) -> None:
        """Take the samples that fall on this tick."""
        for name, stream in self._kept.items():
            if stream.rate is None:
                due = np.full(len(slots), at_action)
            else:
                due = whole_ticks(self._taken[name][slots] + 1, self._rate, stream.rate) <= age
            ids = slots[due]
            if len(ids):
                fresh = np.asarray(self._world.observe(ids, {name: stream})[name])
                frames = self._frames[name]
                frames[ids, :-1] = frames[ids, 1:]
                frames[ids, -1] = fresh
                if name in self._taken:
                    self._taken[name][ids] += 1

    def view(self, slots: np.ndarray) -> dict[str, Any]:
        """What the policy is given."""
        seen: dict[str, Any] = dict(self._world.observe(slots, self._now))
        if not self._trusted:
            self._check(seen, self._now, len(slots))
            self._trusted = True
        for name, stream in self._kept.items():
            frames = self._frames[name][slots]
            seen[name] = frames if stream.history > 1 else frames[:, 0]
        return seen

    def _check(self, seen: dict[str, Any], streams: dict[str, Stream], count: int) -> None:
        if wrong := misdeclared(seen, streams, self._world.features, count):
            raise UsageError(f"world {self._world.name!r}: observe: {wrong}; change `observe` or `features`")
