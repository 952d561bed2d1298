"""The `realtime` clock: physics runs by the clock on the wall, the policy thinks in a process of its own, cameras are
drawn in a third. Nobody waits for anybody.

One episode at a time. A machine that does not keep up ends the episode with an error of its own (`blame=machine`):
such an episode says nothing about the policy.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from foretell.clock import Realtime
from foretell.errors import UsageError
from foretell.policy import TIMEOUT, observed
from foretell.rollout.asynchronous import NEVER, Answered, AsynchronousDriver
from foretell.rollout.companion import CompanionDied, CompanionFailed
from foretell.rollout.hurry import hurry
from foretell.rollout.job import Job, Outcome
from foretell.rollout.mind import SNAPSHOT, START_S, Launch, Mind
from foretell.rollout.sight import PolicySight
from foretell.rollout.thinker import ANSWERS, WARM_UP, as_bytes
from foretell.rollout.video import LateVideo
from foretell.seeding import seed
from foretell.world import Drawing, World, whole_ticks

__all__ = ["Launch", "run_realtime"]

KEEPS_UP, WINDOW_S = 0.99, 0.5
"""Realised over asked speed, in any window of so many wall seconds, below which a machine is too slow."""
REALITY = 0.8
"""The same in a world that cannot wait: reality goes on by itself meanwhile, and only commands are late."""
LISTEN_S = 0.02
"""Wall seconds between two looks at what the other processes say."""
BLIND_S = 5.0
"""Wall seconds without a picture after which the cameras' process counts as hung."""


class TooSlow(Exception):  # noqa: N818 - says what happened
    """The machine did not keep up."""


def run_realtime(
    world: World,
    policies: Mapping[str, Any],
    source: Callable[[], Job | None],
    watch: Callable[[str, list[Job]], None] = lambda doing, jobs: None,
    clock: Realtime = Realtime(),  # noqa: B008 - frozen
    *,
    launch: Launch,
    patience: float = TIMEOUT,
    view: bool = False,
) -> Iterator[tuple[Job, Outcome]]:
    """Run jobs like `run_sync`, in real time. `patience`: wall seconds after which a call of a policy counts as hung.
    `view`: show it in a window of the world's."""
    if world.slots != 1:
        raise UsageError(f"the realtime clock runs one episode at a time, the world has {world.slots} slots")
    driver = _Realtime(world, policies=policies, watch=watch, clock=clock, launch=launch, patience=patience, view=view)
    try:
        yield from driver.run(source)
    finally:
        driver.close()


