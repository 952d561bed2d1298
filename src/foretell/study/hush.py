"""What a policy prints during a blind study goes into a file: it could tell the judge its name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from foretell.policies.make import BoundPolicy

__all__ = ["Hushed", "hushed"]


@contextlib.contextmanager
def hushed(path: str | None) -> Iterator[None]:
    """While this is open, what Python code prints goes to the end of this file. None: nothing changes."""
    if path is None:
        yield
        return
    with open(path, "a", encoding="utf-8") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield


class Hushed(BoundPolicy):
    """A policy whose prints go into a file."""

    def __init__(self, bound: BoundPolicy, path: str):
        super().__init__(bound.policy, bound.spec, bound.hash, bound.options)
        self._path = path

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        with hushed(self._path):
            super().reset(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Any:
        with hushed(self._path):
            return super().act(slots, observations)
