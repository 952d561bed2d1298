"""The `virtual` clock: physics does not wait for inference, and nobody sleeps.

Latency is data, so the answer of an inference is computed at once, in a batch with those of other slots, and handed
over when its simulated time has come. Every slot has its own next event (an answer arrives, an action is due, a stream
wants a sample, the task is judged); all slots are advanced to theirs together. With no latency this is `sync`, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from foretell.clock import Virtual
from foretell.rollout.driver import Driver
from foretell.rollout.job import Job, Outcome
from foretell.seeding import generator
from foretell.world import World, whole_ticks

__all__ = ["run_virtual"]

NEVER = np.iinfo(np.int64).max


def run_virtual(
    world: World,
    policies: Mapping[str, Any],
    source: Callable[[], Job | None],
    watch: Callable[[str, list[Job]], None] = lambda doing, jobs: None,
    clock: Virtual = Virtual(),  # noqa: B008 - frozen
) -> Iterator[tuple[Job, Outcome]]:
    """As `run_sync`, with inference charged in simulated time."""
    yield from _Virtual(world, policies, watch, clock).run(source)


class _Virtual(Driver):
    DRAWN = 64
    """Latencies drawn at a time."""

    def __init__(self, world: World, policies: Mapping[str, Any], watch: Any, clock: Virtual):
        super().__init__(world, policies, watch)
        self.clock = clock
        slots = world.slots
        self.coming, self.coming_ends = np.zeros_like(self.plan), np.zeros_like(self.ends)
        # ticks of each slot's next events; NEVER while there is none
        self.think, self.ready, self.due, self.quit = (np.full(slots, NEVER) for _ in range(4))
        self.judged = np.zeros(slots, dtype=np.int64)  # how often the task was judged, at the action rate
        self.at = np.zeros(slots, dtype=np.int64)  # next action of the plan
        self.nominal = np.zeros(slots)  # exact tick at which the next action is due
        self.looked, self.looked_step = np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)
        self.idle_since = np.zeros(slots, dtype=np.int64)  # end of the last action, while none runs
        self.lags: list[Iterator[float]] = [iter(()) for _ in range(slots)]
        self.starved, self.waited, self.aged = np.zeros(slots), np.zeros(slots), np.zeros(slots)  # ticks
        self.calls = np.zeros(slots, dtype=np.int64)

    def _start(self, fresh: list[int]) -> Iterator[tuple[Job, Outcome]]:
        slots = np.array(fresh, dtype=np.int32)
        for events in (self.ready, self.due, self.quit):
            events[slots] = NEVER
        for counter in (self.think, self.judged, self.nominal, self.idle_since, self.starved, self.waited, self.aged):
            counter[slots] = 0
        self.calls[slots] = 0
        for slot in fresh:
            self.lags[slot] = self._latencies(self._job(slot))
        yield from super()._start(fresh)

    def _latencies(self, job: Job) -> Iterator[float]:
        """Ticks of successive inferences."""
        rng = generator(job.scenario.base, job.trial, "latency")
        while True:
            for seconds in self.clock.latency.draw(rng, self.DRAWN):
                yield float(np.ceil(seconds * self.clock.speed / self.world.tick - 1e-9))

    def _round(self, active: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """Everything that happens in each slot at its present tick, and the way to its next event."""
        age = self.age
        thinking = active[self.think[active] <= age[active]]
        yield from self._think(thinking, self.coming, self.coming_ends)
        active, thinking = (slots[~np.isin(slots, list(self.gone))] for slots in (active, thinking))
        if not len(active):
            return
        for slot in thinking.tolist():
            lag = next(self.lags[slot])
            self.ready[slot], self.think[slot] = age[slot] + int(lag), NEVER
            self.looked[slot], self.looked_step[slot] = age[slot], self.step[slot]
            self.waited[slot] += lag
            self.calls[slot] += 1
        self._deliver(active[self.ready[active] <= age[active]])
        self._command(active[self.due[active] <= age[active]])

        judge = self._next_judgement(active)
        events = (self.think, self.ready, self.due, self.quit)
        until = np.minimum.reduce([judge, *(e[active] for e in events)])
        self._advance(active, until, until == judge)
        done = self.quit[active] <= age[active]
        judging = (until == judge) | done
        self.judged[active[until == judge]] += 1
        yield from self._judge(active[judging], done[judging])

    def _next_judgement(self, active: np.ndarray) -> np.ndarray:
        rates = np.array([self._spec(slot).action_rate for slot in active.tolist()])
        return whole_ticks(self.judged[active] + 1, 1.0 / self.world.tick, rates)

    def _deliver(self, slots: np.ndarray) -> None:
        """Answers arrive: they become the plan from this tick on."""
        for slot in slots.tolist():
            spec = self._spec(slot)
            self.ready[slot] = NEVER
            self.plan[slot], self.ends[slot] = self.coming[slot], self.coming_ends[slot]
            if self.clock.chunks == "replace":
                # actions that ran while the policy thought are over: their successors are taken up in their place
                self.at[slot] = self.step[slot] - self.looked_step[slot]
                self.left[slot] = max(0, spec.chunk - self.at[slot])
            else:
                self.at[slot], self.left[slot] = 0, spec.executes
            if self.left[slot] == 0:  # older than its whole chunk: of no use any more
                self.think[slot], self.due[slot] = max(self.age[slot] + 1, self.idle_since[slot]), NEVER
            elif self.due[slot] == NEVER:
                # nothing runs: start now, keeping fractions of a tick where there was no wait
                lag = self.age[slot] - self.idle_since[slot]
                self.starved[slot] += lag
                self.nominal[slot] += lag
                self.due[slot] = self.age[slot]

    def _command(self, slots: np.ndarray) -> None:
        """Actions that are due begin."""
        if not len(slots):
            return
        rates = np.array([self._spec(slot).action_rate for slot in slots.tolist()])
        self.nominal[slots] += 1.0 / (rates * self.world.tick)
        end = np.floor(self.nominal[slots] + 1e-9).astype(np.int64)
        at = self.at[slots]
        self.world.command(slots, self.plan[slots, at], end - self.age[slots])
        self.quit[slots] = np.where(self.ends[slots, at], end, NEVER)
        self.aged[slots] += self.age[slots] - self.looked[slots]
        self.step[slots] += 1
        self.at[slots] += 1
        self.left[slots] -= 1
        over = self.left[slots] == 0
        self.idle_since[slots] = end
        self.due[slots] = np.where(over, NEVER, end)
        free = self.ready[slots] == NEVER  # no inference under way
        wanted = over | (self.clock.chunks == "replace")
        self.think[slots] = np.where(free & wanted, end, self.think[slots])

    def _finish(self, slot: int, end: str, blame: str | None = None, error: str | None = None) -> tuple[Job, Outcome]:
        job, outcome = super()._finish(slot, end, blame, error)
        if self.due[slot] == NEVER:
            self.starved[slot] += max(0, self.age[slot] - self.idle_since[slot])
        calls, steps, tick = max(1, int(self.calls[slot])), max(1, outcome.steps), self.world.tick
        outcome.metrics |= {
            "inferences": float(self.calls[slot]),
            "latency_per_inference_s": self.waited[slot] / calls * tick,
            "latency_per_action_s": self.waited[slot] / steps * tick,
            "observation_age_s": self.aged[slot] / steps * tick,
            "starvation_s": self.starved[slot] * tick,
        }
        return job, outcome