class _Realtime(AsynchronousDriver):
    clock: Realtime
    VIDEO = LateVideo

    def __init__(
        self,
        world: World,
        *,
        policies: Mapping[str, Any],
        watch: Any,
        clock: Realtime,
        launch: Launch,
        patience: float,
        view: bool,
    ):
        super().__init__(world, policies, watch, clock)
        self.patience = patience
        self.keeps_up = KEEPS_UP if "wait" in self.world.can else REALITY
        self.minds = {
            name: Mind(name, spec=spec, world=world, launch=launch, view=view) for name, spec in self.specs.items()
        }
        for name, mind in self.minds.items():
            # cameras are drawn elsewhere
            own = {k: s for k, s in observed(mind.spec.reads).items() if k not in mind.cameras}
            self.sights[name] = PolicySight(self.world, own)
        self.number = -1
        self.asked = self.answered = -1  # numbers of inferences
        self.asked_at, self.asked_tick = 0.0, 0  # when the last one was, on the wall and in ticks
        self.started, self.listened = 0.0, 0.0
        self.trail: deque[tuple[float, int]] = deque()  # (wall, tick)
        self.latencies: list[float] = []
        self.late: list[float] = []  # wall seconds by which ticks were late
        self.drawn: dict[int, float] = {}  # tick of a frame -> when it was asked for
        self.sensor: list[float] = []
        self.seen_at = 0.0  # when the last picture came
        self.camera_next = NEVER
        self.flood = (0, 0)  # (action period, chunks that came within it)
        self.frame = 0
        self.drives = False
        self.taken = 0  # looks of a policy that keeps its own time
        self.again: list[Job] = []  # to be run once more
        self.killed: Job | None = None  # the one that was last

    def close(self) -> None:
        gc.enable()
        hurry(False)
        for mind in self.minds.values():
            mind.close()

    def run(self, source: Callable[[], Job | None]) -> Iterator[tuple[Job, Outcome]]:
        yield from super().run(lambda: self.again.pop() if self.again else source())

    def _lost(self, mind: Mind, died: CompanionDied) -> Iterator[tuple[Job, Outcome]]:
        """The policy's process is gone. One that was killed by somebody else, as the system does when memory runs out,
        says nothing of the policy: the episode runs once more, and is then the machine's."""
        mind.drop("thinker")
        job = self._job(0)
        ended = self._finish(0, "error", "machine" if died.killed else "policy", f"its process {died}")
        if died.killed and self.killed is not job:
            self.killed = job
            self.again.append(job)
        else:
            yield ended

    # -- an episode's start -------------------------------------------------------------------------------------

    def _start(self, fresh: list[int]) -> Iterator[tuple[Job, Outcome]]:
        gc.enable()
        job = self._job(0)
        mind = self.minds[job.policy]
        for other in self.minds.values():
            other.bury()
        self.number += 1
        self.asked = self.answered = -1
        self.latencies, self.late, self.sensor, self.drawn = [], [], [], {}
        self.flood = (0, 0)
        if "reset" not in self.world.can:
            # nobody waits at a table that is set, or sees by a wait that another policy comes
            for each in self.minds.values() if self.number == 0 else (mind,):
                with contextlib.suppress(CompanionDied, CompanionFailed):  # it is tried again below
                    each.free()
                    each.open()
        yield from super()._start(fresh)
        if self.jobs[0] is None:
            return
        try:
            mind.open()
            self._reset_eye(mind, job)
        except (CompanionDied, CompanionFailed) as error:
            which = "policy" if mind.thinker is None else "cameras"
            mind.drop("eye")
            yield self._finish(0, "error", "machine", f"the process of the {which} {error}")
            return
        self._publish(mind)
        try:
            self._reset_thinker(mind, job)
        except CompanionDied as died:
            yield from self._lost(mind, died)
            return
        except CompanionFailed as error:
            self.outcomes[0].trace = error.trace
            yield self._finish(0, "error", "policy", str(error))
            return
        self.frame, self.rate = 0, self._camera_rate(mind)
        self.camera_next = NEVER if mind.eye is None else int(whole_ticks(1, 1.0 / self.world.tick, self.rate))
        mind.answers.skip()
        gc.collect()
        gc.disable()  # a collection can take longer than a tick
        for companion in (mind.thinker, mind.eye):
            if companion is not None:
                companion.tell({"go": self.number})
        if log := self.events.get(0):
            log.wall = lambda: time.perf_counter() - self.started
        hurry(True)
        self.trail.clear()
        self.started = self.listened = self.seen_at = self.asked_at = time.perf_counter()

    def _camera_rate(self, mind: Mind) -> float:
        rates = {s.rate for s in mind.cameras.values()}
        if len(rates) > 1:
            raise UsageError(f"policy {mind.name!r}: its cameras have rates {rates}; realtime takes one for all")
        rate = rates.pop() if rates else None
        if rate is None and any(s.history > 1 for s in mind.cameras.values()):
            return mind.spec.action_rate
        return self.clock.camera_rate if rate is None else rate

    def _reset_eye(self, mind: Mind, job: Job) -> None:
        if mind.eye is not None:
            scenario = job.scenario.model_dump(mode="json")
            mind.eye.tell({"reset": self.number, "scenario": scenario, "trial": job.trial})
            mind.eye.wait("reset", START_S, self.number)

    def _reset_thinker(self, mind: Mind, job: Job) -> None:
        assert mind.thinker is not None
        drawn = seed(job.scenario.base, job.trial, "policy")
        mind.thinker.tell({"reset": self.number, "instruction": job.scenario.instruction, "seed": drawn})
        patience = self.patience * (1 + WARM_UP)  # for the first episode it thinks beforehand
        self.drives = mind.thinker.wait("reset", patience, self.number)["drives"]

    def _reset(self, name: str, slots: np.ndarray, jobs: list[Job]) -> dict[int, str]:
        return {}  # the policy is told in its own process

    # -- while it runs ------------------------------------------------------------------------------------------

    def _publish(self, mind: Mind) -> None:
        """Show the policy the world as it is now."""
        slots = np.zeros(1, dtype=np.int32)
        seen = self.sights[mind.name].view(slots)
        values = {name: seen[name][0] for name in seen if name not in ("time", "instruction")}
        values |= {"tick": self.age[0], "time": self.age[0] * self.world.tick, "step": self.step[0]}
        values |= {"episode": self.number, "asked": self.asked, "instruction": as_bytes(seen["instruction"][0])}
        if "plan" in mind.spec.reads or "committed" in mind.spec.reads:
            plans = self._plans(slots, mind.spec.chunk)
            values |= {"plan": plans["plan"][0], "committed": plans["committed"][0]}
        mind.sight.write(values)

    def _ask(self, slots: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """Wake the policy, unless it keeps its own time."""
        yield from ()
        if not len(slots):
            return
        mind = self._mind
        if self.drives:
            self.think[0] = NEVER
            return
        self.asked, self.asked_tick, _ = self._asked(0)
        self.asked_at = time.perf_counter()
        self._publish(mind)
        mind.call(mind.wake)
        if log := self.events.get(0):
            log.add("look", self.asked_tick, inference=self.asked)

    @property
    def _mind(self) -> Mind:
        return self.minds[self._job(0).policy]

    def _under_way(self, slot: int) -> list[tuple[int, int]]:
        silent = [(self.asked, self.asked_tick)] if self.asked > self.answered else []
        return super()._under_way(slot) + silent

    def _receive(self, active: np.ndarray) -> None:
        mind = self._mind
        if not mind.answers.waiting:
            return
        period = int(self.age[0] * self.world.tick * mind.spec.action_rate)
        if period != self.flood[0]:
            self.flood = (period, 0)
        self.flood = (period, self.flood[1] + mind.answers.waiting)
        if self.flood[1] > ANSWERS:
            raise _Failed(f"it flooded: more than {ANSWERS} chunks came within one action period")
        for message in mind.answers.take():
            if int(message["episode"]) != self.number:
                continue
            number, began = int(message["number"]), self.asked_tick
            if number < 0:  # of a policy that keeps its own time
                self.asked_at = time.perf_counter()
                number, began = int(self.calls[0]), int(message["looked"])
                self.calls[0] += 1
            self.answered = max(self.answered, number)
            self.clipped[0] += int(message["clipped"])
            self.latencies.append(float(message["ended"] - message["began"]))
            now, looked, step = int(self.age[0]), int(message["looked"]), int(message["step"])
            pictured = int(message["pictured"]) if mind.cameras else None
            answer = Answered(
                ready=now,
                number=number,
                began=began,
                looked=looked,
                step=step,
                actions=message["actions"],
                ends=message["ends"] > 0,
                pictured=pictured,
            )
            self.coming[0].append(answer)

    def _no_later(self, active: np.ndarray) -> np.ndarray | int:
        return int(self.age[0]) + 1

    def _advance(self, active: np.ndarray, until: np.ndarray, at_action: np.ndarray) -> None:
        """One tick, when its time has come."""
        due = self.started + float(until[0]) * self.world.tick / self.clock.speed
        if (wait := due - time.perf_counter()) > 0:
            time.sleep(wait)
        super()._advance(active, until, at_action)
        now = time.perf_counter()
        self.late.append(now - due)
        mind = self._mind
        if self.age[0] >= self.camera_next:
            self._snap(mind, now)
        if self.drives or (self.asked > self.answered and mind.sight.taken < mind.sight.written):
            self._publish(mind)  # it has not looked yet: the newest wins
        self._keep_up(now)

    def _snap(self, mind: Mind, now: float) -> None:
        assert mind.snapshots is not None
        seen = cast(Drawing, self.world).snapshot(0)
        padded = np.zeros(SNAPSHOT)
        padded[: len(seen)] = seen
        tick = int(self.age[0])
        mind.snapshots.write({"tick": tick, "episode": self.number, "size": len(seen), "numbers": padded})
        mind.call(mind.wake_eye)
        self.drawn[tick] = now
        self.frame += 1
        self.camera_next = int(whole_ticks(self.frame + 1, 1.0 / self.world.tick, self.rate))

    def _keep_up(self, now: float) -> None:
        tick = int(self.age[0])
        self.trail.append((now, tick))
        while now - self.trail[0][0] > WINDOW_S:
            then, before = self.trail.popleft()
            speed = (tick - before) * self.world.tick / (now - then)
            if speed < self.keeps_up * self.clock.speed:
                raise TooSlow(
                    f"the machine reached a speed of {speed:.3g} instead of {self.clock.speed:g}, over {WINDOW_S} s "
                    f"before {tick * self.world.tick:.3g} s"
                )

    def _round(self, active: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        try:
            yield from super()._round(active)
            if self.jobs[0] is not None and time.perf_counter() - self.listened > LISTEN_S:
                self._listen(self._mind)
        except TooSlow as slow:
            yield self._finish(0, "error", "machine", str(slow))
        except _Failed as failed:
            yield self._finish(0, "error", failed.blame, str(failed))
        except CompanionDied as died:
            yield from self._lost(self._mind, died)
        except _Blind as blind:
            yield self._finish(0, "error", "machine", str(blind))

    def _listen(self, mind: Mind) -> None:
        """Hear what the other processes say, and that they live."""
        now = self.listened = time.perf_counter()
        assert mind.thinker is not None
        while message := mind.thinker.heard():
            if message.get("failed") == self.number:
                self.outcomes[0].trace = message.get("trace")
                raise _Failed(message["error"], "machine" if message.get("lost") else "policy")
        if self.drives and mind.sight.taken != self.taken:
            self.taken, self.asked_at = mind.sight.taken, now
        if (self.drives or self.asked > self.answered) and now - self.asked_at > self.patience:
            mind.drop("thinker")
            raise _Failed(f"{'drive' if self.drives else 'act'} was silent for {self.patience:g} s")
        if mind.eye is not None:
            try:
                while message := mind.eye.heard():
                    self.seen_at = now
                    if (began := self.drawn.pop(message.get("frame", -1), None)) is not None:
                        self._saw(int(message["frame"]), message["at"] - began)
            except CompanionDied as died:
                mind.drop("eye")
                raise _Blind(f"the cameras' process {died}") from None
            if self.drawn and now - self.seen_at > BLIND_S:
                mind.drop("eye")
                raise _Blind(f"the cameras' process drew nothing for {BLIND_S:g} s")

    def _saw(self, tick: int, took: float) -> None:
        self.sensor.append(took)
        if log := self.events.get(0):
            log.add("frame", tick, tick + round(took * self.clock.speed / self.world.tick), value=0.0)

    def _finish(self, slot: int, end: str, blame: str | None = None, error: str | None = None) -> tuple[Job, Outcome]:
        gc.enable()
        hurry(False)
        mind = self._mind
        mind.end(self.number)
        job, outcome = super()._finish(slot, end, blame, error)
        walls = {"wall_inference": self.latencies, "wall_late": self.late, "wall_frame": self.sensor}
        for name, values in walls.items():
            if values:
                middle, most, worst = np.quantile(values, [0.5, 0.99, 1.0]).tolist()
                outcome.metrics |= {f"{name}_median_s": middle, f"{name}_p99_s": most, f"{name}_max_s": worst}
        return job, outcome


class _Failed(Exception):  # noqa: N818 - says what happened
    """The policy did something wrong, or the way to it broke, which is the machine's."""

    def __init__(self, why: str, blame: str = "policy"):
        super().__init__(why)
        self.blame = blame


class _Blind(Exception):  # noqa: N818 - says what happened
    """There are no cameras any more."""
