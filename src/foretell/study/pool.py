"""The engine `processes`: worker processes, kept fed, watched, and replaced when they die or hang.

An episode must not suffer from what ran beside it. When a process dies or a policy hangs, the episodes it was
working on are run again: alone, if they are under suspicion, so that only the guilty one gets an error row.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from foretell.errors import ForetellError, UsageError
from foretell.policy import TIMEOUT
from foretell.process import end, gone, kill, listen, start
from foretell.rollout import Job, Outcome
from foretell.study.engine import Batch
from foretell.study.session import Opened, to_json
from foretell.world_file import opening_of

__all__ = ["Pool"]

START = 60.0
"""Wall seconds a worker may take to answer `open`, besides what the policies take to load."""
LOOK = 0.2
"""Wall seconds between two looks at workers that are silent."""
CLOSE = 1.0
"""Wall seconds that workers have to end by themselves, with the processes that they started."""


@dataclass(kw_only=True)
class _Worker:
    process: subprocess.Popen[str]
    batch: Batch | None = None
    out: dict[str, Job] = field(default_factory=dict)
    """Jobs it has and has not finished, by key."""
    doing: str = "idle"
    keys: list[str] = field(default_factory=list)
    """Jobs that the policy was called for, while `doing` is "policy"."""
    since: float = 0.0
    ended: bool = True
    alone: bool = False
    hung: bool = False
    dead: bool = False
    """Found dead at the last look, although its pipe has not ended."""

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, OSError):
            pass  # it has died; its reader says so in a moment


class Pool:
    """`workers` processes with `slots` episodes side by side in each."""

    def __init__(self, *, workers: int, slots: int, policy_timeout: float = TIMEOUT):
        self.workers, self.slots, self.timeout = workers, slots, policy_timeout
        self._threads = max(1, (os.cpu_count() or 1) // workers)
        self._inbox: queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]] = queue.SimpleQueue()
        self._working = workers
        """Workers that share the jobs of this call."""
        self._crew: list[_Worker] = []
        self._alone: deque[tuple[Batch, Job]] = deque()
        self._deaths: dict[str, int] = {}
        self._kills: dict[str, int] = {}
        self._hire()  # whoever asks for a pool will inspect a group, and the process takes a second to start

    def inspect(self, asked: dict[str, Any]) -> Opened:
        """Open a group and close it again: everything that is wrong with the study shows before it starts."""
        self._settle()
        if not self._crew:
            self._hire()
        worker = self._crew[0]
        worker.send(self._open(asked, 1))
        worker.send({"end": True})
        opened = None
        until = time.monotonic() + START + self.timeout + opening_of(asked["world"])
        while True:
            try:
                _, message = self._inbox.get(timeout=LOOK)
            except queue.Empty:
                self._look_for_dead()
                if time.monotonic() < until:
                    continue
                raise UsageError(f"policies did not load within {START + self.timeout:.0f} s: {_uses(asked)}") from None
            if message is None:
                raise ForetellError(
                    f"a worker died ({_end(worker)}) while loading task {asked['task']!r} and policies {_uses(asked)}"
                )
            if "refused" in message:
                raise UsageError(message["refused"])
            if "opened" in message:
                opened = Opened(**message["opened"])
            if "idle" in message:
                assert opened is not None
                return opened

    def _open(self, asked: dict[str, Any], slots: int) -> dict[str, Any]:
        return {"open": {**to_json(asked), "slots": slots, "threads": self._threads}}

    def run(self, batches: list[Batch], look: Callable[[], None] = lambda: None) -> Iterator[tuple[str, Outcome]]:
        if others := [batch for batch in batches if not batch.timed]:
            yield from self._run(others, self.workers, look)
        if timed := [batch for batch in batches if batch.timed]:
            yield from self._run(timed, 1, look)

    def _run(self, batches: list[Batch], workers: int, look: Callable[[], None]) -> Iterator[tuple[str, Outcome]]:
        """Run every job with at most so many workers."""
        self._settle()
        left = sum(len(batch.jobs) for batch in batches)
        crew = self._working = min(workers, max(1, left))
        while len(self._crew) < crew:
            self._hire()
        for worker in self._crew[:crew]:
            self._assign(worker, batches)
        looked = time.monotonic()
        while left:
            look()
            if (now := time.monotonic()) - looked > LOOK:
                self._look_for_hangs(now, stopped=now - looked > 10 * LOOK)
                self._look_for_dead()
                looked = now
            try:
                worker, message = self._inbox.get(timeout=LOOK)
            except queue.Empty:
                continue
            if worker not in self._crew:
                continue  # the last messages of a worker that was replaced
            if message is not None:
                if (finished := self._hear(worker, message, batches)) is not None:
                    left -= 1
                    yield finished
                continue
            worked = worker.batch is not None
            for finished in self._bury(worker, batches):
                left -= 1
                yield finished
            if left and worked:
                self._hire()
                self._assign(self._crew[-1], batches)

    def _hear(self, worker: _Worker, message: dict[str, Any], batches: list[Batch]) -> tuple[str, Outcome] | None:
        """Take in a message of a worker. Returns the episode that it finished, if it finished one."""
        if "done" in message:
            key = message["done"]
            if worker.out.pop(key, None) is not None:
                self._feed(worker)
                return key, Outcome(**message["outcome"])
        elif "doing" in message:
            worker.doing, worker.keys, worker.since = message["doing"], message["keys"], time.monotonic()
        elif "opened" in message:
            worker.doing, worker.since = "world", time.monotonic()
            if worker.batch is not None:
                worker.batch.opened.check_same(Opened(**message["opened"]))
        elif "idle" in message:
            worker.batch = None
            self._assign(worker, batches)
        elif "refused" in message:
            raise ForetellError(message["refused"])
        return None

    def _settle(self) -> None:
        """Wait for workers that are still closing a group of an earlier call: what they say last is not of this one."""
        until = time.monotonic() + START
        while busy := [worker for worker in self._crew if worker.batch is not None]:
            if time.monotonic() > until:
                for worker in busy:
                    kill(worker.process)
            try:
                worker, message = self._inbox.get(timeout=LOOK)
            except queue.Empty:
                self._look_for_dead()
                continue
            if message is None and worker in self._crew:
                self._crew.remove(worker)
            elif message is not None and {"idle", "refused"} & set(message):
                worker.batch = None

    def close(self) -> None:
        """End all workers, and whatever they or their policies started."""
        for worker in self._crew:
            assert worker.process.stdin is not None
            with contextlib.suppress(OSError):
                worker.process.stdin.close()
        until = time.monotonic() + CLOSE
        for worker in self._crew:
            end(worker.process, max(0.0, until - time.monotonic()))
        self._crew.clear()

    def _hire(self) -> None:
        worker = _Worker(process=start("foretell.study.worker", one_thread=True))
        self._crew.append(worker)
        listen(worker.process, lambda message: self._inbox.put((worker, message)))

    def _assign(self, worker: _Worker, batches: list[Batch]) -> None:
        """Give an idle worker a group: first those to be run alone, then the first with jobs left."""
        if self._alone:
            batch, job = self._alone.popleft()
            worker.batch, worker.alone, worker.ended = batch, True, True
            worker.out = {job.key: job}
            worker.send(self._open(batch.open, 1))
            worker.send({"job": job.to_dict()})
            worker.send({"end": True})
        else:
            batch = next((b for b in batches if b.jobs), None)  # type: ignore[assignment]
            if batch is None:
                return
            others = sum(other.batch is batch for other in self._crew if other is not worker)
            share = math.ceil(len(batch.jobs) / max(1, self._working - others))
            slots = min(self.slots, share)
            worker.batch, worker.alone, worker.ended, worker.out = batch, False, False, {}
            worker.send(self._open(batch.open, slots))
            for _ in range(min(2 * slots, share)):  # as many again as run at once, so that no slot waits for us
                self._feed(worker)
        worker.doing, worker.since = "opening", time.monotonic()

    def _feed(self, worker: _Worker) -> None:
        if worker.ended or worker.batch is None:
            return
        if worker.batch.jobs:
            job = worker.batch.jobs.popleft()
            worker.out[job.key] = job
            worker.send({"job": job.to_dict()})
        else:
            worker.ended = True
            worker.send({"end": True})

    def _look_for_hangs(self, now: float, stopped: bool) -> None:
        """Kill workers that have been silent for too long. `stopped`: we were not looking, so nobody was late."""
        for worker in self._crew:
            if stopped:
                worker.since = now
            if worker.batch is not None and now - worker.since > self._allowed(worker):
                worker.hung = True
                kill(worker.process)

    def _allowed(self, worker: _Worker) -> float:
        """Wall seconds for what the worker is doing."""
        return {"policy": self.timeout, "opening": START + self.timeout}.get(worker.doing, math.inf)

    def _look_for_dead(self) -> None:
        """Dead workers whose pipe has not ended, because a process that a policy forked still holds it. At the second
        look: what they said last has been heard by then."""
        for worker in self._crew:
            if worker.dead:
                self._inbox.put((worker, None))
            worker.dead = gone(worker.process)

    def _bury(self, worker: _Worker, batches: list[Batch]) -> Iterator[tuple[str, Outcome]]:
        """A worker is gone: yield the episodes that are to blame, and queue the others again."""
        self._crew.remove(worker)
        cause, batch = _end(worker), worker.batch
        if batch is None:
            return
        if worker.doing == "opening" and not worker.alone:
            how = f"was silent for {self._allowed(worker):.0f} s" if worker.hung else f"died ({cause})"
            raise ForetellError(
                f"a worker {how} while loading task {batch.open['task']!r} and policies {_uses(batch.open)}"
            )
        in_policy = worker.doing == "policy"
        suspects = [key for key in worker.keys if key in worker.out] if in_policy else []
        guilty = suspects if len(suspects) == 1 or worker.alone else []
        # A SIGKILL from outside, as when memory runs out, says nothing of the policy: it runs once more, alone.
        killed = cause == "SIGKILL" and not worker.hung
        for key, job in worker.out.items():
            if killed and key in suspects:
                self._kills[key] = self._kills.get(key, 0) + 1
                if self._kills[key] < 2:
                    self._alone.append((batch, job))
                    continue
            if key in guilty or worker.alone:
                where = {"policy": "inside the policy", "opening": "while loading"}.get(
                    worker.doing, "outside the policy"
                )
                yield (
                    key,
                    _lost(
                        f"the policy did not answer within {self.timeout:g} s"
                        if worker.hung and in_policy
                        else f"the process died ({cause}) {where}",
                        "policy" if in_policy and not killed else "machine",
                    ),
                )
                continue
            self._deaths[key] = self._deaths.get(key, 0) + 1
            if key in suspects or self._deaths[key] > 1:
                self._alone.append((batch, job))
            else:
                batch.jobs.appendleft(job)


def _lost(error: str, blame: str) -> Outcome:
    """An episode that ended with its process."""
    outcome = Outcome(end="error", blame=blame, error=error, wall_started=time.time())
    if blame == "policy":
        outcome.success_any = outcome.success_end = outcome.success = False
        outcome.failure_reason = "policy error"
    return outcome


def _end(worker: _Worker) -> str:
    """Waits for a worker that has closed its pipe, and says how it ended."""
    code = end(worker.process, patience=5.0)
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _uses(asked: dict[str, Any]) -> str:
    return ", ".join(f"{name} ({entry.use})" for name, entry in asked["policies"].items())
