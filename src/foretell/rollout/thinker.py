"""The policy's side of the `realtime` clock, in a process of its own: look at the newest, think, send the answer.

A policy that keeps its own time has a method `drive(look, push)`, called once per episode: `look()` gives the newest
observations and raises `EpisodeOver` at the end, `push(actions)` sends a chunk that answers the last look.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from foretell.errors import UsageError, raised, traced
from foretell.policy import PolicySpec, as_chunk
from foretell.rollout.ask import ask
from foretell.rollout.shared import Latest, Queue, Shape
from foretell.spec import Feature, Stream

__all__ = ["ANSWERS", "EpisodeOver", "Thinker", "answer_shape", "as_bytes", "sight_shape", "told_shape"]

ANSWERS = 64
"""Answers that may come within one action period; more are a flood."""
TEXT = 4096
"""Bytes of the longest instruction."""
WARM_UP = 3
"""Calls before the first episode, whose answers nobody uses: the first ones load, compile and fill caches."""
SLOT = np.zeros(1, dtype=np.int32)


class EpisodeOver(Exception):  # noqa: N818 - not an error
    """Raised by `look` when the episode has ended."""


def sight_shape(reads: Mapping[str, Stream], known: Mapping[str, Feature]) -> Shape:
    """Fields of what the policy sees in these streams."""
    fields: dict[str, tuple[tuple[int, ...], str]] = {"tick": ((), "i8")}
    for name, stream in reads.items():
        shape = tuple((stream.shape or known[name].shape) if known[name].image else known[name].shape)
        fields[name] = ((stream.history, *shape), np.dtype(known[name].dtype).str[1:])
    return fields


def told_shape(spec: PolicySpec) -> Shape:
    """Fields of what the driver tells the policy."""
    counts: Shape = dict.fromkeys(("step", "episode", "asked"), ((), "i8"))
    plans: Shape = {"plan": ((spec.chunk, spec.action.size), "f8"), "committed": ((), "f8")}
    return {"time": ((), "f8"), **counts, **plans, "instruction": ((TEXT,), "u1")}


def as_bytes(text: str) -> np.ndarray:
    """(TEXT,) an instruction in UTF-8, ended by zeros. Raises UsageError where it is too long."""
    data = text.encode("utf-8", "replace")
    if len(data) > TEXT:
        raise UsageError(f"the clock `realtime` takes instructions of up to {TEXT} bytes; given: {len(data)}")
    return np.frombuffer(data.ljust(TEXT, b"\0"), np.uint8)


def as_text(data: np.ndarray) -> str:
    """Inverse of `as_bytes`."""
    return data.tobytes().rstrip(b"\0").decode("utf-8", "replace")


def answer_shape(spec: PolicySpec) -> Shape:
    """Fields of an answer."""
    return {
        "episode": ((), "i8"),
        "number": ((), "i8"),
        "looked": ((), "i8"),
        "pictured": ((), "i8"),
        "step": ((), "i8"),
        "clipped": ((), "i8"),
        "began": ((), "f8"),
        "ended": ((), "f8"),
        "actions": ((spec.chunk, spec.action.size), "f8"),
        "ends": ((spec.chunk,), "u1"),
    }


class Thinker:
    """One policy, asked one question at a time."""

    def __init__(self, policy: Any, *, sight: Latest, frames: Latest | None, answers: Queue, wake: int):
        self.policy, self.spec = policy, policy.spec
        self.sight, self.frames, self.answers, self.wake = sight, frames, answers, wake
        self.episode, self.done, self.warm = -1, -1, False
        self._began = 0.0
        self._looked: dict[str, Any] = {}

    def reset(self, episode: int, instruction: str, seed: int) -> None:
        """A new episode; the first one is thought about beforehand, to no effect."""
        self.episode, self.done = episode, -1
        if not self.warm:
            self.policy.reset(SLOT, [instruction], [seed])
            for _ in range(WARM_UP if not self.drives else 0):
                ask(self.policy, self.spec, SLOT, self._look())
            self.warm = True
        self.policy.reset(SLOT, [instruction], [seed])

    @property
    def drives(self) -> bool:
        """Whether the policy keeps its own time."""
        return callable(getattr(self.policy.policy, "drive", None))

    def run(self, orders: int, say: Callable[[dict[str, Any]], None]) -> None:
        """Answer until there is an order to read (file descriptor `orders`) or a failure, which is said."""
        try:
            if self.drives:
                self.policy.policy.drive(self._newest, self._push)
                return
            while True:
                there, _, _ = select.select([self.wake, orders], [], [])
                if orders in there:
                    return
                os.read(self.wake, 4096)
                self._answer(say)
        except EpisodeOver:
            return
        except Exception as error:
            what = "drive" if self.drives else "act"
            say({"failed": self.episode, "error": f"{what} raised {raised(error)}", "trace": traced(error)})

    def _look(self) -> dict[str, Any]:
        _, seen = self.sight.read()
        seen["pictured"] = seen["tick"]
        if self.frames is not None:
            frames = self.frames.read()[1]
            seen |= {**frames, "tick": seen["tick"], "pictured": frames["tick"]}
        self._looked = seen
        return self._given(seen)

    def _given(self, seen: dict[str, Any]) -> dict[str, Any]:
        observations: dict[str, Any] = {"time": seen["time"][None], "instruction": [as_text(seen["instruction"])]}
        for name, stream in self.spec.reads.items():
            value = seen[name] if stream.history > 1 or name in ("plan", "committed") else seen[name][0]
            observations[name] = value[None]
        return observations

    def _answer(self, say: Callable[[dict[str, Any]], None]) -> None:
        began = time.perf_counter()
        observations = self._look()
        number = int(self._looked["asked"])
        if number <= self.done or int(self._looked["episode"]) != self.episode:
            return  # woken for a question of an episode that is over
        self.done = number
        answer = ask(self.policy, self.spec, SLOT, observations)
        if answer.errors:
            lost = 0 in answer.lost
            say({"failed": self.episode, "error": answer.errors[0], "trace": answer.traces.get(0), "lost": lost})
            return
        self._put(answer.actions[0], answer.terminate[0], int(answer.clipped[0]), number, began)

    def _put(self, actions: np.ndarray, ends: np.ndarray, clipped: int, number: int, began: float) -> None:
        seen = self._looked
        self.answers.put(
            {
                "episode": seen["episode"],
                "number": number,
                "looked": seen["tick"],
                "pictured": seen["pictured"],
                "step": seen["step"],
                "clipped": clipped,
                "began": began,
                "ended": time.perf_counter(),
                "actions": actions,
                "ends": ends,
            }
        )

    def _newest(self) -> dict[str, Any]:
        """`look` of a policy that drives itself."""
        observations = self._look()
        if int(self._looked["episode"]) != self.episode:
            raise EpisodeOver
        self._began = time.perf_counter()
        return observations

    def _push(self, actions: Any) -> None:
        """`push` of a policy that drives itself."""
        chunk = as_chunk(actions, 1, self.spec)
        if not np.isfinite(chunk.actions).all():
            raise ValueError("an action that is not finite was pushed")
        low, high = self.spec.action.low, self.spec.action.high
        clipped = int(((chunk.actions < low) | (chunk.actions > high)).any(axis=2).sum())
        ends = np.zeros(self.spec.chunk, bool) if chunk.terminate is None else chunk.terminate[0]
        self._put(np.clip(chunk.actions[0], low, high), ends, clipped, -1, self._began)
