"""What all drivers have in common: slots kept full, policies asked, time passed, tasks judged, outcomes written.

A clock's driver adds `_round`: what happens in the active slots, from one moment to the next.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from foretell.errors import raised, traced
from foretell.policy import PolicySpec, observed
from foretell.rollout.ask import ask
from foretell.rollout.events import Events
from foretell.rollout.guard import WorldFailed, guarded
from foretell.rollout.job import Job, Outcome
from foretell.rollout.settle import settle
from foretell.rollout.sight import PolicySight
from foretell.rollout.steps import StepsFile
from foretell.rollout.video import AFTER_S, Video
from foretell.seeding import seed
from foretell.world import EpisodeCut, World, whole_ticks

__all__ = ["Driver"]

BEAT_S = 0.5
"""Wall seconds between two signs of life while a policy is called for one slot after another."""


class Driver:
    """Runs jobs in the slots of a world. Slots are refilled as episodes end; policies may be mixed."""

    VIDEO = Video

    def __init__(self, world: World, policies: Mapping[str, Any], watch: Callable[[str, list[Job]], None]):
        self.world, self.policies, self.watch = (world := guarded(world)), policies, watch
        self.specs: dict[str, PolicySpec] = {name: p.spec for name, p in policies.items()}
        self.sights = {name: PolicySight(world, observed(spec.reads)) for name, spec in self.specs.items()}
        slots, dim = world.slots, world.action.size
        longest = max((spec.chunk for spec in self.specs.values()), default=1)
        self.jobs: list[Job | None] = [None] * slots
        self.outcomes: list[Outcome] = [Outcome() for _ in range(slots)]
        self.videos: dict[int, Video] = {}
        self.events: dict[int, Events] = {}
        self.steps: dict[int, StepsFile] = {}
        self.last = np.zeros((slots, dim))  # action begun last
        self.plan = np.zeros((slots, longest, dim))
        self.ends = np.zeros((slots, longest), dtype=bool)
        self.left = np.zeros(slots, dtype=np.int64)  # actions of the plan still to run
        self.step = np.zeros(slots, dtype=np.int64)
        self.age = np.zeros(slots, dtype=np.int64)  # ticks
        self.solved = np.zeros(slots, dtype=bool)
        self.watched = np.zeros(slots, dtype=bool)  # whether anybody could tell before the end
        self.clipped = np.zeros(slots, dtype=np.int64)
        self.apart = np.zeros(slots, dtype=bool)  # the policy is called for this slot alone
        self.lost: set[int] = set()  # slots whose policy could not be reached when policies were last asked
        self.gone: set[int] = set()  # slots whose episode ended or started anew when policies were asked
        self.drained = False  # the source has no more
        self.suspects: deque[Job] = deque()  # one of them made the world fail: each runs again, alone in the world
        self.alone = False  # whether one of them runs
        self.limit = whole_ticks(1, 1.0 / world.tick, 1.0 / world.task.time_limit)

    def run(self, source: Callable[[], Job | None]) -> Iterator[tuple[Job, Outcome]]:
        try:
            while True:
                try:
                    yield from self._refill(source)
                    active = np.array([i for i, job in enumerate(self.jobs) if job is not None], dtype=np.int32)
                    if len(active):
                        yield from self._round(active)
                    elif self.drained and not self.suspects:
                        return
                except WorldFailed as failed:
                    yield from self._failed(failed)
                except EpisodeCut as cut:  # of a world with one slot
                    yield self._finish(0, cut.end, cut.blame, str(cut) if cut.blame else None)
        finally:
            for video in self.videos.values():
                video.abandon()

    def _round(self, active: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """Let something happen in every active slot; yields the episodes that end."""
        raise NotImplementedError

    def _failed(self, failed: WorldFailed) -> Iterator[tuple[Job, Outcome]]:
        """A method of the world raised. One episode alone is ended by it; of several, nobody knows which it was, and a
        row must not depend on its neighbours: each starts anew, alone."""
        active = [slot for slot, job in enumerate(self.jobs) if job is not None]
        self.gone = set()
        for slot in active:
            if slot in self.videos:
                self.videos.pop(slot).abandon()
            if (steps := self.steps.pop(slot, None)) and len(active) == 1:
                steps.write()  # without the present state, which the world may not tell any more
        if len(active) == 1:
            old, slot = self.outcomes[active[0]], active[0]
            passed = time.time() - old.wall_started - time.perf_counter()
            self.outcomes[slot] = Outcome(
                wall_started=old.wall_started, wall_s=passed, wall_policy_s=old.wall_policy_s, trace=failed.trace
            )
            yield self._finish(slot, "error", "world", str(failed))
            return
        for slot in active:
            self.events.pop(slot, None)
            self.suspects.append(self._job(slot))
            self.jobs[slot] = None

    def _judge(self, slots: np.ndarray, done: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """Look whether the task is solved, and end what is over; `done` (n,): the policy declared itself done."""
        faults = self.world.faults(slots)
        seen = self.world.progress(slots)
        now = np.zeros(len(slots), dtype=bool) if seen is None else seen
        self.solved[slots] |= now
        self.watched[slots] = seen is not None
        for slot in slots.tolist() if self.steps or self.videos else ():
            self._note(slot, judged=True)
        if done.any():  # a task may have more to ask
            ended, done = slots[done], done.copy()
            done[done] = ends = self.world.terminate(ended)
            if not ends.all():
                self._go_on(ended[~ends])
        early = self.world.task.success_rule == "any"
        if (ended := getattr(self.world, "over", None)) is not None:
            done = done | ended(slots)
        over = (now & early) | done | (self.age[slots] >= self.limit)
        for row in np.flatnonzero(over | np.isin(slots, list(faults))).tolist():
            slot = int(slots[row])
            if slot in faults:
                yield self._finish(slot, "error", "world", faults[slot])
            elif now[row] and early:
                yield self._finish(slot, "success")
            else:
                yield self._finish(slot, "terminated" if done[row] else "time_limit")

    def _go_on(self, slots: np.ndarray) -> None:
        """The task asks for its next subtask in these slots: what is left of their plans was made for the last one."""
        self.left[slots] = 0

    def _note(self, slot: int, judged: bool = False) -> None:
        """Keep what is asked for of this moment: the state, and a picture."""
        if slot in self.steps:
            self.steps[slot].note(self.world, int(self.age[slot]), self.last[slot], judged)
        if slot in self.videos:
            self.videos[slot].shoot(self.world)

    def _think(self, slots: np.ndarray, plan: np.ndarray, ends: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """Ask policies for these slots and write the answers into `plan` and `ends`; yields episodes that end with it.
        Those whose call failed together with others' start anew."""
        failed, unsure = self._act(slots, plan, ends)
        for slot, message in failed.items():
            yield self._finish(slot, "error", "machine" if slot in self.lost else "policy", message)
        if unsure:
            yield from self._again(unsure)
        self.gone = {*failed, *unsure}

    def _act(self, slots: np.ndarray, plan: np.ndarray, ends: np.ndarray) -> tuple[dict[int, str], list[int]]:
        """Ask policies. Returns slot -> error, and the slots that shared a call that failed."""
        failed: dict[int, str] = {}
        unsure: list[int] = []
        self.lost = set()
        for name in dict.fromkeys(self._job(slot).policy for slot in slots.tolist()):
            mine = np.array([s for s in slots.tolist() if self._job(s).policy == name], dtype=np.int32)
            spec = self.specs[name]
            seen = self.sights[name].view(mine)
            if len(observed(spec.reads)) < len(spec.reads):
                seen |= self._plans(mine, spec.chunk)
            beat = self._beat([self._job(slot) for slot in mine.tolist()])
            began = time.perf_counter()
            answer = ask(self.policies[name], spec, mine, seen, self.apart[mine], beat)
            share = (time.perf_counter() - began) / len(mine)
            self.watch("world", [])
            plan[mine, : spec.chunk] = answer.actions
            ends[mine, : spec.chunk] = answer.terminate
            self.clipped[mine] += answer.clipped
            for row, slot in enumerate(mine.tolist()):
                self.outcomes[slot].wall_policy_s += share
                self.outcomes[slot].trace = answer.traces.get(row)
            failed |= {int(mine[row]): text for row, text in answer.errors.items() if row not in answer.unsure}
            unsure += [int(mine[row]) for row in answer.unsure]
            self.lost |= {int(mine[row]) for row in answer.lost}
        return failed, unsure

    def _plans(self, slots: np.ndarray, chunk: int) -> dict[str, np.ndarray]:
        """Streams `plan` (n, chunk, dim) and `committed` (n,): nothing runs while a policy thinks."""
        return {"plan": np.zeros((len(slots), chunk, self.world.action.size)), "committed": np.zeros(len(slots))}

    def _beat(self, jobs: list[Job]) -> Callable[[], None]:
        """Tells the watch that the policy is called for these jobs: at once, and again at later calls, but seldom."""
        last = 0.0

        def beat() -> None:
            nonlocal last
            if time.monotonic() - last > BEAT_S:
                last = time.monotonic()
                self.watch("policy", jobs)

        return beat

    def _advance(self, active: np.ndarray, until: np.ndarray, at_action: np.ndarray) -> None:
        """Let time pass until each slot's tick `until`, stopping where a stream wants a sample. Where `at_action` (n,),
        that tick is one at which streams without a rate of their own are sampled."""
        names = {self._job(slot).policy for slot in active.tolist()}
        by_policy = {
            n: np.flatnonzero([self._job(s).policy == n for s in active.tolist()]) if len(names) > 1 else slice(None)
            for n in names
        }
        while True:
            left = until - self.age[active]
            going = left > 0
            if not going.any():
                return
            step = left.copy()
            for name, rows in by_policy.items():
                step[rows] = np.minimum(left[rows], self.sights[name].wait(active[rows], self.age[active[rows]]))
            moving = active if going.all() else active[going]
            self.world.advance(moving, step if going.all() else step[going])
            self.age[active] += np.where(going, step, 0)
            for name, rows in by_policy.items():
                acting = (self.age[active[rows]] >= until[rows]) & at_action[rows]
                for now in (False, True):
                    ids = active[rows][going[rows] & (acting == now)]
                    if len(ids):
                        self.sights[name].sample(ids, self.age[ids], now)

    def _refill(self, source: Callable[[], Job | None]) -> Iterator[tuple[Job, Outcome]]:
        """Give every free slot a job; one slot only, while there are episodes that must run alone."""
        free = [i for i, job in enumerate(self.jobs) if job is None]
        if self.alone or self.suspects:
            if len(free) < len(self.jobs):
                return
            self.alone = bool(self.suspects)
            if self.alone:
                free, source = free[:1], self.suspects.popleft
        fresh: list[int] = []
        for slot in free:
            job = source()
            if job is None:
                self.drained = True
                break
            self.jobs[slot] = job
            self.outcomes[slot] = Outcome(wall_started=time.time(), wall_s=-time.perf_counter())
            fresh.append(slot)
        self.apart[fresh] = False
        if fresh:
            yield from self._start(fresh)

    def _again(self, unsure: list[int]) -> Iterator[tuple[Job, Outcome]]:
        """Start these episodes anew, with calls of their own: a call that failed may have left any of them in a state
        that it would not be in without its neighbours, and a row must not depend on what ran beside it."""
        for slot in unsure:
            if slot in self.videos:
                self.videos.pop(slot).abandon()
            self.events.pop(slot, None)
            self.steps.pop(slot, None)
            self.outcomes[slot] = Outcome(wall_started=time.time(), wall_s=-time.perf_counter())
        self.apart[unsure] = True
        yield from self._start(unsure)

    def _start(self, fresh: list[int]) -> Iterator[tuple[Job, Outcome]]:
        """Set the table for the jobs in these slots; yields those that the policy fails to begin."""
        slots = np.array(fresh, dtype=np.int32)
        jobs = [self._job(slot) for slot in fresh]
        for field in (self.left, self.step, self.age, self.clipped):
            field[slots] = 0
        self.last[slots] = 0.0
        self.solved[slots] = self.watched[slots] = False
        for slot, job in zip(fresh, jobs, strict=True):
            if job.events is not None:
                self.events[slot] = Events(job.events, self.world.tick)
        if (announce := getattr(self.world, "announce", None)) is not None:
            announce(slots, [j.key for j in jobs])
        self.world.reset(slots, [j.scenario for j in jobs], [j.trial for j in jobs])
        for name in dict.fromkeys(j.policy for j in jobs):
            mine = [j for j in jobs if j.policy == name]
            ids = np.array([s for s in fresh if self._job(s).policy == name], dtype=np.int32)
            self.watch("policy", mine)
            failed = self._reset(name, ids, mine)
            self.watch("world", [])
            for slot, error in failed.items():
                yield self._finish(slot, "error", "policy", error)
            started = np.array([s for s in ids.tolist() if s not in failed], dtype=np.int32)
            if len(started):
                self.sights[name].start(started)
        for slot in fresh:
            begun = self.jobs[slot]  # None where the policy failed to begin
            if begun is not None and begun.steps is not None:
                self.steps[slot] = StepsFile(begun.steps, slot)
            if begun is not None and begun.video is not None:
                strip = begun.steps.with_suffix(".jpg") if begun.steps else None
                self.videos[slot] = self.VIDEO(
                    begun.video,
                    slot=slot,
                    rate=self._spec(slot).action_rate,
                    time_limit=self.world.task.time_limit,
                    camera=begun.camera,
                    strip=strip,
                )
            self._note(slot)

    def _reset(self, name: str, slots: np.ndarray, jobs: list[Job]) -> dict[int, str]:
        """Tell a policy of new episodes: all at once, or one by one where that fails. Returns slot -> error."""
        reset = getattr(self.policies[name], "reset", None)
        if reset is None:
            return {}
        try:
            seeds = [seed(j.scenario.base, j.trial, "policy") for j in jobs]
            reset(slots, [j.scenario.instruction for j in jobs], seeds)
        except Exception as error:
            if len(jobs) == 1:
                self.outcomes[int(slots[0])].trace = traced(error)
                return {int(slots[0]): f"reset raised {raised(error)}"}
            failed: dict[int, str] = {}
            for row, job in enumerate(jobs):
                failed |= self._reset(name, slots[row : row + 1], [job])
            return failed
        return {}

    def _finish(self, slot: int, end: str, blame: str | None = None, error: str | None = None) -> tuple[Job, Outcome]:
        job, outcome = self._job(slot), self.outcomes[slot]
        outcome.wall_s += time.perf_counter()
        outcome.end, outcome.blame, outcome.error = end, blame, error
        outcome.steps, outcome.sim_s = int(self.step[slot]), float(self.age[slot] * self.world.tick)
        if self.clipped[slot]:
            outcome.metrics["out_of_range_actions"] = float(self.clipped[slot])
        if slot in self.steps:  # between two actions, if a policy fails while it thinks
            self.steps[slot].note(self.world, int(self.age[slot]), self.last[slot])
        if blame in (None, "policy"):  # else nobody was tried
            verdict = self.world.verdict(np.array([slot], dtype=np.int32))[0]
            settle(outcome, self.world.task, verdict, bool(self.solved[slot]) if self.watched[slot] else None)
        if (filmed := getattr(self.world, "filmed", None)) is not None:
            outcome.film = filmed(slot)
        if slot in self.videos:
            if end == "success":
                self._linger(slot)
            self.videos.pop(slot).close()
        if slot in self.steps:
            self.steps.pop(slot).write()
        if slot in self.events:
            self.events.pop(slot).write()
        self.jobs[slot] = None
        return job, outcome

    def _linger(self, slot: int) -> None:
        """Film on for a while after the outcome is known: who sees only the instant of success doubts it."""
        rate, at = self._spec(slot).action_rate, np.array([slot], dtype=np.int32)
        for _ in range(round(AFTER_S * rate)):
            ticks = np.array([whole_ticks(1, 1.0 / self.world.tick, rate)])
            self.world.advance(at, ticks)
            self.age[slot] += int(ticks[0])
            self._note(slot)

    def _job(self, slot: int) -> Job:
        job = self.jobs[slot]
        assert job is not None
        return job

    def _spec(self, slot: int) -> PolicySpec:
        return self.specs[self._job(slot).policy]
