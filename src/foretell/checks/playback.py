"""A policy in a short real rollout, whose observations are then played back to it in other company.

What is compared is compared bit for bit, because rows of a study must not depend on what ran beside them.
"""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.checks.bits import difference, same
from foretell.checks.report import Report
from foretell.errors import PolicyError
from foretell.fingerprint.loaded import loading
from foretell.policies.make import BoundPolicy
from foretell.policy import Chunk, PolicySpec, as_chunk
from foretell.rollout import Job, run_sync
from foretell.rollout.ask import ask
from foretell.spec import ActionSpec
from foretell.world import World

__all__ = ["EPISODES", "Playback"]

EPISODES = 4
SECONDS = 3.0
"""Simulated time of the real rollout; longer where a policy would be called fewer than four times."""
CALLS = 12
"""Calls of that rollout that are played back to the policy."""
OUT_OF_RANGE = 0.05
"""Share of actions outside the range that is let pass: the driver clips them, and rounding overshoots."""


class Recorder:
    """Stands between driver and policy, and keeps what passes."""

    def __init__(self, bound: BoundPolicy):
        self.bound, self.spec = bound, bound.spec
        self.tape: dict[int, list[dict[str, Any]]] = {}
        """Slot -> what it saw at each call."""
        self.starts: dict[int, tuple[str, int]] = {}
        """Slot -> instruction and seed."""
        self.actions: list[np.ndarray] = []
        self.seconds: list[float] = []
        self.changed: set[str] = set()
        """Observations that `act` modified."""
        self.opened: set[Path] = set()
        """Files that `reset` and `act` read."""

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for slot, instruction, seed in zip(slots.tolist(), instructions, seeds, strict=True):
            self.starts[slot], self.tape[slot] = (instruction, seed), []
        with loading() as files:
            self.bound.reset(slots, instructions, seeds)
        self.opened |= files

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        before = {k: v.copy() for k, v in observations.items()}
        with loading() as files:
            began = time.perf_counter()
            returned = self.bound.act(slots, observations)
            self.seconds.append(time.perf_counter() - began)
        self.opened |= files
        self.changed |= before.keys() ^ observations.keys()
        self.changed |= {k for k in before.keys() & observations.keys() if not same(before[k], observations[k])}
        chunk = as_chunk(returned, len(slots), self.spec)
        first = np.unique(slots, return_index=True)[1]  # what follows is padding
        for row in first.tolist():
            self.tape[int(slots[row])].append({k: v[row] for k, v in before.items()})
        self.actions.append(chunk.actions[first])
        return chunk


