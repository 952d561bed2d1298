"""What `virtual` and `realtime` have in common: physics goes on while a policy thinks, and answers arrive when they do.

Every slot has its own next event: a policy is asked, an answer arrives, an action is due or held, the task is judged.
All slots are advanced to theirs together. How an answer comes about is the clock's: see `_ask`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.clock import Asynchronous
from foretell.rollout.driver import Driver
from foretell.rollout.job import Job, Outcome
from foretell.world import World, whole_ticks

__all__ = ["NEVER", "Answered", "AsynchronousDriver"]

NEVER = int(np.iinfo(np.int64).max)
RECENT = 10
"""Answers whose delays say how much of a plan will have run when the next one comes."""


@dataclass(kw_only=True)
class Answered:
    """A chunk on its way, or arrived."""

    ready: int
    """Tick at which it arrives."""
    number: int
    """Number of the inference, from 0."""
    began: int
    """Tick at which it was asked for."""
    looked: int
    """Tick of the observation it answers."""
    step: int
    """Actions begun before that observation: the chunk's first action is meant to be the next."""
    actions: np.ndarray
    """(chunk, dim)"""
    ends: np.ndarray
    """(chunk,) bool"""
    pictured: int | None = None
    """Tick of the picture it answers, where that may be older than the rest."""


