"""Errors that a user can act on: each names the field or episode, the value, and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["ForetellError", "PolicyError", "UsageError", "WorldError", "suggest"]


class ForetellError(Exception):
    """Base of every error foretell raises on purpose. The command line prints it without a traceback."""


class UsageError(ForetellError):
    """What was asked cannot be done as asked: a wrong name, field or value. Exit code 2."""


class PolicyError(ForetellError):
    """The policy raised, hung, or returned something its spec does not allow. Counts as a failure."""


class WorldError(ForetellError):
    """The world could not carry the episode through (diverged physics). Excluded from n, and shown."""


def suggest(given: str, known: Iterable[str]) -> str:
    """A sentence tail that offers the nearest known name, or lists them all when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return "known: " + (", ".join(names) if names else "none")
