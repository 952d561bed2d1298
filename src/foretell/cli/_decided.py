"""The end of a verb whose exit code is its answer."""

from __future__ import annotations

import os
import sys

__all__ = ["Decided", "end_with"]


class Decided(SystemExit):
    """Not an error, unlike other exits with a code."""


def end_with(code: int, text: str) -> None:
    """Print the answer and exit with its code, also where nobody reads the text (`foretell gate A B | head -1`)."""
    try:
        print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise Decided(code)