class AsynchronousDriver(Driver):
    """Plans that run while policies think."""

    def __init__(self, world: World, policies: Mapping[str, Any], watch: Any, clock: Asynchronous):
        super().__init__(world, policies, watch)
        self.clock = clock
        slots = world.slots
        # ticks of each slot's next events; NEVER while there is none
        self.think, self.due, self.quit, self.held = (np.full(slots, NEVER) for _ in range(4))
        self.coming: list[list[Answered]] = [[] for _ in range(slots)]  # under way
        self.answers: list[list[Answered]] = [[] for _ in range(slots)]  # that the plan is made of
        self.delays: list[deque[int]] = [deque(maxlen=RECENT) for _ in range(slots)]
        self.judgements = np.zeros(slots, dtype=np.int64)  # how often the task was judged, at the action rate
        self.at = np.zeros(slots, dtype=np.int64)  # next action of the plan
        self.nominal, self.repeat = np.zeros(slots), np.zeros(slots)  # exact ticks of the next action, the next hold
        self.idle_since = np.zeros(slots, dtype=np.int64)  # end of the last action, while none runs
        self.calls = np.zeros(slots, dtype=np.int64)
        self.since = np.zeros(slots, dtype=np.int64)  # tick at which the present subtask began
        # ticks, summed over inferences or actions
        self.starved, self.waited, self.aged, self.arrived_ago, self.pictured = (np.zeros(slots) for _ in range(5))
        self.seams: list[list[float]] = [[] for _ in range(slots)]
        deltas = [np.full(d.size, d.mode == "delta") for d in world.action.dims]
        self.delta = np.concatenate(deltas)
        self.moving = np.concatenate([np.full(d.size, d.grips != "closing") for d in world.action.dims])

    # -- the clock's own ----------------------------------------------------------------------------------------

    def _ask(self, slots: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """Have the policy think about what it sees now. Answers go into `coming`, now or later."""
        raise NotImplementedError

    def _receive(self, active: np.ndarray) -> None:
        """Called at every event: take in answers that come from elsewhere."""

    def _under_way(self, slot: int) -> list[tuple[int, int]]:
        """(number, tick at which it was asked for) of every inference whose answer has not arrived."""
        return [(answer.number, answer.began) for answer in self.coming[slot]]

    def _no_later(self, active: np.ndarray) -> np.ndarray | int:
        """(n,) ticks at which to look again at the latest."""
        return NEVER

    # -----------------------------------------------------------------------------------------------------------

    def _start(self, fresh: list[int]) -> Iterator[tuple[Job, Outcome]]:
        slots = np.array(fresh, dtype=np.int32)
        for events in (self.due, self.quit, self.held):
            events[slots] = NEVER
        sums = (self.starved, self.waited, self.aged, self.arrived_ago, self.pictured)
        for counter in (self.think, self.judgements, self.nominal, self.idle_since, self.calls, self.since, *sums):
            counter[slots] = 0
        for slot in fresh:
            self.coming[slot], self.answers[slot], self.seams[slot] = [], [], []
            self.delays[slot].clear()
        yield from super()._start(fresh)

    def _round(self, active: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """Everything that happens in each slot at its present tick, and the way to its next event."""
        age = self.age
        yield from self._ask(active[self.think[active] <= age[active]])
        if self.gone:
            active = active[~np.isin(active, list(self.gone))]
            self.gone = set()
        if not len(active):
            return
        self._receive(active)
        for slot in active.tolist():
            while self.coming[slot] and self.coming[slot][0].ready <= age[slot]:
                self._deliver(slot, self.coming[slot].pop(0))
        self._command(active[self.due[active] <= age[active]])
        self._hold(active[self.held[active] <= age[active]])

        judge = self._next_judgement(active)
        arrival = np.array([c[0].ready if (c := self.coming[s]) else NEVER for s in active.tolist()])
        events = (self.think, self.due, self.quit, self.held)
        until = np.minimum.reduce([judge, arrival, *(e[active] for e in events)])
        until = np.minimum(until, self._no_later(active))
        self._advance(active, until, until == judge)
        done = self.quit[active] <= age[active]
        judging = (until == judge) | done
        self.judgements[active[until == judge]] += 1
        if judging.any():
            yield from self._judge(active[judging], done[judging])

    def _go_on(self, slots: np.ndarray) -> None:
        super()._go_on(slots)
        self.since[slots] = self.idle_since[slots] = self.age[slots]
        self.due[slots] = self.quit[slots] = NEVER
        if self.clock.hold != "target":
            self.held[slots], self.repeat[slots] = self.age[slots], self.nominal[slots]
        for slot in slots.tolist():
            self.answers[slot] = []
            if not self._under_way(slot):  # else it thinks again when that answer arrives
                self.think[slot] = self.age[slot]

    def _next_judgement(self, active: np.ndarray) -> np.ndarray:
        rates = np.array([self._spec(slot).action_rate for slot in active.tolist()])
        return whole_ticks(self.judgements[active] + 1, 1.0 / self.world.tick, rates)

    def _asked(self, slot: int) -> tuple[int, int, int]:
        """(number, tick, step) of an inference that begins now."""
        number = int(self.calls[slot])
        self.think[slot] = NEVER
        self.calls[slot] += 1
        return number, int(self.age[slot]), int(self.step[slot])

    def _deliver(self, slot: int, answer: Answered) -> None:
        """An answer arrives: it becomes the plan, or a part of it, from this tick on."""
        log, age, step = self.events.get(slot), int(self.age[slot]), int(self.step[slot])
        self.waited[slot] += answer.ready - answer.began
        if log:
            value = (answer.looked - answer.began) * self.world.tick
            log.add("think", answer.began, answer.ready, inference=answer.number, value=value)
        if self._outdated(slot, answer):
            return
        continuous = self.clock.chunks != "execute"
        old = self.plan[slot, self.at[slot]].copy() if self.left[slot] else self.last[slot].copy()
        first = step - answer.step if continuous else 0
        self.delays[slot].append(max(0, first))
        spec, chunk = self._spec(slot), len(answer.actions)
        if self.clock.chunks == "ensemble":
            kept = [a for a in self.answers[slot] if a.step + chunk > step] + [answer]
        else:
            kept = [answer]
        self.answers[slot] = kept
        if not continuous:
            count = min(spec.executes, chunk)
        else:
            # actions that ran while the policy thought are over: their successors are taken up in their place
            count = max(0, max(a.step for a in kept) + chunk - step)
        self.at[slot], self.left[slot], self.held[slot] = 0, count, NEVER
        if len(kept) == 1:
            self.plan[slot, :count] = answer.actions[first : first + count]
            self.ends[slot, :count] = answer.ends[first : first + count]
        else:
            self._blend(slot, kept, count)
        if count == 0:  # older than its whole chunk: of no use any more
            self.think[slot], self.due[slot] = max(age + 1, int(self.idle_since[slot])), NEVER
            return
        if step:
            jump = float(np.linalg.norm((self.plan[slot, 0] - old)[self.moving]))
            self.seams[slot].append(jump)
            if log:
                log.add("seam", age, inference=answer.number, value=jump)
        if log:
            log.add("chunk", age, inference=answer.number, value=float(first))
        if self.due[slot] == NEVER:
            # nothing runs: start now, keeping fractions of a tick where there was no wait
            self._count_starved(slot)
            self.nominal[slot] += age - self.idle_since[slot]
            self.due[slot] = age
        elif continuous and self.due[slot] > age:
            self.think[slot] = min(self.think[slot], self.due[slot])  # think again with the next action

    def _outdated(self, slot: int, answer: Answered) -> bool:
        """Whether an answer comes too late to be of use. A slot that would then wait for none thinks again now."""
        kept = self.answers[slot]
        if kept and answer.looked < kept[-1].looked:
            return True  # overtaken by one that saw more
        if answer.looked < self.since[slot]:  # it answers the subtask before
            if not self._under_way(slot):
                self.think[slot] = self.age[slot]
            return True
        return False

    def _count_starved(self, slot: int) -> None:
        since, age = int(self.idle_since[slot]), int(self.age[slot])
        self.starved[slot] += max(0, age - since)
        if age > since and (log := self.events.get(slot)):
            log.add("starve", since, age)

    def _blend(self, slot: int, answers: list[Answered], count: int) -> None:
        """Temporal ensembling: for each coming action the mean of all answers that have one."""
        step = int(self.step[slot])
        for ahead in range(count):
            there = [a for a in answers if 0 <= step + ahead - a.step < len(a.actions)]
            weights = np.exp(-self.clock.decay * np.arange(len(there)))
            actions = np.array([a.actions[step + ahead - a.step] for a in there])
            self.plan[slot, ahead] = weights @ actions / weights.sum()
            self.ends[slot, ahead] = there[-1].ends[step + ahead - there[-1].step]

    def _command(self, slots: np.ndarray) -> None:
        """Actions that are due begin."""
        if not len(slots):
            return
        rates = np.array([self._spec(slot).action_rate for slot in slots.tolist()])
        self.nominal[slots] += 1.0 / (rates * self.world.tick)
        end = np.floor(self.nominal[slots] + 1e-9).astype(np.int64)
        at = self.at[slots]
        self.last[slots] = self.plan[slots, at]
        self.world.command(slots, self.last[slots], end - self.age[slots])
        self.quit[slots] = np.where(self.ends[slots, at], end, NEVER)
        for row, slot in enumerate(slots.tolist()):
            answer, age = self.answers[slot][-1], int(self.age[slot])
            self.aged[slot] += age - answer.looked
            self.arrived_ago[slot] += age - answer.ready
            self.pictured[slot] += 0 if answer.pictured is None else age - answer.pictured
            if log := self.events.get(slot):
                index = int(self.step[slot]) - answer.step if self.clock.chunks != "execute" else int(at[row])
                old = (age - answer.looked) * self.world.tick
                log.add("action", age, int(end[row]), inference=answer.number, action=index, value=old)
        self.step[slots] += 1
        self.at[slots] += 1
        self.left[slots] -= 1
        over = self.left[slots] == 0
        self.idle_since[slots] = end
        self.due[slots] = np.where(over, NEVER, end)
        if self.clock.hold != "target":
            self.held[slots], self.repeat[slots] = np.where(over, end, NEVER), self.nominal[slots]
        free = np.array([not self._under_way(slot) for slot in slots.tolist()])
        wanted = over | (self.clock.chunks != "execute")
        if getattr(self.clock, "computers", "one") == "unlimited":
            free = np.ones(len(slots), dtype=bool)
        self.think[slots] = np.where(free & wanted, np.minimum(end, self.think[slots]), self.think[slots])

    def _hold(self, slots: np.ndarray) -> None:
        """No new action has come, and keeping the last target is not what was asked for."""
        for slot in slots.tolist():
            period = 1.0 / (self._spec(slot).action_rate * self.world.tick)
            action = self.last[slot].copy()
            if self.clock.hold == "zero":
                action[self.delta] = 0.0
            age = int(self.age[slot])
            ids = np.array([slot], dtype=np.int32)
            if self.clock.hold == "tick":
                ticks, self.held[slot] = max(1, round(period)), age + 1
            else:
                self.repeat[slot] += period
                end = int(np.floor(self.repeat[slot] + 1e-9))
                ticks, self.held[slot] = end - age, end if self.clock.hold == "repeat" else NEVER
            self.world.command(ids, action[None], np.array([ticks]))
            if log := self.events.get(slot):
                log.add("hold", age)

    def _plans(self, slots: np.ndarray, chunk: int) -> dict[str, np.ndarray]:
        """Streams `plan` and `committed`: actions to come, and how many will have begun when an answer arrives."""
        plan, committed = np.zeros((len(slots), chunk, self.world.action.size)), np.zeros(len(slots))
        if self.clock.chunks != "rtc":
            return {"plan": plan, "committed": committed}
        for row, slot in enumerate(slots.tolist()):
            left = min(int(self.left[slot]), chunk)
            if left:
                ahead = np.minimum(np.arange(chunk), left - 1)  # its last action to the end
                plan[row] = self.plan[slot, self.at[slot] + ahead]
                committed[row] = min(left, max(self.delays[slot], default=0))
        return {"plan": plan, "committed": committed}

    def _finish(self, slot: int, end: str, blame: str | None = None, error: str | None = None) -> tuple[Job, Outcome]:
        if self.due[slot] == NEVER:
            self._count_starved(slot)
            self.idle_since[slot] = max(self.idle_since[slot], self.age[slot])  # not twice, if the verdict fails
        if log := self.events.get(slot):
            for number, began in self._under_way(slot):  # never to arrive
                log.add("think", began, int(self.age[slot]), inference=number)
        job, outcome = super()._finish(slot, end, blame, error)
        tick, steps = self.world.tick, outcome.steps
        arrived = int(self.calls[slot]) - len(self._under_way(slot))
        outcome.metrics |= {"inferences": float(self.calls[slot]), "starvation_s": self.starved[slot] * tick}
        if arrived > 0:  # else there is nothing to take a mean of
            outcome.metrics["latency_per_inference_s"] = self.waited[slot] / arrived * tick
        if steps > 0:
            sums = {"latency_per_action": self.waited, "observation_age": self.aged, "action_age": self.arrived_ago}
            if self.pictured[slot]:
                sums["frame_age"] = self.pictured
            outcome.metrics |= {f"{name}_s": total[slot] / steps * tick for name, total in sums.items()}
        if seams := self.seams[slot]:
            outcome.metrics |= {"seam_mean": float(np.mean(seams)), "seam_max": float(np.max(seams))}
        return job, outcome
