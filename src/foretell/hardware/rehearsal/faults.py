"""What goes wrong with a link, on request."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from foretell.errors import UsageError, suggest

__all__ = ["LinkFaults"]

SLICE_S = 0.02


class LinkFaults:
    """The present faults of a robot's link. A thread that answers asks it before each answer."""

    KINDS = {
        "delay": "answers come `seconds` later, and later still by chance (`jitter`, s, on average)",
        "freeze": "no answer for `seconds`; the link stays",
        "cut": "the link is closed, and nobody answers for `seconds`",
        "garbage": "the next `count` answers are random bytes",
        "shape": "the next `count` observations have two numbers where one belongs, and pictures of another size",
        "nan": "the next `count` observations have NaN for their first number",
        "missing": "the next `count` observations lack their first number",
    }

    def __init__(self, delay: float, jitter: float, seed: int = 0):
        self._usual = (delay, jitter)
        self._draws = np.random.default_rng(seed)
        self.mend()

    def mend(self) -> None:
        """The link is as at the start."""
        self._delay, self._jitter = self._usual
        self._frozen = self._cut = 0.0
        self._left = dict.fromkeys(("garbage", "shape", "nan", "missing"), 0)

    def add(self, kind: str, seconds: float = math.inf, jitter: float = 0.0, count: int = 1) -> None:
        """Let something go wrong from now on."""
        if kind not in self.KINDS:
            raise UsageError(f"fault: {kind!r:.50} is not known; {suggest(kind, self.KINDS)}")
        if kind == "delay":
            self._delay, self._jitter = (seconds if math.isfinite(seconds) else 0.0), jitter
        elif kind == "freeze":
            self._frozen = time.monotonic() + seconds
        elif kind == "cut":
            self._cut = time.monotonic() + seconds
        else:
            self._left[kind] = count

    @property
    def cut(self) -> bool:
        """Whether nobody answers now."""
        return time.monotonic() < self._cut

    def wait(self, ended: Callable[[], bool]) -> None:
        """Let the time pass that an answer takes."""
        late = self._delay + (float(self._draws.exponential(self._jitter)) if self._jitter > 0 else 0.0)
        until = time.monotonic() + late
        while not ended() and (left := max(until, self._frozen) - time.monotonic()) > 0:
            time.sleep(min(left, SLICE_S))

    def spoiled(self, data: bytes) -> bytes:
        """An answer as it comes out."""
        return os.urandom(max(64, len(data))) if self._takes("garbage") else data

    def observed(self, observation: dict[str, Any]) -> dict[str, Any]:
        """An observation as it comes out."""
        first = next(key for key, value in observation.items() if isinstance(value, float))
        if self._takes("nan"):
            observation = {**observation, first: math.nan}
        if self._takes("missing"):
            observation = {key: value for key, value in observation.items() if key != first}
        if self._takes("shape"):
            observation = {k: v[::2] if isinstance(v, np.ndarray) else v for k, v in observation.items()}
            observation[first] = np.zeros(2)
        return observation

    def _takes(self, kind: str) -> bool:
        due = self._left[kind] > 0
        self._left[kind] -= due
        return due
