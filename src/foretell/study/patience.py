"""Patience: messages about long work. Short work gives none."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["Patience", "uncollected"]

FIRST, EVERY = 2.0, 10.0
"""Seconds of silence before the first word, and between two."""

T = TypeVar("T")


class Patience:
    """Tells what is being done once it has taken `FIRST` seconds, and then every `EVERY`."""

    def __init__(self, notify: Callable[[str], None]):
        self._notify, self._due = notify, time.monotonic() + FIRST

    def __call__(self, text: str) -> None:
        """Report the present step, if enough time has passed. Call it often."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + EVERY
            self._notify(text)

    def over(self, items: Sequence[T], doing: str) -> Iterator[T]:
        """The items, one by one; `doing` names what is done with them."""
        for number, item in enumerate(items):
            if number % 100 == 0:
                self(f"{doing}: {number:,} of {len(items):,}")
            yield item


@contextmanager
def uncollected() -> Iterator[None]:
    """Makes many objects that stay, faster: Python does not look for cycles among them meanwhile."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
