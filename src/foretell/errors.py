"""Errors that a user can act on: each names the field or episode, the value, and the fix."""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "ConventionError",
    "ForetellError",
    "LinkError",
    "PolicyError",
    "UsageError",
    "WorldError",
    "raised",
    "suggest",
    "traced",
]

HEAD, TAIL = 4_000, 12_000
"""Characters that are kept of a long traceback, at its beginning and at its end."""
NEAR = 0.7
"""Likeness from which on a name may be a misspelling of another; `light` and `lift` are 0.67 alike, `lft` and `lift`
0.86."""
OFFERED = 6
"""Names that are offered at most."""


class ForetellError(Exception):
    """Base of every error foretell raises on purpose. The command line prints it without a traceback."""


class UsageError(ForetellError):
    """What was asked cannot be done as asked: a wrong name, field or value. Exit code 2."""


class ConventionError(UsageError):
    """Two sides declare different conventions. `code` names what differs, and stays the same in later versions."""

    def __init__(self, message: str, code: str = "convention"):
        super().__init__(f"{message} [code: {code}]")
        self.code = code


class PolicyError(ForetellError):
    """The policy raised, hung, or returned something its spec does not allow. Counts as a failure."""


class LinkError(PolicyError):
    """A policy's server is gone or silent. That says nothing of the policy: the episode is the machine's, and the next
    call runs it again."""


class WorldError(ForetellError):
    """The world could not carry the episode through (diverged physics). Excluded from n, and shown."""


def raised(error: BaseException) -> str:
    """An exception of somebody else's code in a few words: what, why, and in which line of which file."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def traced(error: BaseException) -> str:
    """The traceback of an exception of somebody else's code, not longer than a few pages."""
    text = "".join(traceback.format_exception(error))
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n... {len(text) - HEAD - TAIL} characters are left out ...\n{text[-TAIL:]}"


def suggest(given: str, known: Iterable[str]) -> str:
    """A sentence tail that offers the nearest known name, or lists them all when none is near. Capitals do not count.
    Names of which the given one is a word are nearest: `texture` of `MO_Texture` and `RO_Texture`."""
    names = sorted(known)
    lower = {name.lower(): name for name in reversed(names)}
    near = [name for name in sorted(lower) if given.lower() in re.split(r"\W|_", name)][:OFFERED]
    near = near or difflib.get_close_matches(given.lower(), lower, n=1, cutoff=NEAR)
    near = near or [name for name in sorted(lower) if _slip(given.lower(), name)][:1]
    if near:
        return f"did you mean {' or '.join(repr(lower[name]) for name in near)}?"
    return "known: " + (", ".join(names) if names else "none")


def _slip(a: str, b: str) -> bool:
    """Whether one letter of two or more is another, missing or added, or two neighbours are exchanged: in a short name
    that is a large part."""
    if min(len(a), len(b)) < 2 or abs(len(a) - len(b)) > 1:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest, other = a[start:], b[start:]
    return rest[1:] in (other[1:], other) or rest == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
