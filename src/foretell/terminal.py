"""What is said on a terminal: names and reasons are data, and a terminal obeys nothing in them.

A run folder may come from someone else. A policy's name could clear the screen, set the window's title or fake a line
of output, so the command line shows control characters as `\\x1b`, and cuts an error to what fits a screen.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

__all__ = ["brief", "plain", "plainly", "raw", "safe"]

LINES, WIDTH = 24, 600
"""Of an error, at most."""


def safe(text: str) -> str:
    """Text whose only control characters are the ends of lines and tabs; others are shown as Python writes them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or (c.isspace() and c >= "\xa0") else _shown(c) for c in text)


def plain(text: str) -> str:
    """Data on one line, without characters that a terminal would obey."""
    return "".join(c if c.isprintable() else " " if c.isspace() else _shown(c) for c in text)


def _shown(character: str) -> str:
    return repr(character)[1:-1]


def brief(text: str, lines: int = LINES, width: int = WIDTH) -> str:
    """Text that fits a screen: long lines and long texts are cut, and say so."""
    cut = [line if len(line) <= width else f"{line[:width]}... ({len(line):,} characters)" for line in text.split("\n")]
    return "\n".join(cut if len(cut) <= lines else [*cut[: lines - 1], f"and {len(cut) - lines + 1} lines more"])


class _PlainStream:
    """A stream that writes safe text."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        self.raw.write(safe(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw(stream: TextIO) -> TextIO:
    """The stream behind a safe one: for who colours text, and makes data plain by itself."""
    return stream.raw if isinstance(stream, _PlainStream) else stream


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """While this is open, what is printed is safe text."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _PlainStream(before[0]), _PlainStream(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
