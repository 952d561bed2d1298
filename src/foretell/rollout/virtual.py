"""The `virtual` clock: physics does not wait for inference, and nobody sleeps.

Latency is data, so the answer of an inference is computed at once, in a batch with those of other slots, and handed
over when its simulated time has come. With no latency this is `sync`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from foretell.clock import Virtual
from foretell.rollout.asynchronous import NEVER, Answered, AsynchronousDriver
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
    """Run jobs like `run_sync`, and charge inference in simulated time."""
    yield from _Virtual(world, policies, watch, clock).run(source)


class _Virtual(AsynchronousDriver):
    clock: Virtual
    DRAWN = 64
    """Latencies drawn at a time."""

    def __init__(self, world: World, policies: Mapping[str, Any], watch: Any, clock: Virtual):
        super().__init__(world, policies, watch, clock)
        self.lags: list[Iterator[tuple[int, int]]] = [iter(()) for _ in range(world.slots)]
        self.asked: dict[int, tuple[int, int, int]] = {}  # slot -> (number, tick, ready) of who has yet to look
        self.thought, self.thought_ends = np.zeros_like(self.plan), np.zeros_like(self.ends)

    def _start(self, fresh: list[int]) -> Iterator[tuple[Job, Outcome]]:
        for slot in fresh:
            self.lags[slot] = self._latencies(self._job(slot))
            self.asked.pop(slot, None)
        yield from super()._start(fresh)

    def _latencies(self, job: Job) -> Iterator[tuple[int, int]]:
        """Ticks from being asked to looking, and to the answer, of successive inferences."""
        rng = generator(job.scenario.base, job.trial, "latency")
        latency, ticks = self.clock.latency, self.clock.speed / self.world.tick
        looks = np.asarray(latency.looks) if latency.looks else np.zeros(1)
        while True:
            seconds = latency.draw(rng, len(latency.values) if latency.kind == "replay" else self.DRAWN)
            for look, lag in np.broadcast(looks, seconds):
                yield int(np.ceil(look * ticks - 1e-9)), int(np.ceil(lag * ticks - 1e-9))

    def _under_way(self, slot: int) -> list[tuple[int, int]]:
        unseen = [self.asked[slot][:2]] if slot in self.asked else []
        return super()._under_way(slot) + unseen

    def _ask(self, slots: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        for slot in (s for s in slots.tolist() if s not in self.asked):
            (number, now, _), (look, lag) = self._asked(slot), next(self.lags[slot])
            self.asked[slot] = number, now, now + lag
            self.think[slot] = now + look
        slots = slots[self.think[slots] <= self.age[slots]]
        if not len(slots):
            return
        yield from self._think(slots, self.thought, self.thought_ends)
        for slot in (s for s in slots.tolist() if s not in self.gone):
            number, began, ready = self.asked.pop(slot)
            self.think[slot] = NEVER
            chunk, looked = self._spec(slot).chunk, int(self.age[slot])
            actions, ends = self.thought[slot, :chunk].copy(), self.thought_ends[slot, :chunk].copy()
            answer = Answered(
                ready=ready,
                number=number,
                began=began,
                looked=looked,
                step=int(self.step[slot]),
                actions=actions,
                ends=ends,
            )
            self.coming[slot].append(answer)
            if len(self.coming[slot]) > 1:
                self.coming[slot].sort(key=lambda answer: answer.ready)
            if log := self.events.get(slot):
                log.add("look", began, inference=number)