class Playback:
    """A short real rollout, then its observations played back to the policy in other slots, orders and company."""

    def __init__(self, report: Report, world: World, bound: BoundPolicy):
        self.report, self.world, self.spec = report, world, bound.spec
        self.recorder = Recorder(bound)
        # the driver clips; here every bit counts
        dims = tuple(dataclasses.replace(d, low=-np.inf, high=np.inf) for d in self.spec.action.dims)
        self.bare = dataclasses.replace(self.spec, action=ActionSpec(self.spec.action.name, dims))
        self.next = EPISODES

    def run(self) -> None:
        look, recorder = self.report.look, self.recorder
        if not look("act", self._rollout):
            return
        done = np.concatenate(recorder.actions)
        took = recorder.seconds[1:] or recorder.seconds  # the first call warms up
        look("finite", lambda: _finite(done))
        look("range", lambda: _in_range(done, self.spec.action))
        self.episodes = [recorder.tape[slot] for slot in range(EPISODES)]
        self.starts = [recorder.starts[slot] for slot in range(EPISODES)]
        self.calls = min(CALLS, *map(len, self.episodes))
        look("seeding", self._seeding)
        look("batch", self._batch)
        look("reset", self._reset)
        look("observations", self._untouched)
        look("time", lambda: (True, _timing(took, self.spec)))

    def _rollout(self) -> tuple[bool, str]:
        task = copy.copy(self.world.task)
        task.time_limit = max(SECONDS, 4 * self.spec.executes / self.spec.action_rate)
        self.world.task = task
        jobs = iter([Job(policy="policy", scenario=task.scenario(seed)) for seed in range(EPISODES)])
        ended = [o for _, o in run_sync(self.world, {"policy": self.recorder}, lambda: next(jobs, None))]
        errors = [o.error for o in ended if o.blame == "policy" and o.error and "not finite" not in o.error]
        if errors:
            return False, f"{len(errors)} of {EPISODES} episodes: {errors[0]}."
        shape = (self.spec.chunk, self.spec.action.size)
        return True, f"{len(self.recorder.seconds)} calls in {EPISODES} episodes gave {shape} (chunk, action) per slot."

    def _play(self, order: Sequence[int], slots: np.ndarray | None = None, shift: int = 0) -> np.ndarray:
        """(rows, calls, chunk, dim + 1) actions and terminations when row j plays episode order[j]; `shift` changes
        the seeds. In slots never used before, unless told."""
        if slots is None:
            slots = np.arange(self.next, self.next + len(order), dtype=np.int32)
            self.next += len(order)
        starts = [self.starts[e] for e in order]
        self.recorder.reset(slots, [s[0] for s in starts], [s[1] + shift for s in starts])
        given = []
        for call in range(self.calls):
            rows = [self.episodes[e][call] for e in order]
            seen = {k: [r[k] for r in rows] if k == "instruction" else np.stack([r[k] for r in rows]) for k in rows[0]}
            answer = ask(self.recorder, self.bare, slots, seen)
            raised = [e for e in answer.errors.values() if "not finite" not in e]
            if raised:
                raise PolicyError(raised[0])
            given.append(np.concatenate([answer.actions, answer.terminate[:, :, None]], axis=2))
        return np.stack(given, axis=1)

    def _seeding(self) -> tuple[bool, str]:
        every = range(EPISODES)
        once, again, other = self._play(every), self._play(every), self._play(every, shift=1)
        if not same(once, again):
            return False, f"the same seeds gave other actions: {difference(once, again)}."
        if self.spec.seeded and same(once, other):
            return False, (
                f"its spec declares it seeded, but other seeds gave the same {once.shape[1]} calls of actions."
            )
        if not self.spec.seeded and not same(once, other):
            return (
                False,
                f"its spec does not declare it seeded, but other seeds gave other actions: {difference(once, other)}.",
            )
        return True, f"same seeds, same actions; other seeds, {'other' if self.spec.seeded else 'same'} actions."

    def _batch(self) -> tuple[bool, str]:
        alone = np.concatenate([self._play([e]) for e in range(EPISODES)])  # a batch filled with itself
        width = max(self.spec.batch or 1, EPISODES)
        mixed = [row % EPISODES for row in range(width)]
        company = {
            "position": [0] * width,  # the same episode in every row
            "neighbours": mixed,
            "order": mixed[::-1],
            "fill": [EPISODES - 1, 0],
        }
        for what, order in company.items():
            actions, expected = self._play(order), alone[order]
            if not same(actions, expected):
                return False, f"a slot's actions depend on {what}: {difference(expected, actions)}."
        return True, f"rows of a batch of {width} equal those of slots run alone, bit for bit, in {len(company)} mixes."

    def _reset(self) -> tuple[bool, str]:
        order = list(range(EPISODES))
        fresh = self._play(order)
        slots = np.arange(self.next, self.next + EPISODES, dtype=np.int32)
        self.next += EPISODES
        self._play(order[::-1], slots)  # other episodes first: what the same one left behind would go unnoticed
        used = self._play(order, slots)
        if not same(fresh, used):
            return False, f"a slot that was used before acts differently from a fresh one: {difference(fresh, used)}."
        return True, f"{EPISODES} slots that other episodes had used gave the same actions as fresh ones."

    def _untouched(self) -> tuple[bool, str]:
        if self.recorder.changed:
            return False, f"act modified its observations: {', '.join(sorted(self.recorder.changed))}."
        return True, f"left as they were in {len(self.recorder.seconds)} calls."


def _finite(actions: np.ndarray) -> tuple[bool, str]:
    bad = int((~np.isfinite(actions)).any(axis=2).sum())
    return bad == 0, f"{bad} of {actions.shape[0] * actions.shape[1]} actions have a value that is not finite."


def _in_range(actions: np.ndarray, spec: ActionSpec) -> tuple[bool, str]:
    slack = 1e-6 * (spec.high - spec.low)
    out = int(((actions < spec.low - slack) | (actions > spec.high + slack)).any(axis=2).sum())
    total = actions.shape[0] * actions.shape[1]
    largest = f"; the largest magnitude is {np.nanmax(np.abs(actions)):.3g}" if out else ""
    detail = f"{out} of {total} actions ({out / total:.1%}) are out of range and would be clipped{largest}."
    return out <= OUT_OF_RANGE * total, detail


def _timing(took: Sequence[float], spec: PolicySpec) -> str:
    period = spec.executes / spec.action_rate
    return (
        f"{1e3 * np.mean(took):.2f} ms per call of {spec.batch or EPISODES} slots (longest {1e3 * max(took):.2f} ms); "
        f"a robot waits {1e3 * period:.0f} ms between calls."
    )
