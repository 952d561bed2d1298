"""Situations to ask a policy about: the scripted expert drives, and the policy is asked what it would do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import PolicyError, UsageError
from foretell.policies.expert import Expert
from foretell.policies.make import BoundPolicy, bind
from foretell.policy import PLANS, Policy, PolicySpec, observed
from foretell.rollout import Job, run_sync
from foretell.rollout.ask import ask
from foretell.spec import ActionSpec
from foretell.world import World

__all__ = ["SideBySide", "gather"]

EPISODES = 6
CALLS = 3
"""Calls at the start of an episode that are asked again with something changed."""


@dataclass(kw_only=True)
class SideBySide:
    """What the policy answered beside the expert. k is the number of actions compared."""

    bound: BoundPolicy
    answers: Floats
    """(k, dim) of the policy"""
    expert: Floats | None
    """(k, dim) of the expert in the same situations; None where it does not speak the controller's actions."""
    tape: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """Slot -> what the policy saw at each call."""
    starts: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Slot -> instruction and seed."""
    _next: int = 1000

    def again(self, change: Callable[[dict[str, Any]], None] = lambda seen: None) -> Floats:
        """(episodes, CALLS, chunk, dim) answers to the first calls of all episodes, asked anew with a change."""
        rows = [slot for slot, calls in self.tape.items() if len(calls) >= CALLS] or list(self.tape)[:1]
        slots = np.arange(self._next, self._next + len(rows), dtype=np.int32)
        self._next += len(rows)
        texts = []
        for slot in rows:
            seen = {"instruction": [self.starts[slot][0]]}
            change(seen)
            texts.append(seen["instruction"][0])
        self.bound.reset(slots, texts, [self.starts[slot][1] for slot in rows])
        given = []
        for call in range(min([CALLS, *(len(self.tape[slot]) for slot in rows)])):
            shown = [self.tape[slot][call] for slot in rows]
            call_seen: dict[str, Any] = {k: np.stack([row[k] for row in shown]) for k in shown[0] if k != "instruction"}
            call_seen["instruction"] = [row["instruction"] for row in shown]
            change(call_seen)
            given.append(_answer(self.bound, slots, call_seen))
        return np.stack(given, axis=1)


class _Witness(Policy):
    """The expert, with the policy beside it: it sees the same and answers, and nothing of that is run."""

    def __init__(self, bound: BoundPolicy, episodes: int):
        self.bound, self.episodes = bound, episodes
        self.tape: dict[int, list[dict[str, Any]]] = {}
        self.starts: dict[int, tuple[str, int]] = {}
        self.plans: dict[int, list[Floats]] = {}
        self.shown: dict[int, list[Floats]] = {}
        self._expert: Expert | None = Expert()

    def bind(self, task: Any, action: ActionSpec) -> None:
        own = self.bound.spec
        reads = observed(own.reads)
        try:
            assert self._expert is not None
            self._expert.bind(task, action)
            if self._expert.spec.action != action and self._expert.spec.action.name != action.name:
                raise UsageError("other actions")
            reads = {**self._expert.spec.reads, **reads}
        except (NotImplementedError, UsageError):
            self._expert = None
        self.spec = PolicySpec(reads=reads, action=own.action, action_rate=task.action_rate, batch=None, seeded=True)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for slot, text, seed in zip(slots.tolist(), instructions, seeds, strict=True):
            self.starts[slot], self.tape[slot] = (text, seed), []
            self.plans[slot], self.shown[slot] = [], []
        self.bound.reset(slots, instructions, seeds)
        if self._expert is not None:
            self._expert.reset(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        due = np.array([len(self.shown[slot]) % self.bound.spec.executes == 0 for slot in slots.tolist()])
        if due.any():
            names = [*observed(self.bound.spec.reads), "time", "instruction"]
            at = np.flatnonzero(due)
            seen = {
                name: [observations[name][i] for i in at] if name == "instruction" else observations[name][at].copy()
                for name in names
            }
            seen |= self._plans(len(at))
            names = list(seen)
            for row, slot in enumerate(slots[at].tolist()):
                self.tape[slot].append({name: seen[name][row] for name in names})
            for slot, plan in zip(slots[at].tolist(), _answer(self.bound, slots[at], seen), strict=True):
                self.plans[slot].append(plan[: self.bound.spec.executes])
        actions = self._act(slots, observations)
        for row, slot in enumerate(slots.tolist()):
            self.shown[slot].append(actions[row])
        return actions

    def _plans(self, n: int) -> dict[str, Floats]:
        """The streams that come from a driver: nothing is planned here."""
        spec = self.bound.spec
        none = {"plan": np.zeros((n, spec.chunk, spec.action.size)), "committed": np.zeros(n)}
        return {name: none[name] for name in PLANS if name in spec.reads}

    def _act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Floats:
        if self._expert is None:  # the robot stays where it is, or nearly: nobody knows what to do
            return np.clip(np.zeros((len(slots), self.spec.action.size)), self.spec.action.low, self.spec.action.high)
        own = {
            name: observations[name][:, -1] if self.spec.reads[name].history > 1 else observations[name]
            for name in self._expert.spec.reads
        }
        own |= {name: observations[name] for name in ("time", "instruction")}
        return np.asarray(self._expert.act(slots, own), dtype=np.float64)

    def both(self) -> tuple[Floats, Floats | None]:
        """(k, dim) answers, and what the expert did."""
        size = self.spec.action.size
        answers, shown = [np.zeros((0, size))], [np.zeros((0, size))]
        for slot, plans in self.plans.items():
            if not plans:
                continue
            steps = np.concatenate(plans)
            count = min(len(steps), len(self.shown[slot]))
            answers.append(steps[:count])
            shown.append(np.array(self.shown[slot][:count]).reshape(count, size))
        return np.concatenate(answers), np.concatenate(shown) if self._expert is not None else None


def gather(bound: BoundPolicy, world: World, episodes: int = EPISODES) -> SideBySide:
    """Let the expert solve so many scenarios, one in each slot, with the policy beside it. Raises PolicyError where
    the policy does not answer."""
    beside = _Witness(bound, episodes)
    jobs = iter([Job(policy="beside", scenario=world.task.scenario(seed)) for seed in range(episodes)])
    ready = bind(beside, world, "the expert")
    ended = [outcome for _, outcome in run_sync(world, {"beside": ready}, lambda: next(jobs, None))]
    errors = [outcome.error for outcome in ended if outcome.error]
    answers, expert = beside.both()
    if not len(answers):
        raise PolicyError(errors[0] if errors else "it was asked nothing")
    return SideBySide(bound=bound, answers=answers, expert=expert, tape=beside.tape, starts=beside.starts)


def _answer(bound: BoundPolicy, slots: np.ndarray, seen: dict[str, Any]) -> Floats:
    """(n, chunk, dim), whatever its range."""
    dims = tuple(dataclasses.replace(d, low=-np.inf, high=np.inf) for d in bound.spec.action.dims)
    spec = dataclasses.replace(bound.spec, action=ActionSpec(bound.spec.action.name, dims))
    answer = ask(bound, spec, slots, seen)
    wrong = [words for words in answer.errors.values() if "not finite" not in words]
    if wrong:
        raise PolicyError(wrong[0])
    return answer.actions
