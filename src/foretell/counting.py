"""Counts in words: 1 scenario, 20 scenarios."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number and its noun: `counted(1, "trial")` is "1 trial", `counted(2, "line is", "lines are")` "2 lines are"."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
