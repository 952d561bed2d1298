"""A trace of measured latencies in a run folder: one number a line, in seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from foretell.files import SMALL, read_file

__all__ = ["read_trace", "rounded", "trace_text"]


def trace_text(trace: Iterable[float]) -> str:
    """A trace as its file holds it."""
    return "".join(f"{seconds:.9f}\n" for seconds in trace)


def rounded(trace: Iterable[float]) -> list[float]:
    """A trace as it will be read back: a study that is resumed must have the same clock."""
    return [float(line) for line in trace_text(trace).split()]


def read_trace(path: Path) -> list[float] | None:
    """The trace in a file. None where there is none, or none that is whole: it has to be measured anew."""
    try:
        text = read_file(path, SMALL).decode("ascii")
        numbers = [float(line) for line in text.split()]
    except (OSError, ValueError):
        return None
    whole = numbers and text.endswith("\n") and all(math.isfinite(seconds) and seconds >= 0 for seconds in numbers)
    return numbers if whole else None
