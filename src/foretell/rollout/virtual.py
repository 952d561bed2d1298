"""The `virtual` clock: physics does not wait for inference, and nobody sleeps.

Latency is data, so the answer of an inference is computed at once, in a batch with those of other slots, and handed
over when its simulated time has come. With no latency this is `sync`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from foretell.clock import Virtual
from foretell.rollout.asynchronous import Answered, AsynchronousDriver
from foretell.rollout.job import Job, Outcome
from foretell.seeding import generator
from foretell.world import World

__all__ = ["run_virtual"]


def run_virtual(
    world: World,
    policies: Mapping[str, Any],
    source: Callable[[], Job | None],
    watch: Callable[[str, list[Job]], None] = lambda doing, jobs: None,
    clock: Virtual = Virtual(),  # noqa: B008 - frozen
) -> Iterator[tuple[Job, Outcome]]:
    """As `run_sync`, with inference charged in simulated time."""
    yield from _Virtual(world, policies, watch, clock).run(source)


class _Virtual(AsynchronousDriver):
    clock: Virtual
    DRAWN = 64
    """Latencies drawn at a time."""

    def __init__(self, world: World, policies: Mapping[str, Any], watch: Any, clock: Virtual):
        super().__init__(world, policies, watch, clock)
        self.lags: list[Iterator[int]] = [iter(()) for _ in range(world.slots)]
        self.thought, self.thought_ends = np.zeros_like(self.plan), np.zeros_like(self.ends)

    def _start(self, fresh: list[int]) -> Iterator[tuple[Job, Outcome]]:
        for slot in fresh:
            self.lags[slot] = self._latencies(self._job(slot))
        yield from super()._start(fresh)

    def _latencies(self, job: Job) -> Iterator[int]:
        """Ticks of successive inferences."""
        rng = generator(job.scenario.base, job.trial, "latency")
        while True:
            for seconds in self._drawn(rng):
                yield int(np.ceil(seconds * self.clock.speed / self.world.tick - 1e-9))

    def _drawn(self, rng: np.random.Generator) -> np.ndarray:
        latency = self.clock.latency
        return latency.draw(rng, len(latency.values) if latency.kind == "replay" else self.DRAWN)

    def _ask(self, slots: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        if not len(slots):
            return
        yield from self._think(slots, self.thought, self.thought_ends)
        for slot in (s for s in slots.tolist() if s not in self.gone):
            number, looked, step = self._asked(slot)
            chunk = self._spec(slot).chunk
            actions, ends = self.thought[slot, :chunk].copy(), self.thought_ends[slot, :chunk].copy()
            ready = looked + next(self.lags[slot])
            self.coming[slot].append(Answered(ready, number, looked, looked, step, actions, ends))
            if len(self.coming[slot]) > 1:
                self.coming[slot].sort(key=lambda answer: answer.ready)
            if log := self.events.get(slot):
                log.add("look", looked, inference=number)
